/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a capture file: of a regular file, plain or compressed (known by its
 * first bytes), or of a pipe or device, which is read without waiting. A file is read
 * rather than mapped: one that is cut while it is read ends there, where a mapped one
 * would kill the process (SIGBUS); and mapping was no faster here: 30 to 100 cycles for
 * 64 bytes of a file in the page cache, either way.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../native/api.h"
#include "../../native/host.h"
#include "source.h"

ssize_t source_failed(struct source *s, const char *why)
{
  snprintf(s->problem, sizeof s->problem, "%s", why);
  return SOURCE_FAILED;
}

static int choose_codec(struct source *s)
{
  uint8_t head[4] = {0};
  ssize_t got = pread(s->fd, head, sizeof head, 0);
  for (int i = 0; i < N_CODECS; i++) {
    const struct codec *codec = &source_codecs[i];
    if (got < (ssize_t)codec->magic_bytes ||
        memcmp(head, codec->magic, codec->magic_bytes) != 0)
      continue;
    void *library = dlopen(codec->library, RTLD_NOW);
    if (!library || codec->open(s, library) < 0)
      return pg_fail("%s is compressed, and there is no %s to read it with; install "
                     "that library, or decompress the file", s->path, codec->library);
    s->codec = codec;
  }
  return 0;
}

int source_open(struct source *s, const char *path)
{
  struct stat st;
  *s = (struct source){.path = path};
  s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (s->fd < 0 || fstat(s->fd, &st) < 0)
    return pg_fail("can't read %s: %s", path, strerror(errno));
  pg_file_uses(s->fd, false);
  s->stream = !S_ISREG(st.st_mode);
  return s->stream ? 0 : choose_codec(s);
}

/* A pipe that nobody has opened to write yet reads as one whose writer has closed it;
 * poll(2) tells them apart. */
static ssize_t stream_end(struct source *s)
{
  struct pollfd p = {.fd = s->fd, .events = POLLIN};
  if (!s->began && poll(&p, 1, 0) == 0)
    return SOURCE_WAIT;
  return SOURCE_END;
}

ssize_t source_read(struct source *s, void *to, size_t n)
{
  if (s->codec)
    return s->codec->read(s, to, n);
  ssize_t got;
  do
    got = read(s->fd, to, n);
  while (got < 0 && errno == EINTR);
  if (got > 0)
    s->began = true;
  if (got < 0)
    return errno == EAGAIN ? SOURCE_WAIT : source_failed(s, strerror(errno));
  return got == 0 && s->stream ? stream_end(s) : got;
}

int source_rewind(struct source *s)
{
  if (s->codec)
    return s->codec->rewind(s);
  return s->stream || lseek(s->fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

void source_close(struct source *s)
{
  if (s->codec)
    s->codec->close(s);
  if (s->fd >= 0)
    close(s->fd);
  s->fd = -1;
}

/* For who reads files in Lua (lib.pcap.input) ----------------------------------------- */

/* Is the file open on the descriptor compressed? */
bool pg_source_is_compressed(int fd)
{
  uint8_t head[4] = {0};
  ssize_t got = pread(fd, head, sizeof head, 0);
  for (int i = 0; i < N_CODECS; i++)
    if (got >= (ssize_t)source_codecs[i].magic_bytes &&
        memcmp(head, source_codecs[i].magic, source_codecs[i].magic_bytes) == 0)
      return true;
  return false;
}

/* A file to read, or NULL and pg_error(). */
struct source *pg_source_open(const char *path)
{
  struct source *s = malloc(sizeof *s);
  char *own = strdup(path);
  if (s && own && source_open(s, own) == 0)
    return s;
  if (s && own && s->fd >= 0)
    close(s->fd);
  free(own);
  free(s);
  return NULL;
}

/* As many bytes as there are, up to `n`; 0 at the end, or -1 and pg_error(). */
int64_t pg_source_read(struct source *s, void *to, uint64_t n)
{
  ssize_t got = source_read(s, to, n);
  return got >= 0 ? got : pg_fail("%s", s->problem);
}

/* Back to its beginning; -1 if that can't be. */
int pg_source_rewind(struct source *s)
{
  return source_rewind(s);
}

void pg_source_close(struct source *s)
{
  source_close(s);
  free((char *)s->path);
  free(s);
}
