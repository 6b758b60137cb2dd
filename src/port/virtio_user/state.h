/* SPDX-License-Identifier: Apache-2.0
 *
 * A virtio-user port: what its thread and the engine's have in common.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include <rte_ether.h>

#include "../../native/api.h"

struct virtio_user {
  struct sockaddr_un address;
  int listener;           /* -1: the port connects */
  ino_t socket;           /* the listener's file */
  int first;              /* connection made as the port was opened, or -1 */
  int stop;               /* readable when the thread is to end */
  int changed;            /* eventfd: there is another device, or none any more */
  atomic_uint devices;    /* how often that has been */
  atomic_int call;        /* eventfd of the device by which its peer tells of packets */
  sem_t tried;            /* the first peer */
  bool offload;
  bool told;              /* that peers don't answer */
  double soon_until;      /* asks again soon */
  pthread_t thread;
  struct rte_ether_addr mac;
  void *pool;
  struct port device;     /* the thread's */
  atomic_int id;          /* of the device while it can be used, or -1 */
  atomic_uint_fast64_t offloads;
  atomic_bool closing;    /* by the engine: no burst is going on */
  pthread_mutex_t lock;   /* of what follows, and the device's statistics */
  struct port_stats past; /* of the devices before */
};
