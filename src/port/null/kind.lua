-- SPDX-License-Identifier: Apache-2.0
-- null: source and sink, without I/O.

local arguments = require("lib.port.arguments")

return {
  name = "null", order = 1,
  summary = "source and sink: receives packets of any bytes, drops what is sent",
  args = {
    {name = "size", type = arguments.integer(14, 10240), default = 60, show = "60",
      help = "bytes of each packet received"},
  },
  driver = "net_null",
  takes_shared = true,
  devargs = function (port) return {"size=" .. port.size, "copy=0"} end,
  received_bytes = function (port, packets) return packets * port.size end,
  has_queues = true, -- the queues all have packets of their own
  by_flow = true,
  always_ready = true,
  bench = {order = 1, receive = "null:size=%d",
    testpmd = {device = "--vdev net_null0,size=60,copy=0", more = ""}},
}
