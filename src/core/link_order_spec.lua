-- SPDX-License-Identifier: Apache-2.0
-- Each list is as Snabb's own pairs() gave it.

local testing = require("testing.support")

-- {seed, links, which apps they are of}
local CASES = {
  {7, 1, "34"},
  {7, 3, "13 34 66"},
  {7, 9, "13 19 40 25 34 25 78 21 66"},
  {11, 33, "54 70 35 60 52 66 8 14 31 84 59 29 82 25 66 51 77 89 29 36 10 22 89 76 "
    .. "85 76 48 76 27 64 45 2 72"},
  {13, 60, "77 0 24 32 4 82 67 43 38 62 15 70 79 84 26 51 59 11 82 61 73 20 77 33 "
    .. "14 37 8 26 35 20 58 62 39 18 41 69 55 16 4 3 42 60 33 86 75 20 10 65 "
    .. "51 66 79 3 35 88 65 7 26 66 32 75"},
}

local CODE = [[
  local link_order = require("core.link_order")
  link_order.like_snabb()
  local c, texts, seed = config.new(), {}, %d
  local function random(n)
    seed = (seed * 1103515245 + 12345) %% 2^31
    return math.floor(seed / 65536) %% n
  end
  for _ = 1, %d do
    config.link(c, ("app%%d.out%%d -> x%%d.in%%d"):format(random(90), random(1000),
      random(9), random(9)))
  end
  for text in pairs(c.links) do texts[#texts + 1] = text end
  table.sort(texts)
  local list = link_order.of(c.links, texts)
  for i, text in ipairs(list) do list[i] = text:match("%%d+") end
  print(table.concat(list, " "))]]

describe("the order of links", function ()
  -- The same loop in Snabb, which prints what pairs() gives.
  it("is that of Snabb's hash table", function ()
    for _, case in ipairs(CASES) do
      assert.equal(case[3] .. "\n", (testing.perigee{"snsh", "-e",
        CODE:format(case[1], case[2])}))
    end
  end)
end)
