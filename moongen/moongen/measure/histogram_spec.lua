-- SPDX-License-Identifier: Apache-2.0
local Histogram = require("moongen.measure.histogram")
local serialize = require("moongen.tasks.serialize")

local function filled(...)
  local h = Histogram:new()
  for _, value in ipairs{...} do h:update(value) end
  return h
end

-- What `f` writes to standard output.
local function printed(f)
  local real, text = io.stdout, {}
  local fake = {write = function (_, ...) text[#text + 1] = table.concat{...} end,
                flush = function () end}
  io.stdout = fake -- luacheck: ignore 122
  local ok, problem = pcall(f)
  io.stdout = real -- luacheck: ignore 122
  assert(ok, problem)
  return table.concat(text)
end

describe("histogram", function ()
  it("counts values, and nothing as none", function ()
    local h = filled(5, 3, 5)
    h:update(nil)
    h:update(0 / 0)
    h:update(7ULL)
    assert.same({[3] = 1, [5] = 2, [7] = 1}, h.histo)
    assert.same({4, 20, 5}, {h:totals()})
  end)

  it("is made in three ways", function ()
    for _, h in ipairs{Histogram(), Histogram:new(), Histogram:create()} do
      assert.equal(Histogram, getmetatable(h))
      assert.same({}, h.histo)
    end
  end)

  it("works out figures", function ()
    local h = Histogram()
    for i = 1, 100 do h:update(i) end
    assert.same({50.5, 1, 100}, {h:avg(), h:min(), h:max()})
    assert.near(29.011491975882, h:standardDeviation(), 1e-9) -- sqrt(100 * 101 / 12)
    assert.same({26, 51, 76}, {h:quartiles()})
    assert.same({51, 51, 1, 100}, {h:median(), h:percentile(50), h:percentile(0),
      h:percentile(100)})
    assert.same({100, 50.5}, {h.numSamples, h.avg})
    assert.error_matches(function () h:percentile(101) end, "from 0 to 100, not 101")
  end)

  it("counts anew after an update", function ()
    local h = filled(1)
    assert.equal(1, h:max())
    h:update(2)
    assert.equal(2, h:max())
  end)

  it("goes to another task", function ()
    local h = filled(1, 2, 2)
    h.rate = 5
    h:calc()
    local copy, again = serialize.decode(serialize.encode(h, {h}))
    assert.equal(Histogram, getmetatable(copy))
    assert.same({[1] = 1, [2] = 2}, copy.histo)
    assert.same({5, 3, 3}, {copy.rate, copy.numSamples, (again[1]:totals())})
  end)

  it("takes in another", function ()
    assert.same({[1] = 2, [2] = 1}, filled(1):merge(filled(1, 2)).histo)
  end)

  it("prints libmoon's line", function ()
    local text = printed(function ()
      filled(100, 200, 300, 400):print()
      filled(100):print("Port 1")
    end)
    assert.equal("Samples: 4, Average: 250.0 ns, StdDev: 129.1 ns, " ..
      "Quartiles: 200.0/300.0/400.0 ns\n[Port 1] Samples: 1, Average: 100.0 ns, " ..
      "StdDev: 0.0 ns, Quartiles: 100.0/100.0/100.0 ns\n", text)
  end)

  it("prints a line when it is empty", function ()
    local text = printed(function () Histogram():print() end)
    assert.truthy(text:find("^Samples: 0, Average"))
    assert.is_nil(Histogram():percentile(50))
  end)

  it("saves its counts in order, to a name or a file", function ()
    local name = os.tmpname()
    local text
    printed(function () filled(10, 2, 10, 2.5):save(name) end)
    for line in io.lines(name) do text = (text or "") .. line .. ";" end
    assert.equal("2,1;2.5,1;10,2;", text)
    local file = assert(io.open(name, "w"))
    filled(1):save(file)
    file:write("open\n")
    file:close()
    assert.equal("1,1", io.lines(name)())
    os.remove(name)
    assert.error_matches(function ()
      printed(function () filled(1):save("/nonexistent/h.csv") end)
    end, "can't save /nonexistent/h.csv: No such file")
  end)
end)
