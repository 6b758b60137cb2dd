-- SPDX-License-Identifier: Apache-2.0
-- ForceIP and the others make what the Check elements pass, of any bytes.

local click = require("testing.click")

-- Packets of chance behind `text` that come out of it.
local function passed(text)
  local r = click.run(([[RandomSource(60, LIMIT 200, STOP true) -> ForceIP
    -> c :: CheckIPHeader -> %s -> n :: Counter -> Discard]]):format(text))
  local n = tonumber((tostring(r:handler_read("n.count"))))
  local bad = tonumber((tostring(r:handler_read("c.drops"))))
  r:close()
  return n, bad
end

describe("ForceIP", function ()
  it("makes headers that CheckIPHeader passes, but for bad sources", function ()
    local n, bad = passed("Null")
    assert.equal(200, n + bad)
    assert.is_true(bad < 20)
  end)

  it("makes one header as Click does", function ()
    local unit = click.unit("ForceIP")
    assert.same({{1, "\69\0\0\20\18\52\0\0\64\17\84\163\10\0\0\1\10\0\0\2"}},
      unit:send("\0\0\0\0\18\52\255\255\64\17\0\0\10\0\0\1\10\0\0\2"))
    assert.same({}, unit:send("short"))
    assert.same({["too short"] = 1}, unit.lost)
    unit:free()
  end)
end)

describe("ForceTCP, ForceUDP, ForceICMP", function ()
  it("make what CheckTCPHeader and its kin pass", function ()
    for force, check in pairs{
      ["StoreData(9, \\<06>) -> ForceIP -> ForceTCP(80, false, 16)"] =
        "CheckTCPHeader -> IPFilter(0 dst tcp port 80 and tcp opt ack)",
      ["StoreData(9, \\<11>) -> ForceIP -> ForceUDP(53)"] =
        "CheckUDPHeader -> IPFilter(0 dst udp port 53)",
      ["StoreData(9, \\<01>) -> ForceIP -> ForceICMP(echo, 3)"] =
        "CheckICMPHeader -> IPFilter(0 icmp type echo)",
    } do
      local r = click.run(([[RandomSource(90, LIMIT 100, STOP true)
        -> StoreData(0, \<45>) -> %s -> n :: Counter -> IPFilter(allow not frag)
        -> m :: Counter -> %s -> k :: Counter -> Discard]]):format(force, check))
      local function count(name)
        return tonumber((tostring(r:handler_read(name .. ".count"))))
      end
      assert.equal(100, count("n"), force)
      assert.equal(count("m"), count("k"), force)
      r:close()
    end
  end)

  it("drop what has no room, and say what is wrong", function ()
    local unit = click.unit("ForceTCP")
    assert.same({}, unit:send("abc"))
    assert.same({["bad lengths"] = 1}, unit.lost)
    assert.same({"ForceTCP: bad lengths"}, unit.said)
    assert.same({"argument 2 takes ICMP code"}, click.unit("ForceICMP(3, x)").errors)
    assert.equal(1, #click.unit("ForceUDP(x)").errors)
    assert.same({}, click.unit("ForceUDP(-1)").errors)
  end)
end)
