-- SPDX-License-Identifier: Apache-2.0
-- The C header that callback libraries of firehose are compiled with, and an example.
-- The interface is that of Snabb's firehose: libraries made with its header work too.

local header = {}

--- The text of firehose.h.
header.text = [[
/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of firehose's callback libraries. Define firehose_packet, and
 * firehose_start and firehose_stop if you want them; or define
 * FIREHOSE_OWN_CALLBACK and the function firehose_callback_v1 yourself.
 */
#ifndef FIREHOSE_H
#define FIREHOSE_H

#include <stdint.h>

/* Before the first packet, and after the last. */
void firehose_start(void);
void firehose_stop(void);

/* One packet, an Ethernet frame of `length` bytes that `port` received. The bytes
 * may be changed, but don't outlive the call. */
void firehose_packet(const char *port, char *data, int length);

/* A receive descriptor: that of Intel's 82599 in its legacy form. Only `length` and
 * `status` matter here. */
struct firehose_rdesc {
  uint64_t address;
  uint16_t length;
  uint16_t cksum;
  uint8_t status; /* bit 0: there is a packet; clear it when you are done with it */
  uint8_t errors;
  uint16_t vlan;
} __attribute__((packed));

/* Called over and over: `ring` has `ring_size` descriptors (a power of two), packet i
 * is at packets[i], and the first one not yet looked at is the one at `index`. Returns
 * the index behind the last one that was looked at. */
int firehose_callback_v1(const char *port, char **packets, struct firehose_rdesc *ring,
                         int ring_size, int index);

#ifndef FIREHOSE_OWN_CALLBACK
int firehose_callback_v1(const char *port, char **packets, struct firehose_rdesc *ring,
                         int ring_size, int index)
{
  for (; ring[index].status & 1; index = (index + 1) & (ring_size - 1)) {
    firehose_packet(port, packets[index], ring[index].length);
    ring[index].status = 0;
  }
  return index;
}
#endif

#endif
]]

--- How to make a library.
header.example = [[
A callback library that counts packets and bytes:

  perigee firehose --print-header > firehose.h
  cat > count.c <<'END'
  #include <stdio.h>
  #include "firehose.h"

  static long packets, bytes;

  void firehose_start(void) { puts("counting"); }

  void firehose_packet(const char *port, char *data, int length)
  {
    packets++;
    bytes += length;
  }

  void firehose_stop(void)
  {
    printf("%ld packets, %ld bytes\n", packets, bytes);
    fflush(stdout);
  }
  END
  gcc -O2 -shared -fPIC -o count.so count.c
  perigee firehose --time 1 --input null ./count.so

In place of `null` any port that `perigee ports` lists can stand, and several of them,
each after --input.
]]

return header
