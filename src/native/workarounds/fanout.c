/* SPDX-License-Identifier: Apache-2.0
 *
 * A setsockopt() of the host binary's own, which DPDK's drivers call in the
 * place of libc's. net_af_packet puts its sockets into a fanout group that
 * reassembles IPv4 fragments (PACKET_FANOUT_FLAG_DEFRAG, packet(7)): frames
 * would arrive that never were on the wire, longer than the MTU, which no port
 * could send on. It has no argument against that, so the flag is taken out
 * here; everything else goes to the kernel as it is.
 */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/if_packet.h>

enum { FANOUT_TYPE_SHIFT = 16 }; /* below it: the number of the group */

int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
  uint32_t fanout;
  if (level == SOL_PACKET && name == PACKET_FANOUT && size == sizeof fanout) {
    memcpy(&fanout, value, sizeof fanout);
    fanout &= ~((uint32_t)PACKET_FANOUT_FLAG_DEFRAG << FANOUT_TYPE_SHIFT);
    value = &fanout;
  }
  return syscall(SYS_setsockopt, fd, level, name, value, size);
}
