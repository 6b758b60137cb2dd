-- SPDX-License-Identifier: Apache-2.0
-- For test_segmentation.py: cuts up a frame as a packet port does. The file given has a
-- struct virtio_net_hdr and the frame; a line of hexadecimal digits is printed for each
-- packet.

local main = require("core.main")
package.path = main.root .. "/test/lua/?.lua;" .. package.path
local ffi = require("ffi")
local offload = require("testing.offload")

local file = assert(io.open((...), "rb"))
local data = ffi.new("struct testing_offload")
ffi.copy(data, file:read(ffi.sizeof(data)), ffi.sizeof(data))
for _, packet in ipairs(assert(offload.segments(file:read("*a"), data))) do
  print((packet:gsub(".", function (c) return ("%02x"):format(c:byte()) end)))
end
