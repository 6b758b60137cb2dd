/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens and closes netmap ports (netmap(4)): an interface that netmap takes away from the
 * kernel's stack, a port of a VALE switch, or an end of a pipe. All of it ends with the
 * process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/if.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/host.h"
#include "../../net/gso/layers.h"
#include "state.h"

enum { ENDING_STEPS = 50, STEP_US = 1000 };

int pg_netmap_sync(const struct netmap_port *s, unsigned long what)
{
  int status;
  while ((status = ioctl(s->fd, what, NULL)) < 0 && errno == EINTR)
    ;
  return status;
}

bool pg_netmap_is_sending(const struct netmap_port *s)
{
  const struct netmap_queue *q = &s->send;
  uint32_t tail = __atomic_load_n(&q->ring->tail, __ATOMIC_RELAXED);
  return (tail + 1) % q->slots != q->ring->head;
}

/* Are so many bytes at that offset in the memory? */
static bool is_inside(const struct netmap_port *s, int64_t offset, size_t bytes)
{
  return offset >= 0 && bytes <= s->bytes && (size_t)offset <= s->bytes - bytes;
}

/* The ring at this offset; false if it isn't in the memory whole. */
static bool find_ring(const struct netmap_port *s, int64_t offset, struct netmap_queue *q)
{
  struct netmap_ring *ring = (struct netmap_ring *)(s->memory + offset);
  if (offset % _Alignof(uint64_t) != 0 || !is_inside(s, offset, sizeof *ring))
    return false;
  q->ring = ring;
  const volatile struct netmap_ring *said = ring; /* each is read once */
  q->slots = said->num_slots;
  q->buffer_bytes = said->nr_buf_size;
  int64_t first = said->buf_ofs;
  if (__builtin_add_overflow(first, offset, &first))
    return false;
  if (q->slots < 2 || q->buffer_bytes == 0 || !is_inside(s, first, q->buffer_bytes) ||
      !is_inside(s, offset, sizeof *ring + (size_t)q->slots * sizeof *ring->slot))
    return false;
  q->buffers = s->memory + first;
  q->most_index = (s->bytes - first) / q->buffer_bytes - 1;
  return true;
}

/* The rings that the struct netmap_if at this offset names: one to send by, all to receive
 * from. */
static bool find_rings(struct netmap_port *s, uint32_t at)
{
  const volatile struct netmap_if *port = (struct netmap_if *)(s->memory + at);
  if (at % _Alignof(uint64_t) != 0 || !is_inside(s, at, sizeof *port))
    return false;
  uint32_t senders = port->ni_tx_rings, receivers = port->ni_rx_rings;
  uint64_t before = (uint64_t)senders + port->ni_host_tx_rings;
  s->rings = RTE_MIN(receivers, (uint32_t)NETMAP_MOST_RINGS);
  if (senders == 0 || s->rings == 0 ||
      !is_inside(s, at, sizeof *port + (before + s->rings) * sizeof *port->ring_ofs) ||
      !find_ring(s, at + port->ring_ofs[0], &s->send))
    return false;
  for (uint32_t i = 0; i < s->rings; i++)
    if (!find_ring(s, at + port->ring_ofs[before + i], &s->receive[i]))
      return false;
  return true;
}

static int refused(const struct nmreq *request, int error)
{
  const char *name = request->nr_name;
  if (error == EINVAL && request->nr_version != NETMAP_VERSION)
    return pg_fail("netmap's module has version %u of its interface, and Perigee %u; load "
                   "a module of that version", request->nr_version, NETMAP_VERSION);
  if (error == EBUSY)
    return pg_fail("another process has '%s' by netmap already; end that first", name);
  if (error == ENXIO)
    return pg_fail("netmap has no port '%s'; name an interface, a port of a switch such "
                   "as vale0:a, or an end of a pipe such as a{1 or a}1", name);
  return pg_fail("netmap doesn't take '%s' (%s); the kernel's log (dmesg) may say why",
                 name, strerror(error));
}

static int bind_port(struct netmap_port *s)
{
  struct nmreq request = {.nr_version = NETMAP_VERSION,
                          .nr_flags = NETMAP_ALL_RINGS | NETMAP_EXCLUSIVE};
  memcpy(request.nr_name, s->name, sizeof request.nr_name);
  s->fd = open(NETMAP_DEVICE, O_RDWR | O_CLOEXEC);
  if (s->fd < 0)
    return pg_fail(NETMAP_DEVICE " can't be opened: %s", strerror(errno));
  if (ioctl(s->fd, NIOCREGIF, &request) < 0)
    return refused(&request, errno);
  void *memory = mmap(NULL, request.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED,
                      s->fd, 0);
  if (memory == MAP_FAILED)
    return pg_fail("netmap's memory of %u bytes can't be mapped: %s",
                   request.nr_memsize, strerror(errno));
  s->memory = memory;
  s->bytes = request.nr_memsize;
  return find_rings(s, request.nr_offset)
           ? 0
           : pg_fail("netmap's module lays its rings out otherwise than version %u of its "
                     "interface; load a module of that version", NETMAP_VERSION);
}

/* Frames may be as long as the buffers, and as the interface's MTU is now. */
static int fit(struct port *port)
{
  const struct netmap_port *s = port->state;
  uint32_t most = s->send.buffer_bytes - VLAN_TAG;
  struct iface iface;
  if (s->is_interface) {
    if (pg_iface_read(s->name, &iface) < 0)
      return -1;
    most = RTE_MIN(most, iface.mtu + ETHERNET_HEADER);
  }
  port->max_frame = RTE_MIN(most, (uint32_t)PACKET_MAX_PAYLOAD);
  return 0;
}

/* What waits for room at the other end goes on its way, though nothing follows it; -1 if
 * the interface is away. */
int pg_netmap_tend(struct port *port)
{
  const struct netmap_port *s = port->state;
  if (pg_netmap_is_sending(s))
    pg_netmap_sync(s, NIOCTXSYNC);
  return fit(port);
}

/* The descriptor that is ready while there is something to receive (poll(2) asks the
 * kernel, as NIOCRXSYNC does). Not to be called while the interface is away. */
int pg_netmap_descriptor(const struct port *port)
{
  const struct netmap_port *s = port->state;
  return s->fd;
}

/* What was sent before goes out, within a moment. */
static void finish_sending(const struct netmap_port *s)
{
  for (int i = 0; i < ENDING_STEPS && pg_netmap_is_sending(s); i++) {
    if (pg_netmap_sync(s, NIOCTXSYNC) < 0)
      return;
    usleep(STEP_US);
  }
}

static int close_port(struct port *port)
{
  struct netmap_port *s = port->state;
  if (s->send.buffers)
    finish_sending(s);
  if (s->memory)
    munmap(s->memory, s->bytes);
  if (s->fd >= 0)
    close(s->fd);
  if (s->promiscuous >= 0)
    close(s->promiscuous);
  free(s);
  port->state = NULL;
  return 0;
}

static void read_stats(const struct port *port, struct port_stats *stats)
{
  const struct netmap_port *s = port->state;
  *stats = s->counts;
}

static int read_link(const struct port *port, struct port_link *link)
{
  const struct netmap_port *s = port->state;
  struct iface iface = {.flags = IFF_RUNNING};
  if (s->is_interface && pg_iface_read(s->name, &iface) < 0)
    return -1;
  *link = (struct port_link){.up = (iface.flags & IFF_RUNNING) != 0, .full_duplex = 1};
  return 0;
}

static int read_mac(const struct port *port, uint8_t *mac)
{
  const struct netmap_port *s = port->state;
  struct iface iface;
  if (!s->is_interface)
    return pg_fail("a switch's port and a pipe have no address");
  if (pg_iface_read(s->name, &iface) < 0)
    return -1;
  memcpy(mac, iface.mac, sizeof iface.mac);
  return 0;
}

static const struct own_driver driver = {
  .name = "netmap", .receive = pg_netmap_receive, .send = pg_netmap_send,
  .stats = read_stats, .link = read_link, .mac = read_mac, .close = close_port};

/* Open netmap's port `name` (up to 15 bytes), an interface or not. 0, or -1 and
 * pg_error(). */
int pg_netmap_open(struct port *port, const char *name, bool is_interface)
{
  struct netmap_port *s = calloc(1, sizeof *s);
  if (!s)
    return pg_fail("no memory");
  s->fd = s->promiscuous = -1;
  s->is_interface = is_interface;
  snprintf(s->name, sizeof s->name, "%s", name);
  pg_port_own(port, &driver, s);
  port->min_frame = ETHERNET_HEADER;
  snprintf(port->name, sizeof port->name, "netmap:%s", name);
  if (bind_port(s) < 0 || fit(port) < 0) {
    close_port(port);
    return -1;
  }
  if (is_interface)
    s->promiscuous = pg_iface_hold_promiscuous(name);
  return 0;
}
