-- SPDX-License-Identifier: Apache-2.0
-- Frames for tests of the lwAFTR: of every kind that it treats in a way of its own, and
-- what a fuzzer makes of them. CONF is the configuration they are for, with two places
-- for settings of its interfaces.

local checksum = require("net.checksum.checksum")
local ffi = require("ffi")

local M = {}

M.CONF = [[
softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 5; b4-ipv6 2001:db8::1; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.1; psid 9; b4-ipv6 2001:db8::2; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.2; psid 0; b4-ipv6 2001:db8::3; br-address fc00::200;
      port-set { psid-length 0; } }
    softwire { ipv4 192.0.2.3; psid 1; b4-ipv6 2001:db8::4; br-address fc00::201;
      port-set { psid-length 1; } }
  }
  external-interface { error-rate-limiting { packets 4000000000; } %s }
  internal-interface { error-rate-limiting { packets 4000000000; } %s }
  instance { device test; queue { id 0;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:01;
      next-hop { mac 02:99:99:99:99:04; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:02;
      next-hop { mac 02:99:99:99:99:06; } } } }
}
]]

local function of_lwaftr(a, b) return "\252" .. ("\0"):rep(13) .. string.char(a, b) end

local BR, OTHER_BR = of_lwaftr(2, 0), of_lwaftr(2, 1)

local function b4(n) return "\32\1\13\184" .. ("\0"):rep(11) .. string.char(n) end

-- Address, a port of its softwire, B4, border router.
local SOFTWIRES = {
  {"\192\0\2\1", 5 * 1024 + 7, b4(1), BR}, {"\192\0\2\1", 9 * 1024 + 1, b4(2), BR},
  {"\192\0\2\2", 99, b4(3), BR}, {"\192\0\2\3", 40000, b4(4), OTHER_BR},
}
local PROTOCOL_IP4 = 4
local SHORT = 200 -- bytes
local PEER, LWAFTR4, LWAFTR6 = "\198\51\100\7", "\10\0\1\1", of_lwaftr(1, 0)

local function be16(n) return string.char(math.floor(n / 256) % 256, n % 256) end

local function summed(text, from, at)
  local n = #text - from
  local data = ffi.new("uint8_t[?]", n)
  ffi.copy(data, text:sub(from + 1), n)
  local sum = checksum.of(data, n)
  return text:sub(1, at) .. be16(sum) .. text:sub(at + 3)
end

local ETHERNET = "\2\170\170\170\170\1\2\153\153\153\153\4"

function M.ethernet(kind, payload) return ETHERNET .. be16(kind) .. payload end

--- An IPv4 packet; `o` may have ttl, flags (with the offset), id, tos, options.
function M.ip4(protocol, from, to, payload, o)
  o = o or {}
  local options = o.options or ""
  local header = string.char(0x45 + #options / 4, o.tos or 0)
    .. be16(20 + #options + #payload) .. be16(o.id or 4711) .. be16(o.flags or 0)
    .. string.char(o.ttl or 64, protocol) .. "\0\0" .. from .. to .. options
  return summed(header, 0, 10) .. payload
end

function M.udp(from, to, payload)
  return be16(from) .. be16(to) .. be16(8 + #payload) .. "\0\0" .. payload
end

local function icmp(kind, code, rest, payload)
  return summed(string.char(kind, code) .. "\0\0" .. rest .. payload, 0, 2)
end

--- An IPv6 packet.
function M.ip6(next_header, from, to, payload)
  return "\96\0\0\0" .. be16(#payload) .. string.char(next_header, 64) .. from .. to
    .. payload
end

function M.tunnel(ip4, s) return M.ip6(4, s[3], s[4], ip4) end

local function fragment6(next_header, from, to, payload, at)
  local list = {}
  for first = 0, #payload - 1, at do
    local more = first + at < #payload and 1 or 0
    list[#list + 1] = M.ip6(44, from, to, string.char(next_header, 0)
      .. be16(first + more) .. "\0\0\18\52" .. payload:sub(first + 1, first + at))
  end
  return list
end

--- First fragments of `size` bytes of a datagram with the identification `id`: one from
--- the internet, and one of a tunnel's, by "v4" and "v6".
function M.first_fragments(id, size)
  local s = SOFTWIRES[1]
  local data = M.udp(53, s[2], ("f"):rep(2 * size)):sub(1, size)
  local inner = M.ip4(17, s[1], PEER, data, {id = id})
  local rest = string.char(PROTOCOL_IP4, 0) .. be16(1) .. "\0\0" .. be16(id)
  return {
    v4 = M.ethernet(0x0800, M.ip4(17, PEER, s[1], data, {id = id, flags = 0x2000})),
    v6 = M.ethernet(0x86dd, M.ip6(44, s[3], s[4], rest
      .. inner:sub(1, #inner - #inner % 8))),
  }
end

--- Those of seeds() that are no longer than most headers together.
function M.short_seeds()
  local list = {}
  for _, frame in ipairs(M.seeds()) do
    if #frame <= SHORT then list[#list + 1] = frame end
  end
  return list
end

--- A list of frames of all kinds, sound ones.
function M.seeds()
  local list = {}
  local function v4(p) list[#list + 1] = M.ethernet(0x0800, p) end
  local function v6(p) list[#list + 1] = M.ethernet(0x86dd, p) end
  for i, s in ipairs(SOFTWIRES) do
    local other = SOFTWIRES[i % #SOFTWIRES + 1]
    for _, size in ipairs{0, 20, 460, 1240, 1400, 1452} do
      local data = ("x"):rep(size)
      v4(M.ip4(17, PEER, s[1], M.udp(53, s[2], data)))
      v4(M.ip4(6, PEER, s[1], M.udp(443, s[2], data), {tos = 46, flags = 0x4000}))
      v6(M.tunnel(M.ip4(17, s[1], PEER, M.udp(s[2], 53, data)), s))
      v6(M.tunnel(M.ip4(17, s[1], other[1], M.udp(s[2], other[2], data)), s))
    end
    v4(M.ip4(17, PEER, s[1], M.udp(53, s[2], "options"), {options = "\148\4\0\0"}))
    v4(M.ip4(17, PEER, s[1], M.udp(53, s[2], "old"), {ttl = 1}))
    v4(M.ip4(17, PEER, s[1], M.udp(53, s[2] + 1024 * 3, "nobody")))
    v4(M.ip4(1, PEER, s[1], icmp(8, 0, be16(s[2]) .. "\0\1", "ping")))
    v4(M.ip4(1, PEER, s[1], icmp(0, 0, be16(s[2]) .. "\0\1", "pong")))
    local lost = M.ip4(17, s[1], PEER, M.udp(s[2], 9, "lost"))
    v4(M.ip4(1, PEER, s[1], icmp(3, 3, "\0\0\0\0", lost)))
    v6(M.tunnel(M.ip4(1, s[1], PEER, icmp(8, 0, be16(s[2]) .. "\0\1", "ping")), s))
    v6(M.tunnel(M.ip4(17, s[1], other[1], M.udp(s[2], other[2], "old"), {ttl = 1}), s))
    v6(M.tunnel(M.ip4(17, s[1], PEER, M.udp(s[2], 53, "wrong way")), other))
    v6(M.tunnel(M.ip4(17, s[1], PEER, M.udp(s[2], 53, "part"), {flags = 0x2000}), s))
    v6(M.tunnel(M.tunnel(lost, s), s))
    for _, part in ipairs(fragment6(4, s[3], s[4], lost .. ("y"):rep(100), 64)) do
      v6(part)
    end
    local whole = M.udp(53, s[2], ("z"):rep(200))
    v4(M.ip4(17, PEER, s[1], whole:sub(1, 128), {flags = 0x2000}))
    v4(M.ip4(17, PEER, s[1], whole:sub(129), {flags = 16}))
    local sent = M.ip4(17, PEER, s[1], M.udp(53, s[2], "lost"))
    for _, kind in ipairs{{1, 3}, {2, 0}, {3, 0}, {128, 0}} do
      v6(M.ip6(58, b4(99), s[4], string.char(kind[1], kind[2]) .. "\0\0\0\0\5\0"
        .. M.tunnel(sent, {nil, nil, s[4], s[3]})))
    end
  end
  v4(M.ip4(1, PEER, LWAFTR4, icmp(8, 0, "\0\1\0\1", "ping")))
  v4(M.ip4(17, PEER, LWAFTR4, M.udp(1, 2, "for us")))
  v6(M.ip6(17, b4(1), LWAFTR6, M.udp(1, 2, "for us")))
  list[#list + 1] = M.ethernet(0x0806, "\0\1\8\0\6\4\0\1\2\153\153\153\153\4\10\0\1\2"
    .. ("\0"):rep(6) .. LWAFTR4)
  -- The next hop answers our ARP request.
  list[#list + 1] = M.ethernet(0x0806, "\0\1\8\0\6\4\0\2\2\153\153\153\153\4\10\0\1\2"
    .. "\2\170\170\170\170\1" .. LWAFTR4)
  return list
end

--- The frame as it is, or with up to three bytes changed, or cut short, or longer. ARP
--- stays sound: when the next hop's address changes depends on the order of packets.
function M.mutated(frame)
  local dice = math.random(10)
  if dice <= 4 or frame:sub(13, 14) == "\8\6" then return frame end
  if dice == 5 then return frame:sub(1, math.random(14, #frame)) end
  if dice == 6 then return frame .. ("\0"):rep(math.random(1, 40)) end
  for _ = 1, math.random(3) do
    local at = math.random(math.random() < 0.9 and math.min(#frame, 100) or #frame)
    local byte = string.char(math.random(0, 255))
    frame = frame:sub(1, at - 1) .. byte .. frame:sub(at + 1)
  end
  return frame
end

return M
