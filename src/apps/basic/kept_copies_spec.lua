-- SPDX-License-Identifier: Apache-2.0

local link = require("core.link")
local mode = require("core.check.mode")
local packet = require("core.packet")
local pool = require("core.pool")
local send_copies = require("apps.basic.kept_copies")

describe("copies of kept packets", function ()
  local checked = mode.on -- perigee --check
  local kept, output

  before_each(function ()
    kept, output = {}, link.new("copies")
    for i = 1, 3 do kept[i] = packet.from_string(("%d"):format(i):rep(i)) end
  end)

  after_each(function ()
    mode.on = checked
    while not link.empty(output) do packet.free(link.receive(output)) end
    link.free(output, "copies")
    for _, p in ipairs(kept) do packet.free(p) end
  end)

  local function received(n)
    local found = {}
    for i = 1, n do
      local p = link.receive(output)
      found[i] = require("ffi").string(p.data, p.length)
      packet.free(p)
    end
    return found
  end

  local function five()
    assert.equal(3, send_copies(kept, 2, output, 4))
    assert.same({"22", "333", "1", "22"}, received(4))
    packet.free(kept[3])
    kept[3], kept[4] = packet.from_string("another"), packet.from_string("new")
    assert.equal(1, send_copies(kept, 3, output, 2))
    assert.same({"another", "new"}, received(2))
    assert.is_true(link.empty(output))
  end

  it("go round, and are of what is kept now", five)

  it("are the same one by one, where packets are checked", function ()
    mode.on = true
    five()
  end)

  it("are packets of their own, which ask their device for the same", function ()
    kept[1].ol_flags, kept[1].vlan_tci = 2ULL ^ 57, 7
    send_copies(kept, 1, output, 1)
    local p = link.receive(output)
    assert.is_true(p ~= kept[1] and p.data ~= kept[1].data)
    assert.equal(kept[1].ol_flags, p.ol_flags)
    assert.equal(7, p.vlan_tci)
    packet.free(p)
  end)

  it("are dropped by a full link, and more than the free list has are made", function ()
    local dropped = link.stats(output).txdrop
    send_copies(kept, 1, output, 3000)
    local s = link.stats(output)
    assert.equal(3000, s.txpackets + s.txdrop - dropped)
    assert.is_true(link.full(output))
    assert.is_true(pool.freelist.nfree >= 0)
  end)
end)
