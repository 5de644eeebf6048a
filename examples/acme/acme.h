/* A vendor's library as it comes with a chip. Its ideas are not openreg.h's: memory
 * goes by numbers, errors are negative, there is one device, copies are done when they return, and there are no
 * streams, no kernels and no events. */
#ifndef ACME_H
#define ACME_H
#ifdef __cplusplus
extern "C" {
#endif

enum { ACME_OK = 0, ACME_NO_MEMORY = -3, ACME_BAD_BUFFER = -7, ACME_BAD_RANGE = -8 };

int acme_open(void);                      /* starts the chip; again and again is fine */
int acme_is_open(void);                   /* 1 or 0 */
unsigned long acme_memory(void);          /* bytes in all */
int acme_buffer_new(unsigned long bytes); /* a number above 0, or an error */
int acme_buffer_delete(int buffer);
int acme_write(int buffer, unsigned long offset, const void* from, unsigned long bytes);
int acme_read(int buffer, unsigned long offset, void* to, unsigned long bytes);
int acme_move(int to, unsigned long to_offset, int from, unsigned long from_offset, unsigned long bytes);
const char* acme_text(int error);

#ifdef __cplusplus
}
#endif
#endif
