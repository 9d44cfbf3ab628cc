/* bodhi.h: a node's cache, for programs that use it knowingly (zazen(3)).
 *
 * A function that returns a pointer returns NULL when it fails; bodhi_error() says why. */
#ifndef ZAZEN_BODHI_H
#define ZAZEN_BODHI_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bodhi bodhi; /* a handle to the local cache */

/* config: the configuration file of the node's zazend. NULL: $ZAZEN_RUNTIME, else where zazend
 * itself looks for its configuration. A daemon that does not run is no error: such a node holds
 * nothing. */
bodhi* bodhi_open(const char* config);
void bodhi_close(bodhi* handle); /* NULL is fine */

/* What went wrong in this thread's last call that failed. */
const char* bodhi_error(void);

#ifdef __cplusplus
}
#endif
#endif
