-- SPDX-License-Identifier: Apache-2.0
-- Against a list of bytes: which fragments are there, and what a datagram is made of.

local ffi = require("ffi")
local C = require("core.declare")("net/fragment/fragment.h")
local reassembly = require("net.fragment.reassembly")
local packet = require("core.packet")

local RANGES, ROOM = 40, 56
local datagram_t = ffi.typeof(
  "struct { struct datagram d; struct fragment_range ranges[?]; }")
local PENDING, COMPLETE, INVALID, TOO_LONG = C.REASSEMBLY_PENDING,
  C.REASSEMBLY_COMPLETE, C.REASSEMBLY_INVALID, C.REASSEMBLY_TOO_LONG

local function datagram(overlaps)
  local d = datagram_t(RANGES)
  d.d.total, d.d.most, d.d.overlaps = -1, RANGES, overlaps
  return {d = d, to = ffi.new("uint8_t[?]", ROOM), bytes = {}, seen = {}, reached = 0}
end

-- What pg_datagram_add must say, by the list of bytes, which is as new then.
local function expected(m, overlaps, text, first, more)
  local last = first + #text
  if more and (#text == 0 or #text % 8 > 0)
      or not more and #text == 0 and first > 0 then
    return INVALID
  elseif m.total and last > m.total or not more and last < m.reached then return INVALID
  elseif not more and m.total and not (overlaps and last == m.total) then return INVALID
  elseif last > ROOM then return TOO_LONG end
  if not overlaps then
    for i = first, last - 1 do
      if m.bytes[i] then
        return more and m.seen[first] == last and PENDING or INVALID
      end
    end
    m.seen[first] = last
  end
  for i = first, last - 1 do m.bytes[i] = text:byte(i - first + 1) end
  m.reached = math.max(m.reached, last)
  if not more then m.total = last end
  for i = 0, (m.total or 0) - 1 do if not m.bytes[i] then return PENDING end end
  return m.total and COMPLETE or PENDING
end

local function random_fragment()
  local first, more = math.random(0, 6) * 8, math.random(6) > 1
  local size = math.random(20) == 1 and math.random(0, 30) or math.random(1, 2) * 8
  return string.char(math.random(0, 255)):rep(size), first, more
end

describe("fragments of a datagram", function ()
  for _, overlaps in ipairs{false, true} do
    it("are there as in a list of bytes, overlaps " .. tostring(overlaps), function ()
      math.randomseed(11)
      local met = {[PENDING] = 0, [COMPLETE] = 0, [INVALID] = 0, [TOO_LONG] = 0}
      for round = 1, 500 do
        local m = datagram(overlaps)
        for step = 1, math.random(1, RANGES) do
          local text, first, more = random_fragment()
          local want = expected(m, overlaps, text, first, more)
          local got = C.pg_datagram_add(m.d.d, m.to, text, first, #text, more, ROOM)
          local wrong = got ~= want and ("said %d, not %d"):format(got, want)
          for i = 0, m.reached - 1 do
            if m.to[i] ~= (m.bytes[i] or overlaps and 0 or m.to[i]) then
              wrong = ("byte %d is %d"):format(i, m.to[i])
            end
          end
          if wrong then
            error(("round %d, fragment %d: %s"):format(round, step, wrong))
          end
          met[got] = met[got] + 1
          if got == COMPLETE then break end
        end
      end
      for result, times in pairs(met) do
        assert(times > 20, ("%d: only %d times"):format(result, times))
      end
    end)
  end

  it("are at most so many", function ()
    local m, room = datagram(false), RANGES * 8 + 8
    local to = ffi.new("uint8_t[?]", room)
    local function add(i)
      return C.pg_datagram_add(m.d.d, to, "12345678", i * 8, 8, true, room)
    end
    for i = 1, RANGES do assert.equal(PENDING, add(i)) end
    assert.equal(INVALID, add(0))
  end)

  it("are one range where they touch, if they may overlap", function ()
    local m = datagram(true)
    local function add(first)
      C.pg_datagram_add(m.d.d, m.to, "12345678", first, 8, true, ROOM)
    end
    local function ranges()
      local list = {}
      for i = 1, m.d.d.count do
        list[i] = {m.d.ranges[i - 1].first, m.d.ranges[i - 1].last}
      end
      return list
    end
    add(0)
    add(32)
    add(16)
    assert.same({{0, 8}, {16, 24}, {32, 40}}, ranges())
    add(24)
    assert.same({{0, 8}, {16, 40}}, ranges())
    add(8)
    assert.same({{0, 40}}, ranges())
  end)

  it("aren't shorter than nothing", function ()
    local m = datagram(true)
    assert.equal(INVALID, C.pg_datagram_add(m.d.d, m.to, "", 0, -8, true, ROOM))
    assert.equal(INVALID, C.pg_datagram_add(m.d.d, m.to, "", 0, -8, false, ROOM))
  end)
end)

describe("datagrams that wait", function ()
  local function add(r, key, now, text, first, more, headers)
    headers = headers or ""
    return r:add(ffi.new("uint32_t[1]", key), now, text, first, #text, more, headers,
      #headers)
  end

  it("become packets with the headers of the first fragment", function ()
    local r = reassembly.new("uint32_t[1]", 10, 3, 60)
    add(r, 1, 0, "world", 8, false, "IP of the last")
    assert.equal(reassembly.COMPLETE, (add(r, 1, 0, "hello, a", 0, true, "IP")))
    local p = r:packet()
    assert.equal("IPhello, aworld", ffi.string(p.data, p.length))
    packet.free(p)
    assert.equal(0, r:count())
  end)

  it("go when they are too old, the oldest first for another", function ()
    local r = reassembly.new("uint32_t[1]", 10, 3, 60)
    for key = 1, 12 do
      assert.same({PENDING, key > 10}, {add(r, key, key, "12345678", 0, true, "IP")})
    end
    -- It is as old as before.
    assert.equal(PENDING, (add(r, 3, 100, "12345678", 16, true)))
    assert.equal(10, r:count())
    assert.equal(1, r:expire(63, 100)) -- of 3
    assert.equal(4, r:expire(70, 4))
    assert.equal(5, r:count())
  end)

  it("end with a fragment that can't be, or whose headers are too long", function ()
    local r = reassembly.new("uint32_t[1]", 10, 3, 60)
    add(r, 1, 0, "12345678", 0, true, "IP")
    assert.equal(reassembly.INVALID, (add(r, 1, 0, "1234567", 8, true)))
    assert.equal(reassembly.INVALID, (add(r, 1, 0, "x", 0, false, ("h"):rep(81))))
    local most = packet.max_payload
    assert.equal(reassembly.INVALID, (add(r, 1, 0, ("x"):rep(most), 0, false, "h")))
    -- Together they are longer than a packet can be.
    local last = most - most % 8
    add(r, 1, 0, ("x"):rep(most - last + 8), last - 8, false)
    assert.equal(1, r:count())
    assert.equal(reassembly.INVALID, (add(r, 1, 0, ("x"):rep(last - 8), 0, true, "h")))
    assert.equal(0, r:count())
    assert.equal(reassembly.COMPLETE,
      (add(r, 1, 0, ("x"):rep(most - 1), 0, false, "h")))
    packet.free(r:packet())
  end)
end)
