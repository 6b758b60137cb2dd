/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines on stderr. Each is made on the stack and written by one call, so that lines of
 * several threads aren't mixed, and that a handler can write one.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_log.h>

#include "../log.h"

enum { LONGEST = 8192, ROOM = 6 * LONGEST + 256 };

static enum log_format format = LOG_TEXT;
static int most = LOG_INFO;

struct line {
  char text[ROOM];
  size_t n;
};

static void put(struct line *line, const char *text, size_t n)
{
  if (n > ROOM - line->n)
    n = ROOM - line->n;
  memcpy(line->text + line->n, text, n);
  line->n += n;
}

static void put_text(struct line *line, const char *text)
{
  put(line, text, strlen(text));
}

/* RFC 3339, in UTC. */
static void put_time(struct line *line)
{
  struct timespec now;
  struct tm parts;
  char text[64];
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &parts);
  size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  n += snprintf(text + n, sizeof text - n, ".%06ldZ", now.tv_nsec / 1000);
  put(line, text, n);
}

static const char *name_of(int level)
{
  return level <= LOG_ERROR ? "error" : level == LOG_WARNING ? "warning" : "info";
}

/* Bytes of the character that `text` begins with, of n > 0 bytes; 0 if it isn't UTF-8
 * (RFC 3629, section 4). */
static size_t character(const unsigned char *text, size_t n)
{
  unsigned char c = text[0], least = 0x80, last = 0xbf;
  if (c < 0x80)
    return 1;
  if (c < 0xc2 || c > 0xf4)
    return 0;
  size_t size = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  if (c == 0xe0)
    least = 0xa0;
  else if (c == 0xed)
    last = 0x9f;
  else if (c == 0xf0)
    least = 0x90;
  else if (c == 0xf4)
    last = 0x8f;
  if (n < size || text[1] < least || text[1] > last)
    return 0;
  for (size_t i = 2; i < size; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  return size;
}

/* A string of JSON (RFC 8259, section 7). A byte that isn't UTF-8 is a U+FFFD. */
static void put_string(struct line *line, const char *text, size_t n)
{
  char escape[8];
  put_text(line, "\"");
  for (size_t i = 0, size; i < n; i += size) {
    unsigned char c = text[i];
    size = character((const unsigned char *)text + i, n - i);
    if (c == '"' || c == '\\') {
      snprintf(escape, sizeof escape, "\\%c", c);
      put_text(line, escape);
    } else if (c < ' ') {
      snprintf(escape, sizeof escape, "\\u%04x", c);
      put_text(line, escape);
    } else if (size == 0) {
      put_text(line, "\\ufffd");
      size = 1;
    } else {
      put(line, text + i, size);
    }
  }
  put_text(line, "\"");
}

static void put_json(struct line *line, int level, const char *text, size_t n)
{
  char pid[32];
  put_text(line, "{\"time\":\"");
  put_time(line);
  put_text(line, "\",\"level\":\"");
  put_text(line, name_of(level));
  snprintf(pid, sizeof pid, "\",\"pid\":%d", getpid());
  put_text(line, pid);
  put_text(line, ",\"message\":");
  put_string(line, text, n);
  put_text(line, "}\n");
}

/* Each line with its level before it (sd-daemon(3)). */
static void put_journal(struct line *line, int level, const char *text, size_t n)
{
  char prefix[16];
  snprintf(prefix, sizeof prefix, "<%d>", level);
  for (const char *end = text + n; text <= end;) {
    const char *newline = memchr(text, '\n', end - text);
    size_t size = newline ? newline - text : end - text;
    put_text(line, prefix);
    put(line, text, size);
    put_text(line, "\n");
    text += size + 1;
  }
}

static void put_plain(struct line *line, int level, const char *text, size_t n)
{
  if (format == LOG_TIMED) {
    put_time(line);
    put_text(line, " ");
    put_text(line, name_of(level));
    put_text(line, ": ");
  } else {
    put_text(line, "perigee: ");
  }
  put(line, text, n);
  put_text(line, "\n");
}

void pg_log_begin(enum log_format wanted, int level)
{
  format = wanted;
  most = level;
}

static void say(int level, const char *text, size_t n)
{
  struct line line;
  if (level > most)
    return;
  line.n = 0;
  if (n > LONGEST)
    n = LONGEST;
  if (format == LOG_JSON)
    put_json(&line, level, text, n);
  else if (format == LOG_JOURNAL)
    put_journal(&line, level, text, n);
  else
    put_plain(&line, level, text, n);
  if (write(STDERR_FILENO, line.text, line.n) < 0)
    return; /* there is nobody to tell */
}

void pg_log(int level, const char *text)
{
  say(level, text, strlen(text));
}

void pg_logf(int level, const char *format_of_it, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format_of_it);
  vsnprintf(text, sizeof text, format_of_it, args);
  va_end(args);
  pg_log(level, text);
}

/* DPDK's stream: a line, or several. */
static ssize_t from_dpdk(void *cookie, const char *text, size_t n)
{
  (void)cookie;
  int level = rte_log_cur_msg_loglevel();
  size_t length = n;
  while (length > 0 && text[length - 1] == '\n')
    length--;
  if (length > 0)
    say(level <= (int)RTE_LOG_ERR ? LOG_ERROR : level == (int)RTE_LOG_WARNING
        ? LOG_WARNING : LOG_INFO, text, length);
  return n;
}

void pg_log_dpdk(void)
{
  cookie_io_functions_t functions = {.write = from_dpdk};
  FILE *stream = format == LOG_TEXT ? NULL : fopencookie(NULL, "w", functions);
  if (!stream)
    return;
  setvbuf(stream, NULL, _IOLBF, 4096);
  rte_openlog_stream(stream);
}
