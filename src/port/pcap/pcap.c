/* SPDX-License-Identifier: Apache-2.0
 *
 * The pcap port: a capture file to receive from, one to send to, or both. What is sent
 * is in the file when 1 MB has come together, when the port's statistics are read (the
 * app does it 10 times a second), and when it is closed: a process that is killed loses
 * what it sent in the last tenth of a second. A file that can't be read on or written
 * ends the port's work there; pg_pcap_ended() and pg_pcap_failure() report it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_mempool.h>

#include "../../native/api.h"
#include "../../native/driver.h"
#include "../../native/first_line.h"
#include "../../native/host.h"
#include "state.h"

struct pcap_port {
  bool reads, writes, loop;
  bool told;                      /* what went wrong has been said */
  struct capture in;
  struct share share;
  struct output out;
  struct rte_mbuf *spare[PORT_BURST]; /* to receive into */
  uint16_t spares;
  uint64_t ipackets, ibytes;
  uint64_t dropped, dropped_bytes;    /* sent where there is no file to write */
  char rx_path[4096], tx_path[4096];
};

/* Receiving ---- */

/* Have packets to receive up to `n` into; how many there are. */
static uint16_t provide(struct pcap_port *p, struct rte_mempool *pool, uint16_t n)
{
  if (n > PORT_BURST)
    n = PORT_BURST;
  for (uint16_t want = n; p->spares < n && want > 0; want /= 2) {
    uint16_t more = RTE_MIN(want, n - p->spares);
    if (rte_mempool_get_bulk(pool, (void **)p->spare + p->spares, more) == 0)
      p->spares += more;
  }
  return RTE_MIN(p->spares, n);
}

static inline void fill(struct rte_mbuf *m, const struct slice *s)
{
  m->data_off = RTE_PKTMBUF_HEADROOM;
  m->ol_flags = 0;
  m->packet_type = 0;
  m->pkt_len = s->length;
  m->data_len = s->length;
  rte_memcpy(rte_pktmbuf_mtod(m, void *), s->data, s->length);
}

/* The next packets of the file; of a looped one from its start, when it ends. */
static uint16_t next(struct pcap_port *p, struct slice *slices, uint16_t n)
{
  uint16_t k = capture_next(&p->in, slices, n);
  if (k > 0 || !p->loop || p->in.state != ENDED)
    return k;
  if (p->in.packets == 0) {
    p->in.state = capture_damaged(&p->in, " has no packets to send over and over");
    return 0;
  }
  capture_restart(&p->in);
  return capture_next(&p->in, slices, n);
}

/* The next that are for this copy; 0 may be for want of them in what was looked at. */
static uint16_t next_of_share(struct pcap_port *p, struct slice *slices, uint16_t n)
{
  enum { MOST_LOOKS = 32 };
  if (p->share.listed)
    return share_next(&p->share, slices, n);
  uint16_t k = next(p, slices, n), kept;
  for (int looks = 1; k > 0 && looks < MOST_LOOKS; looks++) {
    if ((kept = share_keep(&p->share, slices, k)) > 0)
      return kept;
    k = next(p, slices, n);
  }
  return k > 0 ? share_keep(&p->share, slices, k) : 0;
}

static uint16_t receive_burst(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  enum { AHEAD = 4 };
  struct pcap_port *p = port->state;
  struct slice slices[PORT_BURST];
  if (!p->reads)
    return 0;
  uint16_t room = provide(p, port->pool, n), kept = 0;
  uint16_t got = p->share.copies ? next_of_share(p, slices, room) : next(p, slices, room);
  struct rte_mbuf **spare = p->spare + p->spares;
  for (uint16_t i = 0; i < RTE_MIN(got, AHEAD); i++)
    rte_prefetch0(spare[-1 - i]);
  for (uint16_t i = 0; i < got; i++) {
    p->ibytes += slices[i].length;
    if (unlikely(slices[i].length > PACKET_MAX_PAYLOAD)) {
      port_drop_long(port);
      continue;
    }
    if (p->spares > AHEAD)
      rte_prefetch0(p->spare[p->spares - 1 - AHEAD]);
    packets[kept] = p->spare[--p->spares];
    fill(packets[kept++], &slices[i]);
  }
  p->ipackets += got;
  return kept;
}

/* Sending ---- */

static uint16_t send_burst(struct port *port, struct rte_mbuf **packets, uint16_t n)
{
  struct pcap_port *p = port->state;
  uint16_t taken = p->writes ? output_send(&p->out, packets, n) : n;
  if (!p->writes) {
    p->dropped += n;
    for (uint16_t i = 0; i < n; i++)
      p->dropped_bytes += packets[i]->data_len;
  }
  pg_give_packets(packets, taken);
  return taken;
}

/* The rest ---- */

static void stats(const struct port *port, struct port_stats *stats)
{
  struct pcap_port *p = port->state;
  if (p->writes && !p->out.failed)
    output_flush(&p->out); /* what counts as sent is in the file */
  *stats = (struct port_stats){
    .ipackets = p->ipackets, .ibytes = p->ibytes,
    .ierrors = p->reads && p->in.state == DAMAGED,
    .opackets = p->dropped + p->out.packets - p->out.lost,
    .obytes = p->dropped_bytes + p->out.bytes - p->out.lost_bytes,
    .oerrors = p->out.lost};
}

static int link_state(const struct port *port, struct port_link *link)
{
  (void)port;
  *link = (struct port_link){.up = 1, .full_duplex = 1};
  return 0;
}

/* What is wrong with the files, or NULL. */
static const char *problem(const struct pcap_port *p)
{
  if (p->writes && p->out.failed)
    return p->out.sentence;
  return p->reads && p->in.state == DAMAGED ? p->in.sentence : NULL;
}

/* Its problem is an error here if nobody has been told. */
static int close_port(struct port *port)
{
  struct pcap_port *p = port->state;
  if (p->reads)
    capture_close(&p->in);
  share_close(&p->share);
  if (p->writes)
    output_close(&p->out);
  if (p->spares > 0)
    rte_mempool_put_bulk(port->pool, (void **)p->spare, p->spares);
  const char *why = problem(p);
  int status = why && !p->told ? pg_fail("%s", why) : 0;
  free(p);
  port->state = NULL;
  return status;
}

static const struct own_driver driver = {
  .name = "pcap", .receive = receive_burst, .send = send_burst, .stats = stats,
  .link = link_state, .close = close_port};

/* One round through a file that is to be sent over and over, as long as it fits in
 * memory: it must have packets, and no fault. */
static int look_through(struct pcap_port *p)
{
  struct slice slices[PORT_BURST];
  struct capture *c = &p->in;
  c->window.keep = true;
  while (capture_next(c, slices, PORT_BURST) > 0 && c->window.keep)
    ;
  if (c->state == DAMAGED)
    return pg_fail("%s", c->sentence);
  if (c->packets == 0)
    return pg_fail("%s has no packets to send over and over", c->source.path);
  capture_restart(c);
  if (p->share.copies && c->window.keep && c->state != DAMAGED) {
    share_list(&p->share, c);
    capture_restart(c);
  }
  return c->state == DAMAGED ? pg_fail("%s", c->sentence) : 0;
}

static int open_capture(struct pcap_port *p)
{
  if (!*p->rx_path)
    return 0;
  if (capture_open(&p->in, p->rx_path) < 0)
    return -1;
  p->reads = true;
  return p->loop ? look_through(p) : 0;
}

/* Open the file `rx` to receive from; pg_pcap_create() opens `tx` ("": none). Unless
 * `copies` is 0, only what is for number `copy` of so many is received (enum flows_by).
 * 0, or -1 and pg_error(). */
int pg_pcap_open(struct port *port, const char *rx, const char *tx, bool loop,
                 uint32_t copies, uint32_t copy, int32_t by)
{
  struct pcap_port *p = calloc(1, sizeof *p);
  if (!p)
    return pg_fail("no memory for a port");
  p->loop = loop && *rx;
  p->share = (struct share){.copies = copies, .copy = copy, .by = by};
  snprintf(p->rx_path, sizeof p->rx_path, "%s", rx);
  snprintf(p->tx_path, sizeof p->tx_path, "%s", tx);
  if (open_capture(p) < 0) {
    if (p->reads)
      capture_close(&p->in);
    share_close(&p->share);
    free(p);
    return -1;
  }
  pg_port_own(port, &driver, p);
  strcpy(port->name, driver.name);
  return 0;
}

/* Create the file to send to, or empty it. 0, or -1 and pg_error(). */
int pg_pcap_create(struct port *port)
{
  struct pcap_port *p = port->state;
  if (!*p->tx_path)
    return 0;
  p->writes = output_open(&p->out, p->tx_path) == 0;
  return p->writes ? 0 : -1;
}

/* Has it come to its file's end (if it reads one), or to where that is damaged? */
bool pg_pcap_over(const struct port *port)
{
  const struct pcap_port *p = port->state;
  return !p->reads || p->in.state == ENDED || p->in.state == DAMAGED;
}

/* The same; -1 and pg_error(): the file is damaged there. */
int pg_pcap_ended(const struct port *port)
{
  struct pcap_port *p = port->state;
  if (!p->reads)
    return 1;
  if (p->in.state != DAMAGED)
    return p->in.state == ENDED;
  p->told = true;
  return pg_fail("%s", p->in.sentence);
}

/* What no longer works and won't again, said once; else NULL. A damaged file that ends
 * is for pg_pcap_ended() to tell. */
const char *pg_pcap_failure(const struct port *port)
{
  struct pcap_port *p = port->state;
  if (p->told || (p->reads && p->in.state == DAMAGED && !p->loop && !p->out.failed))
    return NULL;
  const char *why = problem(p);
  p->told = why != NULL;
  return why;
}
