/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of AF_PACKET ports (packet(7)), not yet at an interface: one with a ring that
 * the kernel writes received frames into, two to send by.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <rte_common.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "state.h"

/* Bytes. The kernel puts headers into a frame of the ring; longer ones than the longest
 * take the way of unsegmented ones. */
enum { BLOCK_BYTES = 1 << 16, SOCKET_BYTES = 4 << 20, FRAME_OVERHEAD = 128,
       LONGEST_IN_RING = 2048 };

static int set(int fd, int option, int value)
{
  return setsockopt(fd, SOL_PACKET, option, &value, sizeof value);
}

/* As much as is allowed, without CAP_NET_ADMIN net.core.{r,w}mem_max. */
static void enlarge(int fd, int forced, int option)
{
  int bytes = SOCKET_BYTES;
  if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes) < 0)
    setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

/* A socket that sends to an interface, and receives nothing; `joined`: frames with a
 * struct virtio_net_hdr in front. -1, with errno. */
int pg_packet_sender(bool joined)
{
  int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
  set(fd, PACKET_QDISC_BYPASS, 1);
  if (joined && set(fd, PACKET_VNET_HDR, 1) < 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/* Frames for what the MTU lets in, up to a size: an odd number of cache lines, as with
 * even ones all frames' headers would compete for the same few lines of the cache. */
static uint32_t frame_bytes(uint32_t mtu)
{
  uint32_t longest = RTE_MIN(mtu + ETHERNET_HEADER + VLAN_TAG,
                             (uint32_t)LONGEST_IN_RING);
  uint32_t lines = (longest + FRAME_OVERHEAD) / RTE_CACHE_LINE_SIZE;
  return (lines | 1) * RTE_CACHE_LINE_SIZE;
}

/* A ring of at least `frames` frames. -1, with errno. */
int pg_packet_map_ring(struct packet_socket *s, uint32_t mtu, uint32_t frames)
{
  struct packet_ring *r = &s->ring;
  r->frame_bytes = frame_bytes(mtu);
  r->block_bytes = BLOCK_BYTES;
  r->frames_per_block = r->block_bytes / r->frame_bytes;
  r->blocks = (frames + r->frames_per_block - 1) / r->frames_per_block;
  struct tpacket_req request = {
    .tp_block_size = r->block_bytes, .tp_block_nr = r->blocks,
    .tp_frame_size = r->frame_bytes, .tp_frame_nr = r->blocks * r->frames_per_block};
  if (setsockopt(s->receive, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) < 0)
    return -1;
  void *memory = mmap(NULL, (size_t)r->block_bytes * r->blocks, PROT_READ | PROT_WRITE,
                      MAP_SHARED, s->receive, 0);
  if (memory == MAP_FAILED)
    return -1;
  r->memory = r->frame = memory;
  return 0;
}

/* The kernel's part of receiving, before the ring is there. -1, with errno. */
int pg_packet_receiver(const struct packet_socket *s)
{
  int fd = s->receive;
  enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
  return set(fd, PACKET_VERSION, TPACKET_V2) < 0 || set(fd, PACKET_VNET_HDR, 1) < 0 ||
             set(fd, PACKET_COPY_THRESH, 1) < 0 || set(fd, PACKET_IGNORE_OUTGOING, 1) < 0
           ? -1
           : 0;
}
