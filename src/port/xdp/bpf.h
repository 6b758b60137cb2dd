/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes and finds the XDP program of AF_XDP ports (bpf(2)).
 */
#pragma once

#include <linux/bpf.h>

/* By these names processes know the program and the map of one another. */
#define XDP_PROGRAM_NAME "perigee"
#define XDP_MAP_NAME "perigee_xsks"

int pg_bpf(int command, union bpf_attr *attr);

/* The program that another process of Perigee has attached to the interface: 1, and
 * descriptors of the map of its sockets and of the link by which it is attached; 0 if
 * none is attached; or -1 and errno: EBUSY if it is somebody else's, EPERM without
 * CAP_SYS_ADMIN. */
int pg_xdp_of_others(unsigned interface, int *map, int *link);
