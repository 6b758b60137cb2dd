-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local front = require("click.net.front")
local note = require("click.note")
local packet = require("core.packet")

local function bytes(p) return ffi.string(p.data, p.length) end

local function marked(text)
  local p = packet.from_string(text)
  note.clear(p)
  p.note16[0], p.note16[1] = p.data_off, p.data_off + 2
  return p
end

-- The bytes from a header on.
local function from_header(p, header)
  return ffi.string(p.buf_addr + p.note16[header],
    p.data_off + p.length - p.note16[header])
end

describe("front", function ()
  it("cuts and opens, and headers stay where they are", function ()
    local p = marked("abcdef")
    assert.is_true(front.cut(p, 3))
    assert.equal("def", bytes(p))
    assert.equal("abcdef", from_header(p, 0))
    assert.is_false(front.cut(p, 4))
    assert.is_true(front.open(p, 3))
    assert.equal("abcdef", bytes(p))
    packet.free(p)
  end)

  it("moves packets that have no room in front, and their headers", function ()
    local p = marked("abcdef")
    assert.is_true(front.open(p, 300))
    assert.equal(306, p.length)
    assert.equal("abcdef", bytes(p):sub(301))
    assert.equal("abcdef", from_header(p, 0))
    assert.equal("cdef", from_header(p, 1))
    assert.equal(0, p.note16[2])
    packet.free(p)
  end)

  it("keeps the beginning where packets may begin", function ()
    local p = marked(("x"):rep(1000) .. "end")
    p.note16[2] = p.data_off + 1001
    assert.is_true(front.cut(p, 1000))
    assert.equal("end", bytes(p))
    assert.is_true(p.data_off <= 512)
    assert.equal("nd", from_header(p, 2))
    assert.equal(0, p.note16[0]) -- it has gone
    packet.free(p)
  end)

  it("refuses what would be too long", function ()
    local p = packet.resize(packet.allocate(), packet.max_payload - 10)
    note.clear(p)
    assert.is_false(front.open(p, 11))
    assert.is_true(front.open(p, 10))
    packet.free(p)
  end)

  it("copies with notes and what was cut off", function ()
    local p = marked("abcdef")
    p.note32[note.DST_IP] = 7
    front.cut(p, 4)
    local q = front.clone(p)
    packet.free(p)
    assert.equal("ef", bytes(q))
    assert.equal("abcdef", from_header(q, 0))
    assert.equal(7, q.note32[note.DST_IP])
    front.open(q, 4)
    assert.equal("abcdef", bytes(q))
    packet.free(q)
  end)
end)
