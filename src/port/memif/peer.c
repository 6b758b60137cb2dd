/* SPDX-License-Identifier: Apache-2.0
 *
 * The handshake with a memif peer, message by message: each must be due, of 128 bytes, and
 * bring as many descriptors as its type says. By the hub's thread, which has its lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../native/log.h"
#include "state.h"

enum { MOST_FILES = 8, CODE_REFUSED = 1 };

/* Messages --------------------------------------------------------------------------- */

/* False if the peer reads nothing, or has gone. */
static bool say(int to, const struct memif_message *m, int fd)
{
  union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
  struct iovec part = {.iov_base = (void *)m, .iov_len = sizeof *m};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
                                      .cmsg_len = CMSG_LEN(sizeof fd)};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *m;
}

static enum fault answer(const struct peer *c, uint16_t type)
{
  struct memif_message m = {.type = type};
  if (type == MEMIF_CONNECT || type == MEMIF_CONNECTED)
    snprintf(m.connect.name, sizeof m.connect.name, "perigee/%u", c->port->options.id);
  return say(c->fd, &m, -1) ? FAULT_NONE : FAULT_UNREAD;
}

static uint16_t least_queues(const struct hub *h)
{
  uint16_t n = MOST_QUEUES;
  for (const struct memif *m = h->ports; m; m = m->next)
    n = RTE_MIN(n, m->options.queues);
  return n;
}

void pg_memif_send_hello(const struct hub *h, int fd)
{
  struct memif_message m = {.type = MEMIF_HELLO};
  uint16_t last = least_queues(h) - 1;
  m.hello.least_version = m.hello.most_version = MEMIF_VERSION;
  m.hello.last_region = MOST_REGIONS - 1;
  m.hello.last_c2s = m.hello.last_s2c = last;
  m.hello.most_log2 = MOST_LOG2;
  snprintf(m.hello.name, sizeof m.hello.name, "Perigee " PERIGEE_VERSION);
  say(fd, &m, -1);
}

/* Tell the peer why it is let go. */
void pg_memif_send_end(int fd, enum fault why)
{
  struct memif_message m = {.type = MEMIF_DISCONNECT};
  m.disconnect.code = CODE_REFUSED;
  snprintf(m.disconnect.reason, sizeof m.disconnect.reason, "%s: %s",
           pg_memif_fault_name(why), pg_memif_fault_text(why));
  say(fd, &m, -1);
}

/* What a message brought. More than one descriptor is more than any type has. */
struct heard {
  struct memif_message m;
  int files, fd;             /* `fd`: the first, or -1 */
};

static void take_files(struct msghdr *message, struct heard *heard)
{
  heard->files = message->msg_flags & MSG_CTRUNC ? MOST_FILES : 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
      continue;
    for (size_t n = 0; CMSG_LEN((n + 1) * sizeof(int)) <= c->cmsg_len; n++) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + n * sizeof fd, sizeof fd);
      heard->files++;
      if (heard->fd < 0)
        heard->fd = fd;
      else
        close(fd);
    }
  }
}

/* The next message: its bytes; 0: the peer has gone, -1: there is none yet. */
static ssize_t hear(int fd, struct heard *heard)
{
  char control[CMSG_SPACE(MOST_FILES * sizeof(int))];
  struct iovec part = {.iov_base = &heard->m, .iov_len = sizeof heard->m};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                           .msg_controllen = sizeof control};
  *heard = (struct heard){.fd = -1};
  ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0)
    return errno == EAGAIN || errno == EINTR ? -1 : 0;
  take_files(&message, heard);
  return message.msg_flags & MSG_TRUNC ? (ssize_t)sizeof heard->m + 1 : n;
}

/* A server's end --------------------------------------------------------------------- */

static bool same_secret(const uint8_t *a, const uint8_t *b)
{
  uint8_t differs = 0;
  bool ended = false; /* what lies behind a zero is of no account */
  for (int i = 0; i < 24; i++) {
    differs |= ended ? 0 : a[i] ^ b[i];
    ended |= a[i] == 0;
  }
  return differs == 0;
}

static enum fault hear_init(struct hub *h, struct peer *c,
                            const struct memif_message *m)
{
  struct memif *port = h->ports;
  if (m->init.version != MEMIF_VERSION)
    return FAULT_VERSION;
  while (port && port->options.id != m->init.id)
    port = port->next;
  if (!port)
    return FAULT_ID;
  if (port->options.secret[0] && !same_secret(port->options.secret, m->init.secret))
    return FAULT_SECRET;
  if (port->peer)
    return FAULT_TAKEN;
  c->port = port;
  port->peer = c;
  if (m->init.mode != MEMIF_ETHERNET)
    return FAULT_MODE;
  c->session = pg_memif_session(true, h->wake);
  c->awaited = AWAIT_PARTS;
  return c->session ? answer(c, MEMIF_ACK) : FAULT_REGION_MAP;
}

/* Let bursts use the session (NULL: none), and wait until they use no other. */
void pg_memif_go_live(struct memif *m, struct session *s)
{
  struct lane *const sides[] = {m->receive, m->send};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < MOST_QUEUES; i++) {
      struct lane *lane = &sides[k][i];
      while (!rte_spinlock_trylock(&lane->lock))
        usleep(10);
      lane->session = s;
      rte_spinlock_unlock(&lane->lock);
    }
  m->live = s;
  atomic_fetch_add(&m->sessions, 1);
  eventfd_write(m->changed, 1);
}

static void go_live(struct peer *c)
{
  c->awaited = AWAIT_END;
  c->port->told = false;
  pg_memif_go_live(c->port, c->session);
}

static enum fault hear_part(struct peer *c, struct heard *heard)
{
  enum fault f;
  if (heard->m.type == MEMIF_ADD_REGION) {
    f = pg_memif_add_region(c->session, &heard->m, &heard->fd);
    return f ? f : answer(c, MEMIF_ACK);
  }
  if (heard->m.type == MEMIF_ADD_RING) {
    f = pg_memif_add_ring(c->session, &heard->m, &heard->fd, c->port->options.queues);
    return f ? f : answer(c, MEMIF_ACK);
  }
  if (heard->m.type != MEMIF_CONNECT)
    return FAULT_MESSAGE_ORDER;
  if ((f = pg_memif_find_rings(c->session)) || (f = answer(c, MEMIF_CONNECTED)))
    return f;
  go_live(c);
  return FAULT_NONE;
}

/* A client's end --------------------------------------------------------------------- */

static enum fault say_init(const struct peer *c)
{
  struct memif_message m = {.type = MEMIF_INIT};
  const struct memif_options *o = &c->port->options;
  m.init.version = MEMIF_VERSION;
  m.init.id = o->id;
  m.init.mode = MEMIF_ETHERNET;
  memcpy(m.init.secret, o->secret, sizeof m.init.secret);
  snprintf(m.init.name, sizeof m.init.name, "Perigee " PERIGEE_VERSION);
  return say(c->fd, &m, -1) ? FAULT_NONE : FAULT_UNREAD;
}

static enum fault hear_hello(struct hub *h, struct peer *c,
                             const struct memif_message *m)
{
  const struct memif_options *o = &c->port->options;
  uint16_t c2s = RTE_MIN(m->hello.last_c2s, o->queues - 1) + 1;
  uint16_t s2c = RTE_MIN(m->hello.last_s2c, o->queues - 1) + 1;
  uint8_t log2 = RTE_MIN(m->hello.most_log2, o->log2);
  if (m->hello.least_version > MEMIF_VERSION || m->hello.most_version < MEMIF_VERSION)
    return FAULT_VERSION;
  if (log2 < LEAST_LOG2)
    return FAULT_RING_SIZE;
  c->session = pg_memif_offer(o, c2s, s2c, log2, h->wake);
  if (!c->session) {
    if (!c->port->told)
      pg_logf(LOG_WARNING, "port 'memif:%s': there is no memory to share with its server: "
              "%s", o->path, strerror(errno));
    c->port->told = true;
    return FAULT_REGION_MAP;
  }
  c->awaited = AWAIT_ACK;
  return say_init(c);
}

static enum fault say_ring(const struct peer *c, bool c2s, uint16_t i)
{
  const struct ring *r = pg_memif_ring_of(c->session, c2s, i);
  struct memif_message m = {.type = MEMIF_ADD_RING};
  m.add_ring.flags = c2s ? MEMIF_C2S : 0;
  m.add_ring.index = i;
  m.add_ring.offset = r->offset;
  m.add_ring.log2 = __builtin_ctz(r->size);
  return say(c->fd, &m, r->bell) ? FAULT_NONE : FAULT_UNREAD;
}

/* Each message waits until the one before it is acknowledged. */
static enum fault hear_ack(struct peer *c)
{
  const struct session *s = c->session;
  uint16_t i = c->step++;
  if (i == 0) {
    struct memif_message m = {.type = MEMIF_ADD_REGION};
    m.add_region.size = s->region[0].size;
    return say(c->fd, &m, s->region[0].file) ? FAULT_NONE : FAULT_UNREAD;
  }
  if (--i < s->sends)
    return say_ring(c, true, i);
  if ((i -= s->sends) < s->receives)
    return say_ring(c, false, i);
  c->awaited = AWAIT_CONNECTED;
  return answer(c, MEMIF_CONNECT);
}

/* Either's --------------------------------------------------------------------------- */

/* What a server says as it refuses is said to the user, once; it may be any bytes. */
static void hear_end(const struct peer *c, const struct memif_message *m)
{
  char text[sizeof m->disconnect.reason + 1] = "";
  if (!c->port || c->awaited == AWAIT_END || c->awaited > AWAIT_CONNECTED || c->port->told)
    return;
  c->port->told = true;
  for (size_t i = 0; i < sizeof m->disconnect.reason && m->disconnect.reason[i]; i++)
    text[i] = m->disconnect.reason[i] >= ' ' && m->disconnect.reason[i] <= '~'
                ? m->disconnect.reason[i]
                : '?';
  pg_logf(LOG_WARNING, "port 'memif:%s': the server refuses it (\"%s\"); it goes on asking",
          c->port->options.path, text);
}

static int files_of(uint16_t type)
{
  return type == MEMIF_ADD_REGION || type == MEMIF_ADD_RING;
}

static enum fault act(struct hub *h, struct peer *c, struct heard *heard)
{
  uint16_t type = heard->m.type;
  if (heard->files != files_of(type))
    return FAULT_MESSAGE_FILES;
  switch (c->awaited) {
  case AWAIT_HELLO:
    return type == MEMIF_HELLO ? hear_hello(h, c, &heard->m) : FAULT_MESSAGE_ORDER;
  case AWAIT_ACK:
    return type == MEMIF_ACK ? hear_ack(c) : FAULT_MESSAGE_ORDER;
  case AWAIT_CONNECTED:
    if (type != MEMIF_CONNECTED)
      return FAULT_MESSAGE_ORDER;
    pg_memif_give_buffers(c->session);
    go_live(c);
    return FAULT_NONE;
  case AWAIT_INIT:
    return type == MEMIF_INIT ? hear_init(h, c, &heard->m) : FAULT_MESSAGE_ORDER;
  case AWAIT_PARTS:
    return hear_part(c, heard);
  case AWAIT_END:
    break;
  }
  return FAULT_MESSAGE_ORDER;
}

/* Read one message of the peer's, if there is one, and do what it asks for. `*gone`: it
 * has gone, or said that it goes. */
enum fault pg_memif_hear(struct hub *h, struct peer *c, bool *gone)
{
  struct heard heard;
  enum fault f = FAULT_NONE;
  ssize_t n = hear(c->fd, &heard);
  *gone = n == 0;
  if (n > 0 && n != (ssize_t)sizeof heard.m)
    f = FAULT_MESSAGE_LENGTH;
  else if (n > 0 && heard.m.type == MEMIF_DISCONNECT && heard.files == 0) {
    hear_end(c, &heard.m);
    *gone = true;
  } else if (n > 0)
    f = act(h, c, &heard);
  if (heard.fd >= 0)
    close(heard.fd);
  return f;
}
