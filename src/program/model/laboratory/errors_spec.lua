-- SPDX-License-Identifier: Apache-2.0

local errors = require("program.model.laboratory.errors")
local fit = require("program.model.laboratory.fit")

-- Rounds of a port that takes 100 cycles, and one for each of the task; each number is
-- a round's disturbance. Tasks checked take 4 % less than they should.
local function cell(disturbances)
  local fitted, checks = {}, {}
  for i, off in ipairs(disturbances) do
    local function point(task, times)
      return {task, (100 + task) * (times or 1) + off, 32}
    end
    fitted[i] = {point(0), point(100), point(200), point(400)}
    checks[i] = {point(0), point(150, 0.96), point(300, 0.96)}
  end
  return {fitted = fitted, checks = checks}
end

describe("the model's error", function ()
  it("is that of tasks it hasn't seen, by task", function ()
    local c = cell{0, 0, 0}
    local rows = errors.rows(fit.solve(c.fitted), c.checks)
    assert.equal(3, #rows)
    assert.is_true(math.abs(rows[1].error) < 1e-9)
    assert.is_true(math.abs(rows[2].error + 0.04) < 1e-9)
    assert.is_true(math.abs(rows[3].predicted - 400) < 1e-6)
    assert.is_true(math.abs(rows[3].cycles - 384) < 1e-6)
  end)

  it("is the median over cells, with an interval and the largest", function ()
    local median, low, high, worst = errors.of{cell{0, 0, 0}, cell{0, 0, 0}}
    for _, value in ipairs{median, low, high, worst} do
      assert.is_true(math.abs(value - 0.04) < 1e-9)
    end
    assert.is_nil((errors.of{}))
  end)

  it("is less certain when rounds differ", function ()
    local cells = {cell{0, 3, 9, -4, 20, 1, -7}}
    local median, low, high, worst = errors.of(cells)
    assert.is_true(low < high and low <= median and median <= high and high <= 1)
    assert.is_true(median <= worst)
    assert.same({median, low, high, worst}, {errors.of(cells)})
  end)
end)
