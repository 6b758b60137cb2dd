/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed capture files, by the libraries that read them, which are loaded when they
 * are wanted: zlib and libzstd, whose functions used here are part of a stable ABI.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

/* gzip: zlib (zlib.h) */

struct gzip {
  void *file;
  int (*read)(void *file, void *to, unsigned n);
  const char *(*error)(void *file, int *number);
  int (*rewind)(void *file);
  int (*close)(void *file);
};

static int gzip_open(struct source *s, void *library)
{
  struct gzip *g = calloc(1, sizeof *g);
  void *(*open)(int, const char *) = dlsym(library, "gzdopen");
  int (*buffer)(void *, unsigned) = dlsym(library, "gzbuffer");
  if (!g || !open || !buffer)
    return free(g), -1;
  g->read = dlsym(library, "gzread");
  g->error = dlsym(library, "gzerror");
  g->rewind = dlsym(library, "gzrewind");
  g->close = dlsym(library, "gzclose");
  g->file = g->read && g->error && g->rewind && g->close ? open(s->fd, "rb") : NULL;
  if (!g->file)
    return free(g), -1;
  buffer(g->file, 128 * 1024);
  s->codec_state = g;
  return 0;
}

static ssize_t gzip_read(struct source *s, void *to, size_t n)
{
  enum { Z_ERRNO = -1, Z_BUF_ERROR = -5 };
  struct gzip *g = s->codec_state;
  int got = g->read(g->file, to, n > 1 << 30 ? 1 << 30 : n), number = 0;
  g->error(g->file, &number);
  if (got > 0 || (got == 0 && number == 0))
    return got;
  return source_failed(s, number == Z_BUF_ERROR ? "the compressed data end too early"
                          : number == Z_ERRNO ? strerror(errno)
                          : "the compressed data are damaged");
}

static int gzip_rewind(struct source *s)
{
  struct gzip *g = s->codec_state;
  return g->rewind(g->file);
}

static void gzip_close(struct source *s)
{
  struct gzip *g = s->codec_state;
  g->close(g->file); /* closes the descriptor */
  s->fd = -1;
  free(g);
}

/* Zstandard: libzstd (zstd.h) */

struct zstd_buffer { void *bytes; size_t size, pos; };

struct zstd {
  void *context;
  size_t (*decompress)(void *context, struct zstd_buffer *out, struct zstd_buffer *in);
  size_t (*reset)(void *context, int what);
  size_t (*free)(void *context);
  unsigned (*is_error)(size_t);
  const char *(*error)(size_t);
  struct zstd_buffer in;
  size_t left;          /* of the frame: 0 at its end */
  uint8_t bytes[128 * 1024];
};

static int zstd_open(struct source *s, void *library)
{
  struct zstd *z = calloc(1, sizeof *z);
  void *(*create)(void) = dlsym(library, "ZSTD_createDCtx");
  if (!z || !create)
    return free(z), -1;
  z->decompress = dlsym(library, "ZSTD_decompressStream");
  z->reset = dlsym(library, "ZSTD_DCtx_reset");
  z->free = dlsym(library, "ZSTD_freeDCtx");
  z->is_error = dlsym(library, "ZSTD_isError");
  z->error = dlsym(library, "ZSTD_getErrorName");
  z->context = z->decompress && z->reset && z->free && z->is_error && z->error
                 ? create()
                 : NULL;
  if (!z->context)
    return free(z), -1;
  z->in.bytes = z->bytes;
  s->codec_state = z;
  return 0;
}

static ssize_t zstd_read(struct source *s, void *to, size_t n)
{
  struct zstd *z = s->codec_state;
  struct zstd_buffer out = {to, n, 0};
  while (out.pos == 0) {
    size_t before = z->in.pos;
    size_t left = z->decompress(z->context, &out, &z->in);
    if (z->is_error(left))
      return source_failed(s, z->error(left));
    if (out.pos > 0 || z->in.pos > before) {
      z->left = left; /* of nothing it says what the next frame would need */
      continue;
    }
    ssize_t got = read(s->fd, z->bytes, sizeof z->bytes);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return source_failed(s, strerror(errno));
    if (got == 0)
      return z->left == 0 ? SOURCE_END
                          : source_failed(s, "the compressed data end too early");
    z->in.size = got;
    z->in.pos = 0;
  }
  return out.pos;
}

static int zstd_rewind(struct source *s)
{
  enum { RESET_SESSION = 1 }; /* ZSTD_reset_session_only */
  struct zstd *z = s->codec_state;
  z->in.size = z->in.pos = z->left = 0;
  z->reset(z->context, RESET_SESSION);
  return lseek(s->fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

static void zstd_close(struct source *s)
{
  struct zstd *z = s->codec_state;
  z->free(z->context);
  free(z);
}

const struct codec source_codecs[N_CODECS] = {
  {"gzip", "libz.so.1", {0x1f, 0x8b}, 2, gzip_open, gzip_read, gzip_rewind, gzip_close},
  {"zstd", "libzstd.so.1", {0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_open, zstd_read,
   zstd_rewind, zstd_close}};
