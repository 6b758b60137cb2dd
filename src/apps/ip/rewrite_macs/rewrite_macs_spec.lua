-- SPDX-License-Identifier: Apache-2.0

local RewriteMacs = require("apps.ip.rewrite_macs.rewrite_macs").RewriteMacs
local ffi = require("ffi")
local packet = require("core.packet")

local HOPS = {
  {destination = "02:00:00:00:01:01", source = "02:00:00:00:02:01"},
  {destination = "ff:fe:fd:fc:fb:fa", source = "0A:0b:0c:0d:0e:0f"},
}

local function process(app, hop, bytes)
  local p = packet.from_string(bytes)
  p.hash[1] = hop
  local q, reason = app:process(p)
  local after = ffi.string(p.data, p.length)
  packet.free(p)
  return q ~= nil and after or RewriteMacs.drops[reason]
end

describe("RewriteMacs", function ()
  it("writes the next hop's addresses, and nothing else", function ()
    local app = RewriteMacs:new(HOPS)
    local rest = "\8\0" .. ("payload"):rep(8)
    assert.equal("\2\0\0\0\1\1\2\0\0\0\2\1" .. rest,
      process(app, 1, ("a"):rep(12) .. rest))
    assert.equal("\xff\xfe\xfd\xfc\xfb\xfa\x0a\x0b\x0c\x0d\x0e\x0f" .. rest,
      process(app, 2, ("a"):rep(12) .. rest))
    assert.equal("\2\0\0\0\1\1\2\0\0\0\2\1\8\0",
      process(app, 1, ("a"):rep(12) .. "\8\0"))
  end)

  it("drops what has no next hop of its table, or no header", function ()
    local app = RewriteMacs:new(HOPS)
    for _, hop in ipairs{0, 3, 2 ^ 31, 2 ^ 32 - 1} do
      assert.equal("no_next_hop", process(app, hop, ("a"):rep(60)))
    end
    for length = 0, 13 do assert.equal("short", process(app, 1, ("a"):rep(length))) end
    assert.equal("no_next_hop", process(RewriteMacs:new{}, 1, ("a"):rep(60)))
  end)

  it("refuses what isn't an address", function ()
    for _, text in ipairs{"", "02:00:00:00:00", "02:00:00:00:00:01:02", "x"} do
      local ok, err = pcall(RewriteMacs.new, RewriteMacs,
        {{destination = text, source = HOPS[1].source}})
      assert.is_false(ok)
      assert.equal(("'%s' isn't an Ethernet address such as 02:00:00:00:00:01")
        :format(text), tostring(err))
    end
  end)
end)
