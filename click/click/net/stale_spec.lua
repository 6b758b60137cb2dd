-- SPDX-License-Identifier: Apache-2.0
-- What an element has written is read behind it, by compiled code that has read the
-- same bytes before, in another width (doc/jit.md; click.net.wire).

local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

local halves_t, words_t = ffi.typeof("uint16_t *"), ffi.typeof("int32_t *")
local BYTES = ("\69\0\0\60\0\0\0\0\64\17\0\0\10\0\0\1\10\0\0\2"):rep(4)
local ROUNDS = 400

-- The elements, and which bytes to look at: where they begin, counted from the packet's
-- first one before the element, and how many.
local CASES = {
  {"StoreData(4, ab, \\<ff00>)", 0, 8}, {"StoreData(4, abc)", 0, 8},
  {"MoveData(0, 8, 4)", 0, 8}, {"NumberPacket(8)", 8, 8},
  {"RandomBitErrors(1)", 0, 8}, {"VLANEncap(5)", -4, 20}, {"VLANDecap", 0, 16},
  {"EtherEncap(0x0800, 1:2:3:4:5:6, 7:8:9:a:b:c)", -14, 14},
  {"EtherVLANEncap(0x0800, 1:2:3:4:5:6, 7:8:9:a:b:c, 5)", -18, 18},
  {"IPEncap(17, 10.0.0.1, 10.0.0.2)", -20, 20}, {"GTPEncap(7)", -8, 8},
  {"UDPIPEncap(10.0.0.1, 1, 10.0.0.2, 2, false)", -28, 28},
  {"EtherMirror", 0, 12}, {"EtherRewrite(1:2:3:4:5:6, 7:8:9:a:b:c)", 0, 12},
  {"SetIPDSCP(3)", 0, 20}, {"SetIPChecksum", 0, 20}, {"IPMirror", 0, 20},
  {"DecIPTTL", 0, 20}, {"StoreIPAddress(1.2.3.4, 12)", 0, 20},
  {"StoreEtherAddress(1:2:3:4:5:6, 0)", 0, 8},
}

-- The packet as it was, at the same place.
local function prepare(p, at)
  p.data_off, p.length = at, #BYTES
  p.note16[note.NETWORK_HEADER], p.note16[note.TRANSPORT_HEADER] = at, at + 20
  ffi.copy(p.buf_addr + at - 32, ("\0"):rep(32) .. BYTES, 32 + #BYTES)
end

-- In how many rounds what is read behind the element is not what is there.
local function stale(process, e, first, size)
  local p, truth, wrong = packet.from_string(BYTES), ffi.new("uint8_t[32]"), 0
  note.clear(p)
  local front = p.data_off
  local t, u = ffi.cast(halves_t, truth), ffi.cast(words_t, truth)
  for _ = 1, ROUNDS do
    prepare(p, front)
    local at = p.buf_addr + front + first
    local halves, words = ffi.cast(halves_t, at), ffi.cast(words_t, at)
    local before = halves[0] + halves[2] + halves[3] + words[0] + words[1] + at[0]
    process(e, p, 1)
    local after = halves[0] + halves[2] + halves[3] + words[0] + words[1] + at[0]
    ffi.copy(truth, at, size)
    local really = t[0] + t[2] + t[3] + u[0] + u[1] + truth[0]
    if after ~= really or before == -1 then wrong = wrong + 1 end
  end
  packet.free(p)
  return wrong
end

describe("What is read behind an element", function ()
  for _, case in ipairs(CASES) do
    it(("is what %s has written"):format(case[1]:match("^%w+")), function ()
      local unit = click.unit(case[1])
      assert.same({}, unit.errors)
      assert.equal(0, stale(unit.element.process, unit.element, case[2], case[3]))
    end)
  end
end)
