-- SPDX-License-Identifier: Apache-2.0
-- Loss, reordering and duplicates: known cases, and against a plain table.

local random = require("lib.traffic.random")
local sequence = require("lib.traffic.sequence")

local W = sequence.WINDOW

local function count(numbers)
  local s = sequence.new()
  for _, number in ipairs(numbers) do sequence.add(s, number) end
  return {distinct = s.distinct, duplicates = s.duplicates, reordered = s.reordered,
          too_late = s.too_late, lost = sequence.lost(s)}
end

local function expect(numbers, fields)
  local wanted = {distinct = #numbers, duplicates = 0, reordered = 0, too_late = 0,
                  lost = 0}
  for key, value in pairs(fields) do wanted[key] = value end
  assert.are.same(wanted, count(numbers))
end

describe("lib.traffic.sequence", function()
  it("counts what comes in order", function()
    expect({}, {})
    expect({0, 1, 2, 3}, {})
    expect({7, 8, 9}, {})
    expect({0, 2, 5}, {lost = 3})
  end)

  it("counts reordering as RFC 4737 does, and duplicates apart", function()
    -- The sequence of RFC 4737, section 3.3's definition: 4 comes after 5 and 6.
    expect({1, 2, 3, 5, 6, 4, 7}, {reordered = 1})
    expect({3, 2, 1, 0}, {reordered = 3})
    expect({0, 1, 1, 2, 0}, {distinct = 3, duplicates = 2})
    expect({0, 2, 1, 1}, {distinct = 3, duplicates = 1, reordered = 1})
    expect({1, 0, 0}, {distinct = 2, duplicates = 1, reordered = 1})
  end)

  it("knows a window back, and says what lies behind it", function()
    expect({0, W, 0}, {distinct = 2, too_late = 1, lost = W - 1})
    expect({0, W - 1, 0}, {distinct = 2, duplicates = 1, lost = W - 2})
    expect({1, W + 1, 2}, {distinct = 3, reordered = 1, lost = W - 2})
    expect({5, 5 + 7 * W, 5 + W}, {distinct = 2, too_late = 1, lost = 7 * W - 1})
  end)

  it("tells from the number sent what was lost at the end", function()
    local s = sequence.new()
    for i = 2, 5 do sequence.add(s, i) end
    assert.are.equal(0, sequence.lost(s))
    assert.are.equal(6, sequence.lost(s, 10))
  end)

  it("agrees with a plain table on random numbers", function()
    local seen, highest, wanted = {}, -1, {distinct = 0, duplicates = 0, reordered = 0}
    local s, base = sequence.new(), 2^32 - 3000
    for i = 1, 50000 do
      local number = base + math.floor(i / 2 + 500 * random.at(i, 11ULL))
      sequence.add(s, number)
      if seen[number] then
        wanted.duplicates = wanted.duplicates + 1
      else
        seen[number] = true
        wanted.distinct = wanted.distinct + 1
        if number < highest then wanted.reordered = wanted.reordered + 1 end
      end
      highest = math.max(highest, number)
    end
    for key, value in pairs(wanted) do assert.are.equal(value, s[key], key) end
    assert.is_true(wanted.reordered > 1000 and wanted.duplicates > 1000)
    assert.are.equal(0, s.too_late)
  end)
end)
