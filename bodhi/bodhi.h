/* bodhi.h: the nodes' caches, for programs that use them knowingly: bodhi(3), and zazen(3).
 *
 * A simulation writes its frames to the shared file system as ever (the origin) and hands each
 * to bodhi_write() besides, which brings it to a node of the analysis cluster in the
 * background. An analysis program reads frames from its own node by bodhi_read() or
 * bodhi_open_frame().
 *
 * A function that fails returns -1 or NULL; errno is set, and bodhi_error() says why. All may
 * be called by many threads at a time with one handle, but for bodhi_close(). A child after
 * fork() opens a handle of its own: there, its parent's refuses everything but bodhi_close().
 * Nothing is printed, no signal handler is installed, no signal is sent. */
#ifndef ZAZEN_BODHI_H
#define ZAZEN_BODHI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bodhi bodhi; /* a handle to the local cache, and to the nodes that take pushes */

/* config: the configuration file of the node's zazend. NULL: $ZAZEN_RUNTIME, else where zazend
 * itself looks for its configuration. A daemon that does not run is no error: such a node holds
 * nothing. */
bodhi* bodhi_open(const char* config);
/* Waits for what is queued as bodhi_flush() does, ten seconds at most, and not for nodes that
 * do not answer; then for the threads to end, which a node that hangs may delay by
 * writer_timeout and one second. NULL is fine. */
void bodhi_close(bodhi* handle);

/* What went wrong in this thread's last call that failed. */
const char* bodhi_error(void);

/* ---- Writers. simdir is a dataset of the configuration, seq the frame's number there. */

/* Queues a copy of the frame for a push to a node, and returns. The frame itself is written to
 * the origin by the program, before or after. Never waits for a node or a disk: where there is
 * no room in memory (writer_memory) for another frame, its push is dropped and counted, which
 * is no failure; the frame is at the origin. 0, or -1: it is no frame of a dataset. */
int bodhi_write(bodhi* handle, const char* simdir, uint64_t seq, const void* data, size_t size);
/* The same for a frame that the origin has already: the file is read when it is pushed. */
int bodhi_write_file(bodhi* handle, const char* simdir, uint64_t seq);

/* Waits until all that was queued before is durable on a node, or was dropped. -1 after
 * timeout_ms milliseconds; with a negative timeout_ms, when no node answers any more. What is
 * queued then stays so. */
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

/* size is that of the struct. Nodes are numbered from 0; -1 after the last. */
int bodhi_query_writer(bodhi* handle, bodhi_writer_figures* figures, size_t size);
int bodhi_query_node(bodhi* handle, size_t node, bodhi_node_figures* figures, size_t size);

/* ---- Readers. */

/* A descriptor, read only and closed on exec, of the node's copy, or of the origin, which the
 * node then fetches. fstat() of a copy shows the copy. */
int bodhi_open_frame(bodhi* handle, const char* simdir, uint64_t seq);
/* Bytes of the frame from offset on; how many, less than size only where the frame ends. */
ssize_t bodhi_read(bodhi* handle, const char* simdir, uint64_t seq, void* buffer, size_t size,
                   off_t offset);

#define BODHI_NATIVE 1u /* pushed to this node by a writer */
#define BODHI_ALIEN 2u  /* fetched by this node after a miss */
/* How many frames from first to last this node holds as one of these kinds. Their numbers,
 * ascending, go to seqs as far as its capacity allows. */
ssize_t bodhi_query(bodhi* handle, const char* simdir, unsigned kinds, uint64_t first,
                    uint64_t last, uint64_t* seqs, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
