/* The chip behind acme.h: memory that nobody else has an address of. */
#include "acme.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS 65536
#define MEMORY (256ul << 20)

static struct {
  char* bytes;
  unsigned long size;
} buffers[BUFFERS];
static unsigned long used;
static int open_;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int acme_open(void) {
  open_ = 1;
  return ACME_OK;
}

int acme_is_open(void) {
  return open_;
}

unsigned long acme_memory(void) {
  return MEMORY;
}

int acme_buffer_new(unsigned long bytes) {
  int buffer = ACME_NO_MEMORY;
  pthread_mutex_lock(&lock);
  for (int i = 1; i < BUFFERS && used + bytes <= MEMORY; ++i) {
    if (buffers[i].bytes == NULL) {
      buffers[i].bytes = malloc(bytes);
      buffers[i].size = bytes;
      used += bytes;
      buffer = i;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  return buffer;
}

static int bad(int buffer, unsigned long offset, unsigned long bytes) {
  if (buffer <= 0 || buffer >= BUFFERS || buffers[buffer].bytes == NULL) {
    return ACME_BAD_BUFFER;
  }
  return offset + bytes > buffers[buffer].size ? ACME_BAD_RANGE : ACME_OK;
}

int acme_buffer_delete(int buffer) {
  pthread_mutex_lock(&lock);
  int error = bad(buffer, 0, 0);
  if (error == ACME_OK) {
    used -= buffers[buffer].size;
    free(buffers[buffer].bytes);
    buffers[buffer].bytes = NULL;
  }
  pthread_mutex_unlock(&lock);
  return error;
}

int acme_write(int buffer, unsigned long offset, const void* from, unsigned long bytes) {
  int error = bad(buffer, offset, bytes);
  if (error == ACME_OK) {
    memcpy(buffers[buffer].bytes + offset, from, bytes);
  }
  return error;
}

int acme_read(int buffer, unsigned long offset, void* to, unsigned long bytes) {
  int error = bad(buffer, offset, bytes);
  if (error == ACME_OK) {
    memcpy(to, buffers[buffer].bytes + offset, bytes);
  }
  return error;
}

int acme_move(int to, unsigned long to_offset, int from, unsigned long from_offset, unsigned long bytes) {
  int error = bad(to, to_offset, bytes);
  if (error == ACME_OK) {
    error = bad(from, from_offset, bytes);
  }
  if (error == ACME_OK) {
    memmove(buffers[to].bytes + to_offset, buffers[from].bytes + from_offset, bytes);
  }
  return error;
}

const char* acme_text(int error) {
  return error == ACME_NO_MEMORY    ? "no memory"
         : error == ACME_BAD_BUFFER ? "no such buffer"
                                    : "beyond the buffer's end";
}
