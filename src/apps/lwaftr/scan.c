/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration files, token by token: words, quoted strings, braces and semicolons, in
 * the syntax of YANG modules (RFC 7950, section 6.1).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../native/api.h"
#include "lwaftr.h"

static struct lwaftr_scan *new_scan(FILE *file)
{
  struct lwaftr_scan *scan = calloc(1, sizeof *scan);
  if (scan && (scan->text = malloc(256))) {
    scan->file = file;
    scan->room = 256;
    scan->now = 1;
    scan->next = getc_unlocked(file);
    return scan;
  }
  free(scan);
  fclose(file);
  return NULL;
}

/* Open a file; NULL if it can't be (errno). A folder can be opened: its
 * first token is SCAN_READ_ERROR. */
struct lwaftr_scan *pg_scan_file(const char *path)
{
  FILE *file = fopen(path, "re");
  return file ? new_scan(file) : NULL;
}

/* Read `length` bytes of text, which must stay. */
struct lwaftr_scan *pg_scan_text(const char *text, uint32_t length)
{
  FILE *file = length ? fmemopen((void *)(uintptr_t)text, length, "r")
                      : fopen("/dev/null", "re");
  return file ? new_scan(file) : NULL;
}

void pg_scan_close(struct lwaftr_scan *scan)
{
  fclose(scan->file);
  free(scan->text);
  free(scan);
}

static inline int advance(struct lwaftr_scan *scan)
{
  int c = scan->next;
  scan->now += c == '\n';
  scan->next = getc_unlocked((FILE *)scan->file);
  return c;
}

/* Add to the token; 0, or what is wrong. */
static int put(struct lwaftr_scan *scan, int c)
{
  if (scan->length + 1 >= scan->room) {
    if (scan->room >= SCAN_MOST_BYTES)
      return SCAN_TOO_LONG;
    char *text = realloc(scan->text, scan->room * 2);
    if (!text)
      return SCAN_NO_MEMORY;
    scan->text = text;
    scan->room *= 2;
  }
  scan->text[scan->length++] = (char)c;
  return 0;
}

static inline bool is_space(int c)
{
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Behind a slash: is it a comment? Then skip it; false if it doesn't end. */
static bool skip_comment(struct lwaftr_scan *scan)
{
  if (advance(scan) == '/') {
    while (scan->next != '\n' && scan->next != EOF)
      advance(scan);
    return true;
  }
  for (int last = 0; scan->next != EOF;) {
    int c = advance(scan);
    if (last == '*' && c == '/')
      return true;
    last = c;
  }
  return false;
}

/* Escapes of RFC 7950, section 6.1.3; others stay as they are. */
static int put_escaped(struct lwaftr_scan *scan)
{
  int c = scan->next == EOF ? '\\' : advance(scan), wrong;
  switch (c) {
  case 'n': return put(scan, '\n');
  case 't': return put(scan, '\t');
  case '"': case '\\': return put(scan, c);
  default:
    wrong = put(scan, '\\');
    return wrong ? wrong : put(scan, c);
  }
}

static int quoted(struct lwaftr_scan *scan)
{
  int quote = advance(scan);
  scan->quoted = true;
  while (scan->next != quote) {
    if (scan->next == EOF)
      return SCAN_OPEN_QUOTE;
    int c = advance(scan);
    int wrong = c == '\\' && quote == '"' ? put_escaped(scan) : put(scan, c);
    if (wrong)
      return wrong;
  }
  advance(scan);
  return SCAN_WORD;
}

static int word(struct lwaftr_scan *scan)
{
  do {
    int c = advance(scan);
    if (c == '/' && (scan->next == '/' || scan->next == '*')) {
      if (!skip_comment(scan))
        return SCAN_OPEN_COMMENT;
      return scan->length ? SCAN_WORD : -1;
    }
    int wrong = put(scan, c);
    if (wrong)
      return wrong;
  } while (scan->next != EOF && !is_space(scan->next) && !strchr("{};\"'", scan->next));
  return SCAN_WORD;
}

/* Quoted strings are joined by +. */
static int strings(struct lwaftr_scan *scan)
{
  int kind = quoted(scan);
  for (;;) {
    while (is_space(scan->next))
      advance(scan);
    if (kind != SCAN_WORD || scan->next != '+')
      return kind;
    advance(scan);
    while (is_space(scan->next))
      advance(scan);
    if (scan->next != '"' && scan->next != '\'')
      return SCAN_OPEN_QUOTE;
    kind = quoted(scan);
  }
}

static int read_token(struct lwaftr_scan *scan)
{
  for (;;) {
    while (is_space(scan->next))
      advance(scan);
    scan->length = 0;
    scan->quoted = false;
    scan->line = scan->now;
    int kind;
    switch (scan->next) {
    case EOF: return ferror((FILE *)scan->file) ? SCAN_READ_ERROR : SCAN_END;
    case '{': advance(scan); return SCAN_OPEN;
    case '}': advance(scan); return SCAN_CLOSE;
    case ';': advance(scan); return SCAN_SEMICOLON;
    case '"': case '\'': return strings(scan);
    default:
      if ((kind = word(scan)) >= 0)
        return kind;
    }
  }
}

/* The kind of the next token, which fills in `text`, `length`, `line` and `quoted`. */
int pg_scan_token(struct lwaftr_scan *scan)
{
  if (scan->pushed) {
    scan->pushed = false;
    return scan->kind;
  }
  scan->kind = read_token(scan);
  scan->text[scan->length] = 0;
  return scan->kind;
}

/* Have the same token once more. */
void pg_scan_push(struct lwaftr_scan *scan)
{
  scan->pushed = true;
}
