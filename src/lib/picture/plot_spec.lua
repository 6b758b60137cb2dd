-- SPDX-License-Identifier: Apache-2.0

local page = require("lib.picture.page")
local plot = require("lib.picture.plot")

-- The numbers at the axes, in the order of the picture: y, then x.
local function numbers(picture)
  local list = {}
  for text in picture:gmatch(">([%d.]+[kMG]?)</text>") do list[#list + 1] = text end
  return table.concat(list, " ")
end

local function of(points)
  return plot.text({{name = "a", points = points}}, {x = "bytes", y = "pps"})
end

describe("A plot", function ()
  it("has axes of round numbers that hold all points", function ()
    assert.equal("0 500k 1M 1.5M 2M 2.5M 3M 0 500 1k 1.5k 2k",
      numbers(of{{64, 2.6e6}, {1518, 1e5}}))
    assert.equal("0 0.2 0.4 0.6 0.8 1 0 10 20 30 40 50 60",
      numbers(of{{60, 1}, {1, 0.05}}))
  end)

  it("puts points where they belong", function ()
    local picture = of{{0, 0}, {50, 100}, {100, 50}}
    assert.matches('points="76.0,272.0 283.0,16.0 490.0,144.0"', picture, 1, true)
    assert.equal(3, select(2, picture:gsub("<circle", "")))
  end)

  it("may have no points, or none above 0", function ()
    for _, points in ipairs{{}, {{0, 0}}} do
      assert.is_nil(of(points):find("nan", 1, true))
      assert.is_nil(of(points):find("inf", 1, true))
      assert.equal("0 0.2 0.4 0.6 0.8 1 0 0.2 0.4 0.6 0.8 1", numbers(of(points)))
    end
  end)

  it("and its page escape what they are given", function ()
    local picture = plot.text({{name = "<b>", points = {}}}, {x = "&", y = '"'})
    assert.matches("&lt;b&gt;", picture, 1, true)
    assert.matches("&amp;", picture, 1, true)
    local text = page.text("<i>", page.table({"<u>"}, {{"&"}})
      .. page.figure("", "<s>"))
    assert.is_nil(text:find("<i>", 1, true) or text:find("<u>", 1, true)
      or text:find("<s>", 1, true))
    assert.matches("<td>&amp;</td>", text, 1, true)
  end)
end)
