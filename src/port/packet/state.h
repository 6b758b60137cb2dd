/* SPDX-License-Identifier: Apache-2.0
 *
 * An AF_PACKET port (packet(7)): one socket with a ring that the kernel writes received
 * frames into, two to send by. Measured with 60-byte frames on veth: emptying the ring
 * takes 0.31 us a frame, recvmmsg 0.9; sending by sendmmsg 0.84 us, by a ring 0.92.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <rte_mbuf.h>

#include "../../native/api.h"
#include "../../net/gso/segment.h"
#include "packet.h"

enum { SPARE_PACKETS = 32 };

/* Frames of the ring don't cross its blocks. */
struct packet_ring {
  uint8_t *memory, *frame;   /* all of it; the frame that is written next */
  uint32_t frame_bytes, frames_per_block, block_bytes, blocks;
  uint32_t block, in_block;  /* where `frame` is */
};

struct packet_socket {
  int receive;               /* bound to the interface, with the ring */
  int send;                  /* frames as they are */
  int send_joined;           /* with a struct virtio_net_hdr in front */
  int lock;                  /* held by who sends; -1: none */
  int unused;                /* a prepared one, as another process passed its own on */
  int ifindex;               /* 0: there was none yet */
  char name[16];             /* the interface's */
  bool alone, away;          /* nobody else may send; the interface has gone */
  bool takes_over;           /* from a process that may not have let go of it yet */
  uint32_t copies, copy;     /* it receives the share of one of so many; 0: all */
  int32_t by;                /* that these divide flows by (enum flows_by) */
  bool joined;               /* `receive` has been at the interface before */
  uint8_t mac[6];
  struct packet_ring ring;
  struct rte_mbuf *spare[SPARE_PACKETS];
  struct rte_mbuf *segments[MOST_SEGMENTS]; /* received, not yet handed on */
  uint16_t spares, first_segment, end_segment;
  struct unsegmented unsegmented;
  struct port_stats counts;
};

/* packet.c: open all but the interface; 0, or -1 and pg_error(), with nothing left. */
int pg_packet_begin(struct port *port, const char *name, uint32_t frames, bool sends,
                    bool waits);

/* prepared.c: the same, if that has been done before for this interface as it is now. */
bool pg_packet_take_prepared(struct port *port, const char *name, uint32_t frames,
                             bool sends);

/* passed.c: go on with the socket that another process has passed on, if there is one. */
void pg_packet_use_passed(struct packet_socket *s);

/* socket.c */
int pg_packet_sender(bool joined);
int pg_packet_receiver(const struct packet_socket *s);
int pg_packet_map_ring(struct packet_socket *s, uint32_t mtu, uint32_t frames);

/* packet.c: leave the interface, or join that which has the name now: 0, or -1 and
 * pg_error(). */
int pg_packet_find(struct packet_socket *s);
int pg_packet_join(struct packet_socket *s);
int pg_packet_take_lock(struct packet_socket *s);
void pg_packet_leave(struct packet_socket *s);
int pg_packet_fit_mtu(struct port *port);

/* The port's driver while its interface is there, and while it is away. */
extern const struct own_driver pg_packet_driver, pg_packet_away_driver;

/* away.c: nothing is received or sent until the interface is there. */
void pg_packet_go_away(struct port *port);

/* receive.c, send.c: of struct own_driver. */
uint16_t pg_packet_receive(struct port *port, struct rte_mbuf **packets, uint16_t n);
uint16_t pg_packet_send(struct port *port, struct rte_mbuf **packets, uint16_t n);
