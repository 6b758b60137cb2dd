/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose process is at the other end of a TCP connection on this machine, as the kernel
 * says it for this one connection (sock_diag(7)): /proc/net/tcp has a line for each.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../api.h"

struct request { struct nlmsghdr head; struct inet_diag_req_v2 body; };

/* The end `at` of a connection to `to`; 0, or an errno. */
static int ask(int netlink, const struct sockaddr_in *at, const struct sockaddr_in *to,
               struct inet_diag_msg *answer)
{
  struct request r = {
    .head = {.nlmsg_len = sizeof r, .nlmsg_type = SOCK_DIAG_BY_FAMILY,
             .nlmsg_flags = NLM_F_REQUEST},
    .body = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP,
             .idiag_states = ~0U,
             .id = {.idiag_sport = at->sin_port, .idiag_dport = to->sin_port,
                    .idiag_src = {at->sin_addr.s_addr},
                    .idiag_dst = {to->sin_addr.s_addr},
                    .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
  };
  union { struct nlmsghdr head; char bytes[4096]; } reply;
  if (send(netlink, &r, sizeof r, 0) != sizeof r)
    return errno;
  ssize_t n = recv(netlink, &reply, sizeof reply, MSG_DONTWAIT);
  if (n < (ssize_t)sizeof reply.head || reply.head.nlmsg_len > (size_t)n)
    return EIO;
  void *body = NLMSG_DATA(&reply.head);
  size_t size = reply.head.nlmsg_len - NLMSG_HDRLEN;
  if (reply.head.nlmsg_type == NLMSG_ERROR && size >= sizeof(struct nlmsgerr))
    return -((struct nlmsgerr *)body)->error;
  if (reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < sizeof *answer)
    return EIO;
  memcpy(answer, body, sizeof *answer);
  return 0;
}

/* The user id of the process with the other end of the connection `fd`; -1 if there is
 * none on this machine, or it has closed it: the kernel calls such an end root's. -2: it
 * doesn't say. */
int64_t pg_peer_user(int fd)
{
  struct sockaddr_in own, other;
  struct inet_diag_msg answer;
  socklen_t size = sizeof own, other_size = sizeof other;
  if (getsockname(fd, (struct sockaddr *)&own, &size) < 0 ||
      getpeername(fd, (struct sockaddr *)&other, &other_size) < 0 ||
      own.sin_family != AF_INET || other.sin_family != AF_INET)
    return -1;
  int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0)
    return -2;
  int error = ask(netlink, &other, &own, &answer);
  int64_t user = error ? -1 : answer.idiag_inode == 0 ? -1 : (int64_t)answer.idiag_uid;
  if (error && ask(netlink, &own, &other, &answer) != 0)
    user = -2; /* of this end, which is there, it says nothing either */
  close(netlink);
  return user;
}
