/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets into an AF_PACKET socket, by sendmmsg; a run of TCP segments of one flow as one
 * frame, which a kernel at the other end takes as such (PACKET_VNET_HDR, packet(7)).
 */
#define _GNU_SOURCE /* sendmmsg */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <rte_mbuf.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/first_line.h"
#include "../../net/gso/join.h"
#include "state.h"

enum { AT_ONCE = 64 };

/* What the kernel said to a packet: it waits, as there is no room for it now, or it is
 * lost, or all that follow are, too. */
enum refusal { NO_ROOM, LOST, ALL_LOST };

static enum refusal refusal_of(int error)
{
  switch (error) {
  case EAGAIN:
  case EINTR:
    return NO_ROOM;
  case ENETDOWN: /* the interface is down, */
  case ENXIO:    /* or away */
  case ENODEV:
    return ALL_LOST;
  }
  return LOST; /* ENOBUFS: the device dropped it; EMSGSIZE: the MTU is smaller now */
}

static void count_sent(struct packet_socket *s, struct rte_mbuf **packets, uint16_t n)
{
  s->counts.opackets += n;
  for (uint16_t i = 0; i < n; i++)
    s->counts.obytes += packets[i]->data_len;
}

/* Send `n` (up to AT_ONCE) as they are; how many were taken, sent or lost. */
static uint16_t send_plain(struct packet_socket *s, struct rte_mbuf **packets,
                           uint16_t n)
{
  struct mmsghdr messages[AT_ONCE];
  struct iovec parts[AT_ONCE];
  uint16_t done = 0;
  bool told = false; /* that the interface was down, maybe before this */
  for (uint16_t i = 0; i < n; i++) {
    parts[i] = (struct iovec){rte_pktmbuf_mtod(packets[i], void *), packets[i]->data_len};
    messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
  }
  while (done < n) {
    int sent = sendmmsg(s->send, messages + done, n - done, MSG_DONTWAIT);
    if (sent > 0) {
      count_sent(s, packets + done, sent);
      done += sent;
      continue;
    }
    if (errno == ENETDOWN && !told) {
      told = true;
      continue;
    }
    enum refusal refusal = refusal_of(errno);
    if (refusal == NO_ROOM)
      break;
    uint16_t lost = refusal == LOST ? 1 : n - done;
    s->counts.oerrors += lost;
    done += lost;
  }
  return done;
}

/* Send a run of segments as one frame; false if the kernel doesn't take it now, or so. */
static bool send_joined(struct packet_socket *s, struct joined *j,
                        struct rte_mbuf **packets)
{
  struct iovec parts[MOST_JOINED + 2] = {{&j->offload, sizeof j->offload},
                                         {j->headers, j->headers_length}};
  for (uint16_t i = 0; i < j->count; i++)
    parts[i + 2] = (struct iovec){
      rte_pktmbuf_mtod_offset(packets[i], uint8_t *, j->headers_length),
      packets[i]->data_len - j->headers_length};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = j->count + 2};
  if (sendmsg(s->send_joined, &message, MSG_DONTWAIT) < 0)
    return false;
  count_sent(s, packets, j->count);
  return true;
}

uint16_t pg_packet_send(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct packet_socket *s = port->state;
  struct joined j;
  uint16_t done = 0;
  while (done < n) {
    uint16_t plain = 0, run = 1;
    while (plain < AT_ONCE && done + plain < n &&
           (run = pg_join(&j, packets + done + plain, n - done - plain)) == 1)
      plain++;
    uint16_t taken = send_plain(s, packets + done, plain);
    done += taken;
    if (taken < plain)
      break;
    if (run > 1 && done < n) {
      uint16_t sent = send_joined(s, &j, packets + done)
                        ? run
                        : send_plain(s, packets + done, run);
      done += sent;
      if (sent < run)
        break;
    }
  }
  pg_give_packets(packets, done);
  return done;
}
