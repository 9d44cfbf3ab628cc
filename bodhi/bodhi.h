/* bodhi.h: the C API of the nodes' caches; see bodhi(3) and zazen(3).
 *
 * A simulation writes its frames to the shared file system (the origin). It also hands each
 * frame to bodhi_write(), which sends a copy to a node of the analysis cluster in the
 * background. An analysis program reads frames from its own node by bodhi_read() or
 * bodhi_open_frame().
 *
 * A function that fails returns -1 or NULL and sets errno; bodhi_error() has the reason. Many
 * threads may use one handle at the same time, except for bodhi_close(). A child after fork()
 * opens its own handle: its parent's handle refuses every call except bodhi_close().
 * The library prints nothing, installs no signal handler and sends no signal. */
#ifndef ZAZEN_BODHI_H
#define ZAZEN_BODHI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bodhi bodhi; /* a handle to the local cache, and to the nodes that take pushes */

/* config: the configuration file of the node's zazend. NULL: $ZAZEN_RUNTIME, else the places
 * where zazend itself looks for its configuration. It is no error if no daemon runs: the node
 * then holds nothing. */
bodhi* bodhi_open(const char* config);
/* Waits for queued frames as bodhi_flush() does, but at most ten seconds, and not for nodes
 * that do not answer. Then it waits for its threads; a node that hangs may delay this by
 * writer_timeout and one second. NULL is allowed. */
void bodhi_close(bodhi* handle);

/* The reason why this thread's last failed call failed. */
const char* bodhi_error(void);

/* ---- Writers. simdir is a dataset of the configuration, seq the frame's number in it. */

/* Queues a copy of the frame for a push to a node, and returns. The program itself writes the
 * frame to the origin, before or after this call. Never waits for a node or a disk. If memory
 * (writer_memory) has no room for another frame, the push is dropped and counted; this is no
 * failure, because the frame is at the origin. 0, or -1 if it is no frame of a dataset. */
int bodhi_write(bodhi* handle, const char* simdir, uint64_t seq, const void* data, size_t size);
/* The same for a frame that the origin already has: the file is read when it is pushed. */
int bodhi_write_file(bodhi* handle, const char* simdir, uint64_t seq);

/* Waits until every frame that was queued before the call is durable on a node, or was dropped.
 * Returns -1 after timeout_ms milliseconds; with a negative timeout_ms, when no node answers.
 * Frames that are queued then stay queued. */
int bodhi_flush(bodhi* handle, int timeout_ms);

typedef struct bodhi_writer_figures { /* queued = pushed + dropped + waiting */
  uint64_t queued;                    /* frames that were given to us */
  uint64_t pushed;                    /* durable on a node */
  uint64_t dropped;                   /* not pushed: no room, or no node would have it */
  uint64_t waiting;
  uint64_t spooled;                   /* how many went through the spool */
  uint64_t bytes;                     /* of those pushed */
  uint64_t memory_bytes, spool_bytes; /* in use now */
} bodhi_writer_figures;
typedef struct bodhi_node_figures {
  uint64_t pushed;
  uint64_t bytes;
  uint64_t answers; /* 1, or 0 if it did not when it was last tried */
  char peer[256];   /* its name in `peers` */
} bodhi_node_figures;

/* size is that of the struct. Nodes have the numbers from 0 on; -1 after the last. */
int bodhi_query_writer(bodhi* handle, bodhi_writer_figures* figures, size_t size);
int bodhi_query_node(bodhi* handle, size_t node, bodhi_node_figures* figures, size_t size);

/* ---- Readers. */

/* Returns a descriptor, read only and closed on exec: of the node's copy, or of the origin,
 * which the node then fetches. fstat() of a copy shows the copy. */
int bodhi_open_frame(bodhi* handle, const char* simdir, uint64_t seq);
/* Reads bytes of the frame from offset on. Returns how many: less than size only at the end. */
ssize_t bodhi_read(bodhi* handle, const char* simdir, uint64_t seq, void* buffer, size_t size,
                   off_t offset);

#define BODHI_NATIVE 1u /* pushed to this node by a writer */
#define BODHI_ALIEN 2u  /* fetched by this node after a miss */
/* Counts the frames from first to last that this node holds as one of these kinds. Writes their
 * numbers, ascending, to seqs as far as its capacity allows. */
ssize_t bodhi_query(bodhi* handle, const char* simdir, unsigned kinds, uint64_t first,
                    uint64_t last, uint64_t* seqs, size_t capacity);

/* ---- The frames that exist. */

/* Counts the frames from first to last in the dataset's directory, and writes their numbers as
 * bodhi_query() does. In a divided job (zazenctl(1), run --divide) these are the frames of the
 * listing that the ranks have agreed on; with own = 1 only those of this rank. */
ssize_t bodhi_list(bodhi* handle, const char* simdir, int own, uint64_t first, uint64_t last,
                   uint64_t* seqs, size_t capacity);
/* 1 if this process belongs to a job that has divided the dataset among its ranks, else 0. */
int bodhi_is_divided(bodhi* handle, const char* simdir);
/* Writes the frame's name below simdir, and a NUL. Returns its length. */
ssize_t bodhi_frame_name(bodhi* handle, const char* simdir, uint64_t seq, char* name,
                         size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
