/* SPDX-License-Identifier: Apache-2.0
 *
 * What the process says of itself, on stderr: lines with a level, as --log-format wants
 * them. (Lua's side is core.lib.log.)
 */
#pragma once

/* Levels are syslog's. */
enum { LOG_ERROR = 3, LOG_WARNING = 4, LOG_INFO = 6 };

enum log_format { LOG_TEXT, LOG_TIMED, LOG_JSON, LOG_JOURNAL };

/* From now on say what is of this level or a lower one, in this format. */
void pg_log_begin(enum log_format format, int most);

/* Say a sentence, by one write(2). It may have several lines. For handlers, too. */
void pg_log(int level, const char *text);

void pg_logf(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* In formats other than text: let what DPDK says be said so, too. Before it starts. */
void pg_log_dpdk(void);
