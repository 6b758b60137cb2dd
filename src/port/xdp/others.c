/* SPDX-License-Identifier: Apache-2.0
 *
 * The XDP program that another process of Perigee has attached to an interface, found by
 * the numbers that the kernel gives programs, maps and links. Whoever has a descriptor of
 * the link keeps the program attached.
 */
#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../../native/api.h"
#include "bpf.h"
#include "xdp.h"

static int open_by_id(int command, uint32_t id)
{
  union bpf_attr attr = {.prog_id = id}; /* the same place for maps and links */
  return pg_bpf(command, &attr);
}

static int describe(int fd, void *info, size_t size)
{
  memset(info, 0, size);
  union bpf_attr attr = {
    .info = {.bpf_fd = fd, .info_len = size, .info = (uintptr_t)info}};
  return pg_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

static void close_quietly(int fd)
{
  int error = errno;
  close(fd);
  errno = error;
}

/* The map of program number `id`, if the program is one of ours. */
static int map_of(uint32_t id)
{
  uint32_t map_id = 0;
  struct bpf_prog_info program;
  struct bpf_map_info map;
  int fd = open_by_id(BPF_PROG_GET_FD_BY_ID, id);
  if (fd < 0)
    return -1;
  int status = describe(fd, &program, sizeof program);
  if (status == 0 && strcmp(program.name, XDP_PROGRAM_NAME) == 0 &&
      program.nr_map_ids == 1) {
    memset(&program, 0, sizeof program);
    program.nr_map_ids = 1;
    program.map_ids = (uintptr_t)&map_id;
    union bpf_attr attr = {.info = {.bpf_fd = fd, .info_len = sizeof program,
                                    .info = (uintptr_t)&program}};
    status = pg_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
  }
  close_quietly(fd);
  if (status < 0)
    return -1;
  errno = EBUSY;
  fd = map_id ? open_by_id(BPF_MAP_GET_FD_BY_ID, map_id) : -1;
  if (fd < 0)
    return -1;
  if (describe(fd, &map, sizeof map) == 0 && map.type == BPF_MAP_TYPE_XSKMAP &&
      strcmp(map.name, XDP_MAP_NAME) == 0)
    return fd;
  close(fd);
  errno = EBUSY;
  return -1;
}

/* The link that attaches program number `id`; -1 and ENOENT if it has just ended. */
static int link_of(uint32_t id)
{
  union bpf_attr attr = {0};
  while (pg_bpf(BPF_LINK_GET_NEXT_ID, &attr) == 0) {
    struct bpf_link_info link;
    int fd = open_by_id(BPF_LINK_GET_FD_BY_ID, attr.next_id);
    if (fd >= 0 && describe(fd, &link, sizeof link) == 0 &&
        link.type == BPF_LINK_TYPE_XDP && link.prog_id == id)
      return fd;
    if (fd >= 0)
      close(fd);
    attr.start_id = attr.next_id;
  }
  return -1;
}

int pg_xdp_of_others(unsigned interface, int *map, int *link)
{
  char name[IF_NAMESIZE];
  uint32_t id = if_indextoname(interface, name) ? pg_iface_xdp_program(name) : 0;
  if (id == 0)
    return 0;
  int found = map_of(id);
  if (found < 0)
    return -1;
  int attached = link_of(id);
  if (attached < 0) {
    close_quietly(found);
    return -1;
  }
  *map = found;
  *link = attached;
  return 1;
}

int pg_xdp_owner(const char *name)
{
  uint32_t id = pg_iface_xdp_program(name);
  if (id == 0)
    return XDP_NOBODYS;
  int map = map_of(id);
  if (map < 0)
    return errno == EPERM ? XDP_UNKNOWN : XDP_ANOTHERS;
  close(map);
  return XDP_PERIGEES;
}
