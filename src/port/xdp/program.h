/* SPDX-License-Identifier: Apache-2.0
 *
 * The XDP program that hands the frames of an interface's queues to AF_XDP sockets.
 */
#pragma once

#include <stdint.h>

#include "xdp.h"

/* Let the socket have what queue `queue` of the interface receives: with the first of
 * its sockets the program is attached. 0, or a negative errno and pg_xdp_problem(). */
int pg_xdp_join(unsigned interface, uint32_t queue, int socket);

/* Take that back; with the last socket the program goes. */
void pg_xdp_leave(unsigned interface, uint32_t queue);

/* What pg_xdp_problem() is to say, where the kernel refused something else. */
void pg_xdp_refused(const char *why);
