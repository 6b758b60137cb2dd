/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lua/pcap.lua in C: the file to read is mapped into memory, and each packet
 * copied into an mbuf; packets to write are copied into a buffer of 1 MB, which goes
 * into the file when it is full.
 *
 *   pcap read FILE SECONDS EAL-ARGUMENTS...
 *   pcap write FILE SECONDS EAL-ARGUMENTS...
 *   pcap copy FROM TO EAL-ARGUMENTS...
 *
 * Prints one line: packets, CPU seconds, TSC Hz.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

enum { BURST = 256, FILE_HEADER = 24, RECORD_HEADER = 16, SIZE = 60 };
enum { BUFFER = 1 << 20 };

static const uint8_t *file, *at, *end;
static uint8_t buffer[BUFFER];
static size_t used;
static int out = -1;

static void map(const char *path)
{
  struct stat st;
  int fd = open(path, O_RDONLY);
  check(fd >= 0 && fstat(fd, &st) == 0, path);
  file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  check(file != MAP_FAILED, "mmap");
  at = file + FILE_HEADER;
  end = file + st.st_size;
}

/* Up to a burst of the file's packets. */
static uint16_t read_burst(struct rte_mempool *pool, struct rte_mbuf **packets)
{
  uint16_t n = 0;
  check(rte_pktmbuf_alloc_bulk(pool, packets, BURST) == 0, "packets");
  for (; n < BURST && end - at >= RECORD_HEADER; n++) {
    uint32_t captured;
    memcpy(&captured, at + 8, sizeof captured);
    check(captured <= end - at - RECORD_HEADER &&
            captured <= rte_pktmbuf_tailroom(packets[n]), "file");
    memcpy(rte_pktmbuf_append(packets[n], captured), at + RECORD_HEADER, captured);
    at += RECORD_HEADER + captured;
  }
  rte_pktmbuf_free_bulk(packets + n, BURST - n);
  return n;
}

static void flush(void)
{
  check(write(out, buffer, used) == (ssize_t)used, "write");
  used = 0;
}

static void write_burst(struct rte_mbuf **packets, uint16_t n)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  for (uint16_t i = 0; i < n; i++) {
    uint32_t length = packets[i]->data_len;
    uint32_t header[4] = {t.tv_sec, t.tv_nsec, length, length};
    if (used + RECORD_HEADER + length > BUFFER)
      flush();
    memcpy(buffer + used, header, sizeof header);
    memcpy(buffer + used + RECORD_HEADER, rte_pktmbuf_mtod(packets[i], void *), length);
    used += RECORD_HEADER + length;
  }
}

/* A burst as the null port gives it. */
static uint16_t make_burst(struct rte_mempool *pool, struct rte_mbuf **packets)
{
  check(rte_pktmbuf_alloc_bulk(pool, packets, BURST) == 0, "packets");
  for (int i = 0; i < BURST; i++)
    packets[i]->data_len = packets[i]->pkt_len = SIZE;
  return BURST;
}

int main(int argc, char **argv)
{
  struct rte_mbuf *packets[BURST];
  check(argc > 4, "usage: pcap read|write|copy FILE SECONDS|TO EAL-ARGUMENTS...; that");
  bool reads = strcmp(argv[1], "write") != 0, writes = strcmp(argv[1], "read") != 0;
  bool once = reads && writes;
  double seconds = once ? 1e9 : atof(argv[3]);
  check(rte_eal_init(argc - 3, argv + 3) >= 0, "starting EAL");
  struct rte_mempool *pool = make_pool();
  if (reads)
    map(argv[2]);
  if (writes)
    out = open(once ? argv[3] : argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  check(!writes || out >= 0, "opening the file to write");
  uint64_t count = 0;
  bool ended = false;
  double start = cpu_seconds();
  while (!ended && cpu_seconds() - start < seconds)
    for (int round = 0; round < 1000 && !ended; round++) {
      uint16_t n = reads ? read_burst(pool, packets) : make_burst(pool, packets);
      ended = n == 0 && once;
      if (n == 0)
        at = file + FILE_HEADER;
      if (writes)
        write_burst(packets, n);
      rte_pktmbuf_free_bulk(packets, n);
      count += n;
    }
  if (writes)
    flush();
  print_result(count, cpu_seconds() - start);
  return 0;
}
