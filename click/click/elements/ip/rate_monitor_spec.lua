-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local note = require("click.note")

-- Send so many packets a second with these addresses, for some seconds.
local function send(unit, source, destination, rate, seconds, input)
  local last
  for _ = 1, rate * seconds do
    unit:wait(1 / rate)
    if last then require("core.packet").free(last) end
    last = unit:pass(dumps.packet("src dst proto ip_len",
      ("%s %s U 100"):format(source, destination)), input)
  end
  return last
end

describe("IPRateMonitor", function ()
  it("measures packets, byte by byte of busy addresses", function ()
    local unit = click.unit("IPRateMonitor(PACKETS, 1, 40)", {time = 1e9, inputs = 2,
      outputs = 2})
    assert.same({}, unit.errors)
    local p = send(unit, "1.2.3.4", "9.9.9.9", 250, 4)
    assert.near(250, p.note32[note.FWD_RATE], 10)
    assert.equal(0, p.note32[note.REV_RATE])
    require("core.packet").free(p)
    local text = unit:read("look")
    for _, pattern in ipairs{"^500\n1\t(%S+)\t0\n", "\n\t1.2\t(%S+)\t0\n",
      "\n\t\t1.2.3\t(%S+)\t0\n", "\n\t\t\t1.2.3.4\t(%S+)\t0\n$"} do
      assert.near(250, tonumber(text:match(pattern)), 10)
    end
    p = send(unit, "7.7.7.7", "1.2.3.4", 125, 2, 2)
    assert.near(125, p.note32[note.REV_RATE], 10)
    require("core.packet").free(p)
    unit:wait(5) -- the rates go down, so it looks less closely
    require("core.packet").free(send(unit, "200.0.0.1", "9.9.9.9", 10, 1))
    assert.is_nil(unit:read("look"):find("1.2", 1, true))
    assert.is_truthy(unit:read("look"):find("\n200\t%d", 1))
  end)

  it("measures bytes, and forgets all when it is told to", function ()
    local unit = click.unit("IPRateMonitor(BYTES, 1, 1000000, 100, false)",
      {time = 1e9})
    local p = send(unit, "1.2.3.4", "9.9.9.9", 125, 4)
    assert.equal(0, p.note32[note.FWD_RATE])
    require("core.packet").free(p)
    assert.near(12500, tonumber(unit:read("look"):match("\n1\t(%S+)")), 200)
    assert.same({1000000, 102400}, {unit:read("thresh"), unit:read("memmax")})
    assert.is_nil(unit:write("reset"))
    assert.equal("0\n", unit:read("look"))
  end)

  it("stops at a level, and within its memory", function ()
    local unit = click.unit("IPRateMonitor(PACKETS, 1, 0)", {time = 1e9})
    require("core.packet").free(send(unit, "1.2.3.4", "9.9.9.9", 125, 1))
    assert.is_truthy(unit:read("look"):find("1.2.3.4", 1, true))
    assert.is_nil(unit:write("anno_level", "1.2.0.0 1 100"))
    require("core.packet").free(send(unit, "1.2.3.4", "9.9.9.9", 125, 1))
    assert.is_nil(unit:read("look"):find("1.2.3", 1, true))
    local free = unit:read("mem")
    for i = 1, 200 do
      require("core.packet").free(send(unit, i .. ".1.1.1", "9.9.9.9", 125, 0.2))
    end
    assert.is_true(unit:read("mem") > 102400)
    assert.is_nil(unit:write("memmax", "100"))
    assert.is_true(unit:read("mem") <= 102400)
    assert.is_true(unit:read("mem") >= free)
    for value, problem in pairs{["1.2.3.4"] = "expecting 3 arguments",
      ["x 1 1"] = "not an IP address",
      ["1.0.0.0, 4, 1"] =
        "2nd argument specifies a level, between 0 and 3, to annotate",
      ["1.0.0.0 1 0"] = "3rd argument specifies when this rule expires, must be > 0"} do
      assert.equal(problem, unit:write("anno_level", value))
    end
  end)

  it("says what it doesn't take", function ()
    assert.same({'monitor type should be "PACKETS" or "BYTES"'},
      click.unit("IPRateMonitor(BITS, 1, 1)").errors)
    assert.same({"ratio must be between 0 and 1"},
      click.unit("IPRateMonitor(BYTES, 1.5, 1)").errors)
  end)
end)
