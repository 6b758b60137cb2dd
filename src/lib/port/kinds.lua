-- SPDX-License-Identifier: Apache-2.0
-- The kinds of port that have a name in front of a colon. One entry a kind; the
-- parser, its errors and the help text all come from these entries.
--
-- args: {name=, type=, default=, help=, show= (a value in examples)}; the first may be
-- given without "NAME=" where the kind has `positional`. `driver` and `devargs(port)`
-- are DPDK's driver and its arguments (an array); a kind without them isn't a vdev.
-- Their names: DPDK 22.11's "Network Interface Controllers".

local arguments = require("lib.port.arguments")

-- af_packet's ring, whatever the MTU is. A frame has room for more than the longest
-- packet (10,240 bytes) behind its 66 bytes of headers, so that what the kernel has to
-- cut off (a burst that it hasn't segmented) is dropped by name and not passed on; and
-- it fits in a packet's 10,624 bytes, or the driver won't start. Frames are a multiple
-- of 16 bytes, blocks one of pages and of frames.
local FRAME_BYTES = 10496
local BLOCK_BYTES = 16 * FRAME_BYTES
local FRAMES = 512

-- Of devices that can: packets' checksums and VLAN tags are theirs to make, where an
-- app asks for it (lib.stack.offload). Off, the port does it.
local offload = {name = "offload", type = arguments.flag, default = 0, show = "1",
  help = "1: leave checksums and VLAN tags to the device"}

local kinds = {}

kinds.null = {
  summary = "source and sink: receives zeroed packets, drops what is sent",
  args = {
    {name = "size", type = arguments.integer(14, 10240), default = 60, show = "60",
      help = "bytes of each packet received"},
  },
  driver = "net_null",
  devargs = function(port) return {"size=" .. port.size, "copy=0"} end,
}

kinds.pcap = {
  summary = "capture files: receives from one, sends into another",
  args = {
    {name = "rx", type = arguments.file, show = "FILE",
      help = "pcap or pcapng file to receive from"},
    {name = "tx", type = arguments.file, show = "FILE",
      help = "pcap file to write what is sent to"},
    {name = "loop", type = arguments.flag, default = 0, show = "1",
      help = "1: start the rx file again at its end"},
  },
  one_of = {"rx", "tx"},
  driver = "net_pcap",
  devargs = function(port)
    local list = {}
    if port.rx then list[#list + 1] = "rx_pcap=" .. port.rx end
    if port.tx then list[#list + 1] = "tx_pcap=" .. port.tx end
    if port.loop == 1 then list[#list + 1] = "infinite_rx=1" end
    return list
  end,
}

kinds.ring = {
  summary = "joins two networks of one process",
  positional = true,
  args = {
    {name = "name", type = arguments.name(20), show = "NAME",
      help = "the same name at both ends"},
  },
}

kinds.packet = {
  summary = "a kernel interface by AF_PACKET",
  positional = true,
  args = {
    {name = "iface", type = arguments.interface, show = "IFACE",
      help = "the kernel interface"},
  },
  driver = "net_af_packet",
  devargs = function(port)
    return {"iface=" .. port.iface, "qpairs=1", "blocksz=" .. BLOCK_BYTES,
      "framesz=" .. FRAME_BYTES, "framecnt=" .. FRAMES, "qdisc_bypass=1"}
  end,
}

kinds.xdp = {
  summary = "a kernel interface by AF_XDP",
  positional = true,
  args = {
    {name = "iface", type = arguments.interface, show = "IFACE",
      help = "the kernel interface"},
    {name = "queue", type = arguments.integer(0, 65534), default = 0, show = "N",
      help = "the interface's queue to use"},
  },
  driver = "net_af_xdp",
  devargs = function(port)
    return {"iface=" .. port.iface, "start_queue=" .. port.queue, "queue_count=1"}
  end,
}

kinds.tap = {
  summary = "a TAP interface, made if there is none of that name",
  positional = true,
  args = {
    {name = "name", type = arguments.interface, show = "NAME",
      help = "the TAP interface"},
    offload,
  },
  driver = "net_tap",
  devargs = function(port) return {"iface=" .. port.name} end,
}

kinds.memif = {
  summary = "shared memory with another process (DPDK, VPP, libmemif)",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the control socket"},
    {name = "role", type = arguments.choice {"server", "client"},
      default = "client", show = "server",
      help = "server: make the socket; client: connect to it"},
    {name = "id", type = arguments.integer(0, 4294967295), default = 0, show = "N",
      help = "number of the interface, the same at both ends"},
  },
  driver = "net_memif",
  devargs = function(port)
    return {"role=" .. port.role, ("id=%.0f"):format(port.id),
      "socket=" .. port.socket, "socket-abstract=no"}
  end,
}

kinds.vhost = {
  summary = "the host's end of a virtual machine's network card (vhost-user)",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the vhost-user socket"},
    {name = "client", type = arguments.flag, default = 0, show = "1",
      help = "1: connect to the socket; 0: make it"},
  },
  driver = "net_vhost",
  devargs = function(port)
    return {"iface=" .. port.socket, "queues=1", "client=" .. port.client,
      "linear-buffer=1"}
  end,
}

kinds["virtio-user"] = {
  summary = "the guest's end of a vhost-user socket",
  positional = true,
  args = {
    {name = "socket", type = arguments.socket, show = "PATH",
      help = "the vhost-user socket"},
    {name = "server", type = arguments.flag, default = 0, show = "1",
      help = "1: make the socket; 0: connect to it"},
    offload,
  },
  driver = "net_virtio_user",
  devargs = function(port)
    return {"path=" .. port.socket, "queues=1", "server=" .. port.server}
  end,
}

-- Devices that are there already: a PCI address, or a DPDK port's number.
local devices = {
  pci = {show = "0000:01:00.0", args = {offload}},
  number = {show = "3", args = {offload}},
}

return {
  by_name = kinds,
  devices = devices,
  order = {"null", "pcap", "ring", "packet", "xdp", "tap", "memif", "vhost",
    "virtio-user"},
}
