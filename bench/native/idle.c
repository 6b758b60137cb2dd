/* SPDX-License-Identifier: Apache-2.0
 *
 * For bench/run idle: `idle echo IFACE` sends every frame back, as a C program would that
 * sleeps in epoll and takes what there is by recvmmsg; `idle ask IFACE RATE SECONDS` sends
 * so many frames a second, and prints how many it sent, how many came back, and the
 * median, 99th and 99.9th percentile of the round trips in microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

enum { BURST = 32, LONGEST = 2048, FRAME = 60, TYPE = 0x88b6 };

static _Noreturn void fail(const char *what)
{
  perror(what);
  exit(1);
}

static int open_socket(const char *name)
{
  int one = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                           .sll_ifindex = (int)if_nametoindex(name)};
  if (fd < 0 || at.sll_ifindex == 0)
    fail(name);
  setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
  setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0)
    fail("bind");
  return fd;
}

static void echo(int fd)
{
  static uint8_t frames[BURST][LONGEST];
  struct iovec parts[BURST];
  struct mmsghdr messages[BURST] = {0};
  struct epoll_event event = {.events = EPOLLIN};
  int set = epoll_create1(0);
  if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) < 0)
    fail("epoll");
  for (int i = 0; i < BURST; i++) {
    parts[i] = (struct iovec){frames[i], LONGEST};
    messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
  }
  for (;;) {
    int n = recvmmsg(fd, messages, BURST, 0, NULL);
    if (n <= 0) {
      epoll_wait(set, &event, 1, -1);
      continue;
    }
    for (int i = 0; i < n; i++)
      parts[i].iov_len = messages[i].msg_len;
    sendmmsg(fd, messages, n, 0);
    for (int i = 0; i < n; i++)
      parts[i].iov_len = LONGEST;
  }
}

static int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

struct asked { uint8_t header[14]; int64_t sent; uint8_t rest[FRAME - 22]; }
  __attribute__((packed));

static uint32_t take(int fd, double *times, uint32_t n, uint32_t most)
{
  struct asked frame;
  while (n < most && recv(fd, &frame, sizeof frame, 0) >= (ssize_t)sizeof frame)
    if (frame.header[12] == TYPE >> 8 && frame.header[13] == (TYPE & 0xff))
      times[n++] = (now_ns() - frame.sent) / 1e3;
  return n;
}

static void ask(int fd, double rate, double seconds)
{
  uint32_t most = rate * seconds, sent = 0, came = 0;
  double *times = calloc(most + 1, sizeof *times);
  struct asked frame = {.header = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, TYPE >> 8,
                                   TYPE & 0xff}};
  int64_t began = now_ns(), ends = began + (seconds + 0.5) * 1e9;
  prctl(PR_SET_TIMERSLACK, 1000);
  while (came < most && now_ns() < ends) {
    int64_t due = sent < most ? began + (int64_t)(sent * 1e9 / rate) : ends;
    int64_t left = due - now_ns();
    if (left <= 0) {
      frame.sent = now_ns();
      if (send(fd, &frame, sizeof frame, 0) < 0 && errno != ENOBUFS)
        fail("send");
      sent++;
    } else {
      struct pollfd wait = {.fd = fd, .events = POLLIN};
      struct timespec t = {left / 1000000000, left % 1000000000};
      ppoll(&wait, 1, &t, NULL);
    }
    came = take(fd, times, came, most);
  }
  if (came == 0)
    fail("nothing came back");
  qsort(times, came, sizeof *times, compare);
  printf("%u %u %.2f %.2f %.2f\n", sent, came, times[came / 2],
         times[(uint32_t)(came * 0.99)], times[(uint32_t)(came * 0.999)]);
  free(times);
}

int main(int argc, char **argv)
{
  if (argc == 3 && strcmp(argv[1], "echo") == 0)
    echo(open_socket(argv[2]));
  else if (argc == 5 && strcmp(argv[1], "ask") == 0)
    ask(open_socket(argv[2]), atof(argv[3]), atof(argv[4]));
  else
    fputs("usage: idle echo IFACE | idle ask IFACE RATE SECONDS\n", stderr);
  return argc != 5;
}
