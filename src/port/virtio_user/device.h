/* SPDX-License-Identifier: Apache-2.0
 *
 * A device for one peer of a virtio-user port (device.c), and the connection that
 * it is given instead of making one (connect.c).
 */
#pragma once

#include <stdbool.h>

#include <rte_ether.h>

#include "../../native/api.h"

/* Start a device on the connection `peer` at the socket `path`, which receives into the
 * pool; false if that is no use. `offload`: leave checksums to the peer if it takes
 * that. */
bool pg_vhost_start(struct port *device, const char *path,
                    const struct rte_ether_addr *mac, void *pool, bool offload, int peer);
void pg_vhost_stop(struct port *device);

/* Has the other end of the connection gone? */
bool pg_vhost_has_gone(int fd);

/* Let what this thread connects next be this connection, and note whether the peer
 * answers, until pg_vhost_peer_failed() is called. */
void pg_vhost_peer_give(int fd);

/* The eventfd by which it was told to tell of packets that it has sent, or -1; it is the
 * device's. */
int pg_vhost_peer_call(void);

/* Did the peer not answer, or not take what it was told? */
bool pg_vhost_peer_failed(void);

/* Note what this thread makes for a device (eventfd.c), and one descriptor
 * more; in the end close what is left of it, if the device was `lost`. */
void pg_vhost_note_begin(void);
void pg_vhost_note(int fd);
void pg_vhost_note_end(bool lost);
