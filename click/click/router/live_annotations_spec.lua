-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local note = require("click.note")
local live_annotations = require("click.router.live_annotations")
local packet = require("core.packet")

-- What noted.by() says of a configuration: a sorted list, or nil.
local function places(text)
  local r = assert(click.router(text))
  local set, list = live_annotations.by(r), {}
  r:close()
  if not set then return nil end
  for place in pairs(set) do list[#list + 1] = place end
  table.sort(list)
  return list
end

-- A packet whose annotations are all ones.
local function scribbled()
  local p = packet.from_string("abc")
  for i = 0, 63 do p.note8[i] = 255 end
  return p
end

local function with_router(text, f)
  local r = assert(click.router(text))
  f(r)
  r:close()
end

describe("click.router.live_annotations", function ()
  it("knows what elements look at", function ()
    assert.same({}, places("Idle -> EtherMirror -> Discard"))
    assert.same({"note8[33]"}, places("Idle -> Paint(1) -> CheckPaint(1) -> Discard"))
    assert.same({"note8[21]"}, places("Idle -> CheckPaint(1, 5) -> Discard"))
    assert.same({"note32[4]", "note8[6]"},
      places("Idle -> DropBroadcasts -> StaticIPLookup(0/0 0) -> Discard"))
    assert.same({"note16[1]", "note16[2]", "note8[28]"}, places(
      "Idle -> IPRewriter(REPLY_ANNO 12, keep 0 0) -> Discard"))
  end)

  it("takes those that don't say for ones that look at all", function ()
    assert.is_nil(places("Idle -> Print -> Discard"))
    assert.is_nil(places("Idle -> ToDump(/dev/null)"))
    assert.same({}, places("Idle -> Discard; DriverManager(stop)")) -- no packets
  end)

  it("doesn't take what a class says for its heirs' packets", function ()
    assert.same({"note32[4]"}, places("Idle -> RadixIPLookup(0/0 0) -> Discard"))
    assert.is_nil(places("Idle -> RadixIPsecLookup(0/0 0) -> Discard"))
  end)

  it("clears what somebody looks at, and no more", function ()
    with_router("Idle -> MarkMACHeader -> Discard", function (r)
      local p = scribbled()
      live_annotations.clearer(r)(p)
      for i = 1, 7 do assert.equal(0, tonumber(p.note64[i])) end
      assert.equal(p.data_off, p.note16[note.MAC_HEADER])
      assert.equal(0, p.note8[note.PACKET_TYPE])
      packet.free(p)
    end)
    with_router("Idle -> EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2) -> CheckPaint(3)"
      .. " -> DropBroadcasts -> Discard", function (r)
      local p = scribbled()
      live_annotations.clearer(r)(p)
      assert.equal(p.data_off, p.note16[note.MAC_HEADER])
      assert.same({0, 0, 255}, {p.note8[note.PAINT], p.note8[note.PACKET_TYPE],
        p.note8[note.PAINT - 1]})
      packet.free(p)
    end)
    with_router("Idle -> EtherMirror -> Discard", function (r)
      assert.is_nil(live_annotations.clearer(r))
    end)
  end)

  it("copies the same", function ()
    with_router("Idle -> CheckPaint(3) -> Discard", function (r)
      local p, q = scribbled(), packet.from_string("abc")
      p.note8[note.PAINT] = 7
      note.clear(q)
      live_annotations.copier(r)(q, p)
      assert.same({7, 0}, {q.note8[note.PAINT], q.note8[note.PAINT + 1]})
      packet.free(p)
      packet.free(q)
    end)
  end)
end)
