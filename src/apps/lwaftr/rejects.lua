-- SPDX-License-Identifier: Apache-2.0
-- What becomes of packets that don't go through the lwAFTR: they are counted, dropped,
-- and answered with ICMP errors where policies and limits let it (RFC 7596, sections
-- 6.2 and 8.1; RFC 2473, sections 7 and 8).

local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local counter = require("core.counter")
local counters = require("apps.lwaftr.counters")
local engine = require("core.app")
local ffi = require("ffi")
local icmp = require("apps.lwaftr.icmp")
local wire = require("net.wire.bytes")

local rejects = {}

local add, read16, read32 = counters.add, wire.read16, wire.read32
local ETHERNET, IP4, IP6, ICMP = 14, 20, 40, 8 -- bytes
local PROTOCOL_ICMP = 1

-- From the internet ----------------------------------------------------------

-- A hairpinned packet counts as the IPv6 packet that it came in.
local function drop4(app, p, hairpinned)
  if hairpinned then
    add(app.shm, "drop-all-ipv6-iface", p.length + IP6)
  else
    add(app.shm, "drop-all-ipv4-iface", p.length)
  end
  app:drop(p)
end

-- Errors for B4s go through their tunnels; they count as neither IPv4 nor hairpinned.
local function send_error4(app, e)
  if not app.limit4:allow(tonumber(engine.now())) then
    add(app.shm, "drop-over-rate-limit-icmpv4", e.length)
    return app:drop(e)
  end
  add(app.shm, "out-icmpv4-error", e.length)
  if C.pg_lwaftr_is_managed(app.path, read32(e.data + ETHERNET + 16)) then
    return app:turn_back(e)
  end
  add(app.shm, "out-ipv4", e.length)
  app:send4(e)
end

-- Drop `p` and answer it, if that is wanted.
local function answer4(app, p, hairpinned, kind, mtu)
  if not app.errors4 then
    counter.add(app.shm["drop-out-by-policy-icmpv4-packets"])
    return drop4(app, p, hairpinned)
  end
  local e = icmp.error4(app.ip, p.data + ETHERNET + 12, p, ETHERNET, kind, mtu)
  drop4(app, p, hairpinned)
  send_error4(app, e)
end

local function no_softwire4(app, p, hairpinned)
  add(app.shm, "drop-no-dest-softwire-ipv4", p.length)
  if app.errors4 and p.data[ETHERNET + 9] == PROTOCOL_ICMP then
    add(app.shm, "drop-in-by-rfc7596-icmpv4", p.length) -- RFC 7596, section 8.1
    return drop4(app, p, hairpinned)
  end
  answer4(app, p, hairpinned, icmp.HOST_UNREACHABLE)
end

local function dropped4(name)
  return function (app, p, hairpinned)
    add(app.shm, name, p.length)
    drop4(app, p, hairpinned)
  end
end

local TO_B4 = {
  [C.PATH_MISPLACED] = dropped4("drop-misplaced-not-ipv4"),
  [C.PATH_ICMP_POLICY] = dropped4("drop-in-by-policy-icmpv4"),
  [C.PATH_BAD_CHECKSUM] = dropped4("drop-bad-checksum-icmpv4"),
  [C.PATH_INVALID] = dropped4("drop-no-dest-softwire-ipv4"), -- RFC 1812, 4.3.2.7
  [C.PATH_FRAGMENT] = function (app, p, hairpinned)
    counter.add(app.shm["drop-ipv4-frag-disabled"])
    drop4(app, p, hairpinned)
  end,
  [C.PATH_NO_SOFTWIRE] = no_softwire4,
  [C.PATH_EXPIRED] = function (app, p, hairpinned)
    add(app.shm, "drop-ttl-zero-ipv4", p.length)
    answer4(app, p, hairpinned, icmp.EXPIRED)
  end,
  [C.PATH_TOO_BIG] = function (app, p, hairpinned)
    add(app.shm, "drop-over-mtu-but-dont-fragment-ipv4", p.length)
    answer4(app, p, hairpinned, icmp.TOO_BIG, app.path.mtu - IP6) -- RFC 2473, 7.2
  end,
}

--- A packet from the internet, or a hairpinned one, that C didn't encapsulate.
function rejects.to_b4(app, p, result, hairpinned)
  TO_B4[result](app, p, hairpinned)
end

-- From B4s -------------------------------------------------------------------

local function drop6(app, p)
  add(app.shm, "drop-all-ipv6-iface", p.length)
  app:drop(p)
end

local function dropped6(name)
  return function (app, p)
    add(app.shm, name, p.length)
    drop6(app, p)
  end
end

local function send_error6(app, e)
  if not app.limit6:allow(tonumber(engine.now())) then
    add(app.shm, "drop-over-rate-limit-icmpv6", e.length)
    return app:drop(e)
  end
  add(app.shm, "out-icmpv6-error", e.length)
  add(app.shm, "out-ipv6", e.length)
  app:send6(e)
end

local br = ffi.new("uint8_t[16]")

-- The error comes from the border router of the address's softwire, if there is one,
-- else from whom the packet was sent to.
local function no_softwire6(app, p, result)
  add(app.shm, "drop-no-source-softwire-ipv6", p.length)
  add(app.shm, "drop-all-ipv6-iface", p.length)
  if not app.errors6 then
    counter.add(app.shm["drop-out-by-policy-icmpv6-packets"])
    return app:drop(p)
  end
  local ip = p.data + ETHERNET
  local known = result == C.PATH_OTHER_ENDS and C.pg_lwaftr_br(app.path, p, br)
  local e = icmp.error6(known and br or ip + 24, ip + 8, p, icmp.POLICY6)
  app:drop(p)
  send_error6(app, e)
end

local UNREACHABLE, PACKET_TOO_BIG, TIME_EXCEEDED, PARAMETER_PROBLEM = 1, 2, 3, 4
local EMBEDDED4 = ETHERNET + IP6 + ICMP + IP6 -- offset of the IPv4 packet of an error

-- An error from within a tunnel becomes one for the sender of the packet in it (RFC
-- 2473, section 8).
local function icmp6(app, p)
  local message = p.data + ETHERNET + IP6
  if p.length < EMBEDDED4 + IP4 then
    add(app.shm, "drop-unknown-protocol-icmpv6", p.length)
    return drop6(app, p)
  end
  local type, code = message[0], message[1]
  local kind, mtu = icmp.HOST_UNREACHABLE, nil
  if type == PACKET_TOO_BIG then
    if code ~= 0 then
      add(app.shm, "drop-too-big-type-but-not-code-icmpv6", p.length)
      return drop6(app, p)
    end
    kind, mtu = icmp.TOO_BIG, math.max(0, read16(message + 6) - IP6)
  elseif type == TIME_EXCEEDED and code ~= 0 then
    add(app.shm, "drop-over-time-but-not-hop-limit-icmpv6", p.length)
    return drop6(app, p)
  elseif type < UNREACHABLE or type > PARAMETER_PROBLEM then
    add(app.shm, "drop-unknown-protocol-icmpv6", p.length)
    return drop6(app, p)
  end
  local e = icmp.error4(app.ip, p.data + EMBEDDED4 + 12, p, EMBEDDED4, kind, mtu)
  app:drop(p)
  send_error4(app, e)
end

local FROM_B4 = {
  [C.PATH_MISPLACED] = dropped6("drop-misplaced-not-ipv6"),
  [C.PATH_ICMP_POLICY] = dropped6("drop-in-by-policy-icmpv6"),
  [C.PATH_UNKNOWN_PROTOCOL] = dropped6("drop-unknown-protocol-ipv6"),
  [C.PATH_INVALID] = dropped6("drop-no-source-softwire-ipv6"),
  [C.PATH_FRAGMENT] = function (app, p)
    counter.add(app.shm["drop-ipv6-frag-disabled"])
    drop6(app, p)
  end,
  [C.PATH_NO_SOFTWIRE] = no_softwire6,
  [C.PATH_OTHER_ENDS] = no_softwire6,
  [C.PATH_ICMP6] = icmp6,
}

--- A packet from a B4 that C didn't decapsulate.
function rejects.from_b4(app, p, result)
  FROM_B4[result](app, p, result)
end

return rejects
