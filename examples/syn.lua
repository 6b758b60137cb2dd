-- SPDX-License-Identifier: Apache-2.0
-- perigee generate --port PORT --script examples/syn.lua
-- Connection attempts (TCP SYN, RFC 9293) of 65,536 clients to one server.

return {
  stack = "eth,ip4,tcp",
  set = {
    "ip4Src=10.0.0.0..10.0.255.255", "ip4Dst=192.0.2.1",
    "tcpDst=80,443", "tcpSyn=1", "tcpSeqNumber=random",
  },
  size = 72, -- 18 bytes behind the headers for a number and a time
  count = 10000,

  -- Called for each packet, i from 0, with the packet as the stack's type. Lengths and
  -- checksums are set behind it. Make no table and no string here.
  packet = function (pkt, i)
    pkt.tcp:setSrcPort(1024 + i % 64512)
    if i % 100 == 0 then pkt.ip4:setTTL(1) end
  end,
}
