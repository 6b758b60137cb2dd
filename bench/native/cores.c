/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference of two workers joined by a ring: one thread receives bursts from a
 * null port and puts them into an rte_ring, another takes them out and sends them.
 *
 *   cores PORT-DEVARGS CPU CPU BURST SECONDS EAL-ARGUMENTS...
 *
 * Prints one line: packets, seconds, CPU seconds of each thread, TSC Hz.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_ring.h>

#include "common.h"

enum { RING_SIZE = 2048, MAX_BURST = 256 };

static struct rte_ring *ring;
static uint16_t in, out;
static uint16_t burst;
static int stop;
static uint64_t moved;
static double cpu[2];

static double thread_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static bool stopped(void)
{
  return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *send_side(void *arg)
{
  struct rte_mbuf *packets[MAX_BURST];
  (void)arg;
  rte_thread_register();
  while (!stopped()) {
    unsigned n = rte_eth_rx_burst(in, 0, packets, burst), done = 0;
    while (done < n && !stopped())
      done += rte_ring_sp_enqueue_burst(ring, (void **)packets + done, n - done, NULL);
    for (; done < n; done++)
      rte_pktmbuf_free(packets[done]);
  }
  cpu[0] = thread_seconds();
  rte_thread_unregister();
  return NULL;
}

static void *receive_side(void *arg)
{
  struct rte_mbuf *packets[MAX_BURST];
  (void)arg;
  rte_thread_register();
  while (!stopped()) {
    unsigned n = rte_ring_sc_dequeue_burst(ring, (void **)packets, burst, NULL);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
      bytes += packets[i]->data_len;
    moved += rte_eth_tx_burst(out, 0, packets, n) + (bytes == 1);
  }
  cpu[1] = thread_seconds();
  rte_thread_unregister();
  return NULL;
}

static pthread_t start(void *(*side)(void *), int on)
{
  pthread_t thread;
  pthread_attr_t attributes;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(on, &set);
  pthread_attr_init(&attributes);
  pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  check(pthread_create(&thread, &attributes, side, NULL) == 0, "a thread");
  return thread;
}

int main(int argc, char **argv)
{
  check(argc > 5, "arguments");
  double seconds = atof(argv[5]);
  burst = RTE_MIN(atoi(argv[4]), MAX_BURST);
  char *program = argv[0];
  argv[5] = program;
  check(rte_eal_init(argc - 5, argv + 5) >= 0, "EAL");
  struct rte_mempool *pool = make_pool();
  char second[128];
  snprintf(second, sizeof second, "net_null_pg1%s", argv[1] + strcspn(argv[1], ","));
  in = open_port(argv[1], pool);
  out = open_port(second, pool);
  ring = rte_ring_create("between", RING_SIZE, SOCKET_ID_ANY,
                         RING_F_SP_ENQ | RING_F_SC_DEQ);
  check(ring, "the ring");
  pthread_t threads[2] = {start(send_side, atoi(argv[2])),
                          start(receive_side, atoi(argv[3]))};
  struct timespec t0, t1;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  usleep(seconds * 1e6);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  clock_gettime(CLOCK_MONOTONIC, &t1);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  printf("%lu %.6f %.6f %.6f %lu\n", (unsigned long)moved,
         (t1.tv_sec - t0.tv_sec) + (t1.tv_nsec - t0.tv_nsec) * 1e-9, cpu[0], cpu[1],
         (unsigned long)rte_get_tsc_hz());
  return 0;
}
