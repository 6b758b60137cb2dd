-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

-- A fragment whose payload belongs at `first`; `change` may be told more.
local function fragment(first, payload, more, change)
  change = change or {}
  local total, offset = 20 + #payload, first / 8 + (more and 0x2000 or 0)
  local frame = change.frame or ""
  local p = packet.from_string(frame .. "\69\0" .. string.char(math.floor(total / 256),
    total % 256) .. "\0" .. string.char(change.id or 9)
    .. string.char(math.floor(offset / 256), offset % 256)
    .. "\64\17\0\0\10\0\0\1\10\0\0\2" .. payload .. (change.padding or ""))
  note.clear(p)
  p.note16[note.MAC_HEADER] = #frame > 0 and p.data_off or 0
  p.note16[note.NETWORK_HEADER] = p.data_off + #frame
  p.note16[note.TRANSPORT_HEADER] = p.data_off + #frame + 20
  p.note8[note.PAINT] = change.paint or 0
  p.note64[note.TIMESTAMP] = (change.time or 100) * 1000000000
  return p
end

local A, B, C = ("a"):rep(16), ("b"):rep(8), "ccc"

describe("IPReassembler", function ()
  local unit

  before_each(function () unit = click.unit("IPReassembler", {outputs = 2}) end)
  after_each(function ()
    unit:free()
    unit.element:cleanup()
  end)

  -- What leaves by output 1, without its header, whose sum is checked.
  local function whole(p)
    local out = unit:send(p)[1]
    if not out then return nil end
    assert.equal(1, out[1])
    local check = click.unit("CheckIPHeader")
    assert.equal(1, #check:send(out[2]))
    check:free()
    return out[2]:sub(21)
  end

  it("lets pass what isn't a fragment", function ()
    assert.equal(1, #unit:send(fragment(0, "data")))
  end)

  it("puts fragments together in any order", function ()
    for _, order in ipairs{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {2, 1, 3}, {3, 1, 2}} do
      local parts = {function () return fragment(0, A, true, {padding = "pad"}) end,
        function () return fragment(16, B, true) end,
        function () return fragment(24, C) end}
      assert.is_nil(whole(parts[order[1]]()))
      assert.is_nil(whole(parts[order[2]]()))
      assert.equal(A .. B .. C, whole(parts[order[3]]()))
    end
    assert.equal(0, unit.element.used)
  end)

  it("gives the packet the headers and notes of the first fragment", function ()
    local frame = ("e"):rep(14)
    whole(fragment(16, C, false, {frame = ("f"):rep(14), paint = 1}))
    local p = unit:pass(fragment(0, A, true, {frame = frame, paint = 2, time = 101}))
    assert.equal(frame .. "\69\0\0\39", ffi.string(p.data, 18))
    assert.equal(14 + 20 + 19, p.length)
    assert.equal(p.data_off, p.note16[note.MAC_HEADER])
    assert.equal(p.data_off + 14, p.note16[note.NETWORK_HEADER])
    assert.equal(p.data_off + 34, p.note16[note.TRANSPORT_HEADER])
    assert.equal(2, p.note8[note.PAINT])
    assert.equal(101e9, tonumber(p.note64[note.TIMESTAMP]))
    packet.free(p)
  end)

  it("tells datagrams apart", function ()
    assert.is_nil(whole(fragment(0, A, true, {id = 1})))
    assert.is_nil(whole(fragment(16, C, false, {id = 2})))
    assert.equal(A .. "x", whole(fragment(16, "x", false, {id = 1})))
    assert.matches("10.0.0.1 > 10.0.0.2 2 %(16,19%)", unit:read("dump"))
    assert.equal(A .. C, whole(fragment(0, A, true, {id = 2})))
  end)

  it("takes what overlaps or comes again", function ()
    assert.is_nil(whole(fragment(0, A, true)))
    assert.is_nil(whole(fragment(0, A, true)))
    assert.is_nil(whole(fragment(8, ("x"):rep(16), true)))
    assert.equal(A:sub(1, 8) .. ("x"):rep(16) .. C, whole(fragment(24, C)))
  end)

  it("drops what can't be", function ()
    assert.is_nil(whole(fragment(16, B)))
    for _, p in ipairs{fragment(0, "seven..", true), fragment(24, C),
                       fragment(8, C)} do
      assert.same({}, unit:send(p))
    end
    local short = fragment(0, A, true)
    short.length = short.length - 1
    assert.same({}, unit:send(short))
    assert.same({["bad fragment"] = 4}, unit.lost)
    assert.matches("bad fragments seen:  4", unit:read("dump"))
    local p = fragment(0, A, true)
    p.note16[note.NETWORK_HEADER] = 0
    assert.same({}, unit:send(p))
    p = fragment(0, A, true)
    p.note16[note.TRANSPORT_HEADER] = p.note16[note.NETWORK_HEADER] + 64
    assert.same({}, unit:send(p))
    -- What is before the header has no room before the payload: it is left out.
    whole(fragment(16, C, false, {id = 4}))
    assert.equal(A .. C, whole(fragment(0, A, true, {id = 4, frame = ("f"):rep(600)})))
  end)

  it("drops an end before what is there already", function ()
    unit:send(fragment(16, B, true))
    assert.same({}, unit:send(fragment(8, C)))
    assert.same({["bad fragment"] = 1}, unit.lost)
    assert.is_nil(whole(fragment(0, A, true)))
    assert.equal(A .. B .. C, whole(fragment(24, C)))
  end)

  it("drops by name what would be too long", function ()
    -- For IP: 20 bytes and 65,528 are more than 65,535. For a packet: at once, and
    -- where the first fragment's longer headers leave too little room.
    assert.same({}, unit:send(fragment(65520, B)))
    assert.same({["too long"] = 1}, unit.lost)
    assert.same({}, unit:send(fragment(65504, B, false, {id = 2})))
    assert.same({["too long"] = 2}, unit.lost)
    local most = packet.max_payload - 20
    local last = most - most % 8
    unit:send(fragment(8, ("x"):rep(last - 8), false, {id = 3}))
    assert.same({["too long"] = 2}, unit.lost)
    assert.same({}, unit:send(fragment(0, B, true, {id = 3, frame = ("f"):rep(14)})))
    assert.same({["too long"] = 3}, unit.lost)
    local text = unit:read("dump")
    assert.matches("good reassemblies:   0", text)
    assert.matches("bad fragments seen:  3", text)
    assert.is_nil(whole(fragment(0, A, true)))
    assert.equal(A .. C, whole(fragment(16, C)))
  end)

  it("gives up after 30 seconds", function ()
    unit:send(fragment(0, A, true, {time = 100}))
    unit:send(fragment(24, C, false, {time = 100}))
    assert.same({}, unit:send(fragment(0, A, true, {time = 129, id = 2})))
    local out = unit:send(fragment(16, A, true, {time = 141, id = 2}))
    assert.equal(2, out[1][1])
    assert.equal(A .. ("\0"):rep(8) .. C, out[1][2]:sub(21))
  end)

  it("keeps to its memory", function ()
    unit = click.unit("IPReassembler(HIMEM 5000)")
    for id = 1, 250 do unit:send(fragment(0, ("x"):rep(400), true, {id = id})) end
    assert.is_true(unit.element.used <= 5440)
    assert.matches("failed reassemblies: 2%d%d", unit:read("dump"))
  end)

  it("notes how long the longest fragment was", function ()
    unit = click.unit("IPReassembler(MAX_MTU_ANNO 10)")
    unit:send(fragment(0, A, true))
    local p = unit:pass(fragment(16, ("x"):rep(40)))
    assert.equal(60, ffi.cast("uint16_t *", p.note8 + note.FIRST + 10)[0])
    packet.free(p)
  end)
end)
