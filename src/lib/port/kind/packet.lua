-- SPDX-License-Identifier: Apache-2.0
-- packet: a kernel interface by AF_PACKET.

local arguments = require("lib.port.arguments")
local needs = require("lib.port.needs")

-- af_packet's ring, whatever the MTU is. A frame has room for more than the longest
-- packet (10,240 bytes) behind its 66 bytes of headers, so that what the kernel has to
-- cut off (a burst that it hasn't segmented) is dropped by name and not passed on; and
-- it fits in a packet's 10,624 bytes, or the driver won't start. Frames are a multiple
-- of 16 bytes, blocks one of pages and of frames.
local FRAME_BYTES = 10496
local BLOCK_BYTES = 16 * FRAME_BYTES
local FRAMES = 512

return {
  name = "packet", order = 4,
  summary = "a kernel interface by AF_PACKET",
  positional = true,
  args = {
    {name = "iface", type = arguments.interface, show = "IFACE",
      help = "the kernel interface"},
  },
  driver = "net_af_packet",
  devargs = function (port)
    return {"iface=" .. port.iface, "qpairs=1", "blocksz=" .. BLOCK_BYTES,
      "framesz=" .. FRAME_BYTES, "framecnt=" .. FRAMES, "qdisc_bypass=1"}
  end,
  thing = function (port) return "interface/" .. port.iface end,
  check = function (port, roots)
    needs.interface(port, roots)
    needs.capabilities(port, {"CAP_NET_RAW"}, roots)
  end,
  interface = function (port) return port.iface end,
  suits = function () return 2 end,
  tidy = true,
  bench = {order = 6, receive = "packet:pgm0", send = "packet:pgm1", round = 256,
    namespace = "veth"},
}
