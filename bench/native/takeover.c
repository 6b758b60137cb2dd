/* SPDX-License-Identifier: Apache-2.0
 *
 * takeover IFACE IFACE [PID]: the least that takes over from a process: with a PID it
 * waits on that one's pidfd (pidfd_open(2)), then opens AF_PACKET sockets on both
 * interfaces and passes frames between them. `bench/run takeover` measures Perigee beside it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

enum { LONGEST = 65536 };

static int open_socket(const char *name)
{
  int on = 1, fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                .sll_protocol = htons(ETH_P_ALL),
                                .sll_ifindex = (int)if_nametoindex(name)};
  struct packet_mreq all = {.mr_ifindex = address.sll_ifindex,
                            .mr_type = PACKET_MR_PROMISC};
  if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
      bind(fd, (struct sockaddr *)&address, sizeof address) ||
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all)) {
    perror(name);
    exit(1);
  }
  return fd;
}

int main(int argc, char **argv)
{
  static char frame[LONGEST];
  if (argc < 3)
    return 2;
  if (argc > 3) {
    int other = (int)syscall(SYS_pidfd_open, atoi(argv[3]), 0);
    puts("ready");
    fflush(stdout);
    poll(&(struct pollfd){.fd = other, .events = POLLIN}, 1, -1);
  }
  struct pollfd fds[] = {{.fd = open_socket(argv[1]), .events = POLLIN},
                         {.fd = open_socket(argv[2]), .events = POLLIN}};
  puts("runs");
  fflush(stdout);
  for (;;) {
    poll(fds, 2, -1);
    for (int i = 0; i < 2; i++) {
      if (!fds[i].revents)
        continue;
      ssize_t n = recv(fds[i].fd, frame, sizeof frame, MSG_DONTWAIT);
      if (n > 0 && send(fds[1 - i].fd, frame, (size_t)n, 0) < 0)
        continue;
    }
  }
}
