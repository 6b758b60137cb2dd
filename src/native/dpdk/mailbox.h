/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages from one thread to another, each a string of bytes, in order. Their
 * number can be read without the lock: it is what the receiver looks at often.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct message;

struct mailbox {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  struct message *first, **end;
  int32_t *waiting; /* the number of messages */
};

void pg_mailbox_init(struct mailbox *box, int32_t *waiting);
void pg_mailbox_clear(struct mailbox *box);
bool pg_mailbox_put(struct mailbox *box, const char *data, uint64_t size);
int64_t pg_mailbox_next(struct mailbox *box);
void pg_mailbox_take(struct mailbox *box, char *to);
void pg_mailbox_wait(struct mailbox *box, double seconds);
