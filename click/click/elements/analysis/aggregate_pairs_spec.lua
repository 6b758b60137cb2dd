-- SPDX-License-Identifier: Apache-2.0

local click = require("testing.click")

-- "NUMBER PAINT" of each packet, of lines "TIME SOURCE DESTINATION".
local function numbers(config, lines)
  local r = click.run_dump("timestamp ip_src ip_dst", lines, ("SOURCE -> a :: %s "
    .. "-> ToIPSummaryDump(-, CONTENTS aggregate paint) -> Discard"):format(config),
    function (router)
      router.printed = {}
      router.print = function (self, text) table.insert(self.printed, text) end
    end)
  local text = table.concat(r.printed)
  r:close()
  local list = {}
  for line in text:gmatch("[^\n]+") do
    if line:match("^%d") then list[#list + 1] = line end
  end
  return list
end

describe("AggregateIPAddrPair", function ()
  local LINES = {"1 1.0.0.1 2.0.0.2", "2 2.0.0.2 1.0.0.1", "3 1.0.0.1 2.0.0.3",
    "9 1.0.0.1 2.0.0.2", "30 2.0.0.2 1.0.0.1"}

  it("numbers pairs, and paints the direction", function ()
    assert.same({"1 0", "1 1", "2 0", "1 0", "1 1"}, numbers(""
      .. "AggregateIPAddrPair", LINES))
  end)

  it("gives new numbers after TIMEOUT", function ()
    assert.same({"1 0", "1 1", "2 0", "1 0", "3 0"},
      numbers("AggregateIPAddrPair(TIMEOUT 10, REAP 5)", LINES))
  end)

  it("forgets all, and lets what is no IP go", function ()
    local unit = click.unit("AggregateIPAddrPair", {outputs = 2})
    assert.same({{2, "abc"}}, unit:send("abc"))
    assert.is_nil(unit:write("clear"))
    unit:free()
  end)
end)

describe("AggregateHash", function ()
  it("hashes addresses and ports as FastClick does", function ()
    local r = click.run([[InfiniteSource(x, 1, STOP true)
      -> UDPIPEncap(10.0.0.1, 5000, 10.0.0.9, 53) -> AggregateHash
      -> IPPrint(AGGREGATE true, TIMESTAMP false) -> Discard]])
    -- rol(0x0100000a, 9) ~ rol(0x0900000a, 10) ~ (53 << 16 | 5000)
    assert.equal("#672204682: 10.0.0.1.5000 > 10.0.0.9.53: udp 9", r.said[1])
    r:close()
    assert.same({"bad number of bits"}, click.unit("AggregateHash(9)").errors)
  end)
end)
