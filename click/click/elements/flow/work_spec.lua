-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local function lines(n)
  local list = {}
  for i = 1, n do list[i] = ("9.0.0.%d %d 5.5.5.5 80 U"):format(i % 5, 1 + i % 7) end
  return list
end

local function run(text, list)
  return click.run_dump("src sport dst dport proto", list or lines(70), text)
end

local function read(r, name) return (tostring(assert(r:handler_read(name)))) end

describe("FlowWorkPackage", function ()
  it("passes packets as they are, whatever it does", function ()
    for _, arguments in ipairs{"", "F 64, PREAD 3, PWRITE 2, FREAD 1, FWRITE 2, W 5",
      "ACTIVE false, W 9", "TABLE_SIZE 3", "F 0", "SEQUENTIAL true, F 5"} do
      local r = run(([[SOURCE -> FlowIPManager -> w :: FlowWorkPackage(%s)
        -> f :: FlowCounter -> CheckIPHeader -> CheckUDPHeader -> c :: Counter
        -> Discard]]):format(arguments))
      assert.same({"70", "35"}, {read(r, "c.count"), read(r, "f.count")})
      r:close()
    end
  end)

  it("keeps the bytes of each flow, and says when there is no room", function ()
    local r = run("SOURCE -> w :: FlowWorkPackage(F 12, TABLE_SIZE 16) -> Discard",
      lines(20))
    local w = r:find("w")
    assert.equal(16, w.table:count())
    assert.matches("Cannot add key (have 16 items)!", table.concat(r.said, "\n"), 1,
      true)
    local records = w.table.table.table.records
    local record = records.record + records.size
    assert.same({69, 0}, {record[28], record[29]}) -- an IPv4 header
    r:close()
  end)

  it("counts packets that come late", function ()
    local r = run([[SOURCE -> NumberPacket(OFFSET 28) -> t :: RoundRobinSwitch;
      t[0] -> q :: Queue -> u :: Unqueue(ACTIVE false) -> w :: FlowWorkPackage(ORDER 28)
        -> c :: Counter -> Discard; t[1] -> w; DriverManager(pause, write u.active true,
      wait 0.1, stop)]],
      {"9.0.0.1 1 5.5.5.5 80 U", "9.0.0.1 1 5.5.5.5 80 U", "9.0.0.1 1 5.5.5.5 80 U",
        "9.0.0.1 1 5.5.5.5 80 U"})
    assert.same({"4", "1"}, {read(r, "c.count"), read(r, "w.outoforder")})
    r:close()
  end)

  it("lets what isn't IPv4 pass", function ()
    local unit = click.unit("FlowWorkPackage(ORDER 100)", {inputs = 2, outputs = 2})
    assert.same({{2, "abc"}}, unit:send("abc", 2))
    unit:free()
  end)
end)
