-- SPDX-License-Identifier: Apache-2.0
-- Copies what a filter selects from one savefile to another, and prints how much it
-- was.

local memory = require "memory"
local pcap = require "pcap"
local pf = require "pf"

function configure(parser)
  parser:argument("from", "The savefile to read.")
  parser:argument("to", "The savefile to write.")
  parser:argument("filter", "An expression as of tcpdump.")
  parser:option("-s --snap", "Bytes to keep of a packet."):convert(tonumber)
  return parser:parse()
end

function master(args)
  local accepts = pf.compile_filter(args.filter)
  local bufs = memory.createMemPool():bufArray()
  local reader, writer = pcap:newReader(args.from), pcap:newWriter(args.to, 0)
  local selected = 0
  while true do
    local n = reader:read(bufs)
    if n == 0 then break end
    for i = 1, n do
      local buf = bufs[i]
      if accepts(buf:getBytes(), buf:getSize()) then
        selected = selected + 1
        writer:writeBuf(tonumber(buf.udata64) / 10^6, buf, args.snap)
      end
    end
    bufs:free(n)
  end
  reader:close()
  writer:close()
  printf("%d packets selected", selected)
end
