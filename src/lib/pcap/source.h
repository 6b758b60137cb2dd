/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a capture file, decompressed if they are compressed: for pcap ports
 * (port/pcap) and for input.lua. Plain declarations: core.declare reads them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a read brings, if not bytes. */
enum { SOURCE_END = 0, SOURCE_WAIT = -1, SOURCE_FAILED = -2 };

/* A file, decompressed if it is compressed. */
struct source {
  const char *path;
  int fd;
  bool stream;                /* a pipe or a device: read without waiting */
  bool began;                 /* a stream: something came, or someone writes */
  const struct codec *codec;  /* NULL: none */
  void *codec_state;
  char problem[256];          /* why it failed */
};

/* A way of decompressing (codecs.c). */
struct codec {
  const char *name, *library;
  uint8_t magic[4];
  size_t magic_bytes;
  int (*open)(struct source *s, void *library);
  ssize_t (*read)(struct source *s, void *to, size_t n);
  int (*rewind)(struct source *s);
  void (*close)(struct source *s);
};

enum { N_CODECS = 2 };
extern const struct codec source_codecs[N_CODECS];

/* Note why; SOURCE_FAILED. */
ssize_t source_failed(struct source *s, const char *why);

/* 0, or -1 and pg_error(). */
int source_open(struct source *s, const char *path);
/* Up to `n` bytes: how many, or one of the enum above. */
ssize_t source_read(struct source *s, void *to, size_t n);
/* Begin again at the first byte; -1: it can't be. */
int source_rewind(struct source *s);
void source_close(struct source *s);

/* For Lua, which has no place for a struct source. */
struct source *pg_source_open(const char *path);
int64_t pg_source_read(struct source *s, void *to, uint64_t n);
int pg_source_rewind(struct source *s);
void pg_source_close(struct source *s);
bool pg_source_is_compressed(int fd);
