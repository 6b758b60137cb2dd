-- SPDX-License-Identifier: Apache-2.0

local bit = require("bit")
local ffi = require("ffi")
local packet = require("core.packet")
local C = require("core.declare")("net/classify/rules.h")

local band, bxor = bit.band, bit.bxor
local IP4, UDP, TCP, SCTP, ICMP, VLAN, QINQ = 0x0800, 17, 6, 132, 1, 0x8100, 0x88a8
local RULES = {five = "PG_RULE_FIVE_TUPLE", type = "PG_RULE_ETHERTYPE",
  ptp = "PG_RULE_PTP"}

local function u16(n) return string.char(math.floor(n / 256) % 256, n % 256) end
local function u32(n) return u16(math.floor(n / 65536)) .. u16(n % 65536) end

-- A frame of `f`: tags (a list of EtherTypes), type, and of IPv4 options (words), src,
-- dst, proto, sport, dport, offset (of a fragment), payload.
local function frame(f)
  local text = ("\2"):rep(12)
  for _, tag in ipairs(f.tags or {}) do text = text .. u16(tag) .. u16(5) end
  text = text .. u16(f.type)
  if f.type ~= IP4 then return text .. ("\0"):rep(46) end
  local options = ("\1\1\1\1"):rep(f.options or 0)
  return text .. string.char(0x45 + (f.options or 0), 0) .. u16(0) .. u32(f.offset or 0)
    .. string.char(64, f.proto) .. u16(0) .. u32(f.src) .. u32(f.dst) .. options
    .. u16(f.sport) .. u16(f.dport) .. (f.proto == UDP and u32(0) or "")
    .. (f.payload or "")
end

-- The queue of the first rule for the frame, or nil.
local function queue(rules, text)
  local p = packet.from_string(text)
  local rule = C.pg_rules_find(rules, p)
  packet.free(p)
  return rule ~= nil and rule.queue or nil
end

local function rule(kind, fields)
  fields.kind = C[RULES[kind]]
  return ffi.new("struct pg_rule", fields)
end

local function masked(a, b, mask) return band(bxor(a, b), mask) == 0 end

-- Does the rule, a table, hold for the frame `f`? As the standard's words say it.
local function holds(r, f)
  if f.type ~= IP4 then return false end
  local has_ports = (f.proto == UDP or f.proto == TCP or f.proto == SCTP)
    and (f.offset or 0) == 0
  local sport, dport = has_ports and f.sport or 0, has_ports and f.dport or 0
  return masked(f.src, r.src_ip, r.src_ip_mask)
    and masked(f.dst, r.dst_ip, r.dst_ip_mask)
    and masked(sport, r.src_port, r.src_port_mask)
    and masked(dport, r.dst_port, r.dst_port_mask)
    and masked(f.proto, r.proto, r.proto_mask)
end

local function any(list) return list[math.random(#list)] end

local function random_frame()
  return {type = any{IP4, IP4, IP4, 0x86dd}, tags = any{{}, {VLAN}, {QINQ, VLAN}},
    options = any{0, 0, 3}, proto = any{UDP, TCP, SCTP, ICMP}, src = any{1, 2, 257},
    dst = any{3, 4}, sport = any{7, 8}, dport = any{9, 265}, offset = any{0, 0, 5}}
end

local function random_rule(number)
  return {queue = number, priority = math.random(0, 3),
    src_ip = any{1, 2}, src_ip_mask = any{0, 255, 0xffff},
    dst_ip = any{3, 4}, dst_ip_mask = any{0, 0xffff},
    src_port = any{7, 8, 0}, src_port_mask = any{0, 0xffff},
    dst_port = any{9, 0}, dst_port_mask = any{0, 255, 0xffff},
    proto = any{UDP, TCP}, proto_mask = any{0, 255}}
end

describe("rules", function ()
  local rules
  before_each(function () rules = ffi.new("struct pg_rules") end)

  it("are none at first", function ()
    assert.is_nil(queue(rules, frame{type = 0x1234}))
  end)

  it("choose by five tuples as their fields say, by priority", function ()
    for _ = 1, 300 do
      local list = {}
      rules.n = 0
      for number = 1, 4 do
        list[number] = random_rule(number)
        assert.is_true(C.pg_rules_add(rules, rule("five", list[number])))
      end
      local f, best = random_frame(), nil
      for _, r in ipairs(list) do
        if holds(r, f) and (not best or r.priority > best.priority) then best = r end
      end
      assert(queue(rules, frame(f)) == (best and best.queue), frame(f))
    end
  end)

  it("choose by EtherType behind two tags, not three", function ()
    C.pg_rules_add(rules, rule("type", {what = 0x88f7, queue = 3}))
    assert.equal(3, queue(rules, frame{type = 0x88f7}))
    assert.equal(3, queue(rules, frame{type = 0x88f7, tags = {QINQ, VLAN}}))
    assert.is_nil(queue(rules, frame{type = 0x88f7, tags = {QINQ, VLAN, VLAN}}))
    assert.is_nil(queue(rules, frame{type = 0x88f8}))
  end)

  it("choose by the begin of UDP's payload, also behind options", function ()
    C.pg_rules_add(rules, rule("ptp", {what = 0x0002, queue = 4}))
    local f = {type = IP4, src = 1, dst = 2, proto = UDP, sport = 319, dport = 319,
      payload = "\0\2"}
    assert.equal(4, queue(rules, frame(f)))
    f.options = 2
    assert.equal(4, queue(rules, frame(f)))
    f.payload = "\1\2"
    assert.is_nil(queue(rules, frame(f)))
    f.payload, f.proto = "\0\2", TCP
    assert.is_nil(queue(rules, frame(f)))
  end)

  it("read no byte behind the packet, however it is cut", function ()
    local from_7 = {src_port = 7, src_port_mask = 0xffff, queue = 1}
    C.pg_rules_add(rules, rule("five", from_7))
    local text = frame{type = IP4, src = 1, dst = 2, proto = UDP, sport = 7, dport = 9}
    for n = 0, #text do
      assert.equal(n >= 38 and 1 or nil, queue(rules, text:sub(1, n)))
    end
  end)

  it("are replaced by one with another queue, and are 64 at most", function ()
    for what = 1, 64 do
      assert.is_true(C.pg_rules_add(rules, rule("type", {what = what, queue = 1})))
    end
    assert.is_false(C.pg_rules_add(rules, rule("type", {what = 65, queue = 1})))
    assert.is_true(C.pg_rules_add(rules, rule("type", {what = 7, queue = 2})))
    assert.equal(64, rules.n)
    assert.equal(2, queue(rules, frame{type = 7}))
  end)
end)
