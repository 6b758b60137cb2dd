/* SPDX-License-Identifier: Apache-2.0
 *
 * What ports are, DPDK's and Perigee's own, and the kernel's interfaces below them: what
 * the C shim and Lua share of plugging, starting and asking them. (How packets come and
 * go is in api.h.) Plain declarations, as there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct freelist;
struct own_driver;

enum guest_state { GUEST_NONE, GUEST_OPEN, GUEST_SHUT };

struct port_stats {
  uint64_t ipackets, opackets, ibytes, obytes;
  uint64_t imissed, ierrors, oerrors, rx_nombuf;
};

/* Whether a card interrupts when packets come (port_interrupt.c). */
struct port_proof {
  uint64_t seen;             /* packets received, at the last look */
  uint8_t given, missed;     /* how often it did, and didn't */
  bool waits;                /* it may */
};

/* One port, plugged. Counted in packets unless the name says bytes. */
struct port {
  uint16_t id;
  uint16_t min_frame;        /* shortest and longest frame it can send, */
  uint16_t max_frame;        /* bytes; 4 more where there is a VLAN tag */
  uint8_t tidy;              /* may receive chained or foreign mbufs */
  uint8_t started;
  uint8_t found_nothing;     /* the last receive did */
  uint8_t full;              /* or gave PORT_BURST packets */
  uint8_t lent;              /* --eal made it: stop it, don't remove it */
  uint8_t gone;              /* the card or interface has gone (port_gone.c) */
  uint8_t full_bursts;       /* each costs much by itself, such as a system call */
  uint8_t interrupts;        /* its driver can tell when something comes */
  uint8_t fast_free;         /* the driver looks at nothing it frees (port_start.c) */
  uint8_t guest;             /* enum guest_state: is a virtual machine at the other end? */
  uint8_t special;           /* own or guest: bursts aren't DPDK's alone (driver.h) */
  uint16_t burst;            /* packets received by one call, <= PORT_BURST */
  uint16_t queue, queues;    /* the one this is, of so many (0: one) */
  uint16_t pairs;            /* of a guest's queues; this port's: queue, queue + queues, ... */
  uint16_t turn;             /* of these, that which is received from first */
  int32_t numa_node;         /* -1: unknown, or there is only one */
  int32_t promiscuous;       /* descriptor that keeps `keeps` so, or -1 */
  uint64_t offloads;         /* on: RTE_ETH_TX_OFFLOAD_*; the rest in offload.c */
  uint64_t rxpackets, rxbytes;
  uint64_t txpackets, txbytes;
  uint64_t rx_oversize;      /* received longer than PACKET_MAX_PAYLOAD */
  uint64_t rx_nomem;         /* received, no packet to copy it to */
  uint64_t rx_bad_offload;   /* received, can't be segmented or checksummed (ports) */
  uint64_t tx_oversize;      /* longer than max_frame */
  uint64_t tx_runt;          /* shorter than min_frame */
  uint64_t tx_unplugged;     /* when the card or interface was gone */
  struct freelist *account;  /* of the engine it works for */
  void *pool;                /* it receives into */
  const struct own_driver *own; /* instead of DPDK (driver.h), or NULL */
  void *state;               /* of that driver */
  struct port_stats past;    /* of the devices that it had before */
  struct port_proof proof;   /* of interrupts */
  double quiet_until;        /* about a guest (port/vhost) */
  char name[64];             /* of the device */
  char keeps[16];            /* kernel interface that is to stay as it is, or "" */
};

struct port_link {
  uint32_t speed;            /* Mbit/s, 0 unknown */
  uint8_t up, full_duplex;
};

/* What Perigee puts back on a kernel interface when it leaves it. */
struct iface {
  uint32_t mtu;
  uint32_t flags;            /* IFF_UP and so on, linux/if.h */
  uint8_t mac[6];
};

/* port.c */
/* Each plug fills in `port` but for `account`, which the caller sets. */
int pg_port_plug(struct port *port, const char *devargs, const char *keeps);
int pg_port_ring(struct port *port, const char *name, int side);
int pg_ring_take(const char *name);
void pg_ring_leave(const char *name, int side);
int pg_port_small_pool(struct port *port);
int pg_port_next_id(void);
bool pg_port_shared(const char *device);
bool pg_port_join(struct port *port, const char *device);
int pg_port_share(const struct port *port, const char *device);
bool pg_port_leave(const char *device);
int pg_port_adopt(struct port *port, uint16_t id);
int pg_port_unplug(struct port *port);
int pg_probe_pci(const char *address);

/* port_start.c */
/* How DPDK's device of a port is started. */
struct port_setup {
  uint32_t mtu;              /* 0: the device's own */
  uint16_t rx, tx, rxd, txd; /* queues, and descriptors of each */
  uint16_t spread, first;    /* by hashes over so many rx queues from `first` on; 0: not */
  bool promiscuous, offload, fast_free; /* as of pg_port_start */
};

int pg_port_start_as(struct port *port, const struct port_setup *how);
int pg_port_start(struct port *port, uint32_t mtu, bool promiscuous, bool offload,
                  bool fast_free);

/* burst.c */
uint32_t pg_port_discard(struct port *port);

/* offload.c */
struct packet;
int pg_offload_checksum(struct packet *p, uint32_t version, uint32_t l2, uint32_t l3,
                        uint32_t protocol);
void pg_offload_flags(struct packet **packets, int32_t n, uint64_t flags, uint32_t l2,
                      uint32_t l3);
void pg_offload_vlan(struct packet *p, uint32_t tci);

/* port_interrupt.c */
int pg_port_descriptor(const struct port *port);
bool pg_port_interrupts(struct port *port);
uint32_t pg_port_notify(const struct port *port, bool on);

/* port_gone.c */
bool pg_port_is_to_go(const struct port *port);
void pg_port_let_go(struct port *port, bool last);
void pg_port_absent(struct port *port, const char *name);
void pg_port_come_back(struct port *port, const struct port *opened);

/* port_query.c */
int pg_port_stats(const struct port *port, struct port_stats *stats);
/* A further statistic of a port, by the name that its driver gives it. */
struct port_xstat { char name[64]; uint64_t value; };
int32_t pg_port_xstats(const struct port *port, struct port_xstat *list, uint32_t n);
int32_t pg_port_events(const struct port *port, struct port_xstat *list, uint32_t n);
int32_t pg_port_queue_count(const struct port *port, uint16_t queue);
int pg_port_link(const struct port *port, struct port_link *link);
uint32_t pg_most_ports(void);
int pg_port_mac(const struct port *port, uint8_t *mac);
const char *pg_port_driver(const struct port *port);
int pg_port_count(void);

struct port_limits { uint16_t rx, tx, reta; };
void pg_port_limits(const struct port *port, struct port_limits *limits);

/* port_change.c */
int pg_port_set_promiscuous(const struct port *port, bool on);
int pg_port_set_mtu(const struct port *port, uint32_t mtu);
int pg_port_add_mac(const struct port *port, const uint8_t *mac);
int pg_port_limit_queue(const struct port *port, uint16_t queue, uint32_t mbit);
int pg_port_remove_mac(const struct port *port, const uint8_t *mac);

/* iface.c */
int pg_iface_read(const char *name, struct iface *iface);
int pg_iface_write(const char *name, const struct iface *iface);
uint32_t pg_iface_xdp_program(const char *name);
double pg_iface_tx_dropped(const char *name);
bool pg_iface_leaves_checksums(const char *name);
bool pg_iface_leads_elsewhere(const char *name);
