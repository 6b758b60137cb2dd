-- SPDX-License-Identifier: Apache-2.0

local fit = require("program.model.fit")

local function near(expected, value, tolerance)
  assert.is_true(math.abs(value - expected) <= (tolerance or 1e-6),
    ("%s isn't near %s"):format(value, expected))
end

describe("the model's arithmetic", function ()
  it("finds a line", function ()
    local a, b = fit.line{{0, 10}, {1, 13}, {2, 16}, {10, 40}}
    near(10, a)
    near(3, b)
  end)

  it("has medians, and intervals around them", function ()
    assert.equal(3, fit.median{5, 1, 3})
    assert.equal(2.5, fit.median{4, 1, 3, 2})
    local list = {9, 10, 10, 11, 30}
    local low, high = fit.interval(list)
    assert.is_true(low <= 10 and high >= 10 and low >= 9 and high <= 30)
    assert.same({low, high}, {fit.interval(list)})
    assert.same({7, 7}, {fit.interval{7, 7, 7}})
  end)

  it("solves for C_IO where the CPU is the limit from the start", function ()
    local s = fit.solve{
      {{0, 100}, {100, 200}, {200, 300}}, {{0, 110}, {100, 210}, {200, 310}},
      {{0, 90}, {100, 190}, {200, 290}}}
    near(100, s.io)
    near(1, s.slope)
    near(0, s.busy)
    assert.is_true(s.low >= 90 and s.high <= 110 and s.low < s.high)
  end)

  it("takes out what others took of the CPU", function ()
    local points = {{0, 130}, {100, 260}, {200, 390}} -- all 1.3 times as much
    local s = fit.solve{points, points}
    near(100, s.io)
    near(1.3, s.slope)
  end)

  it("leaves out tasks that an idle CPU takes without sending less", function ()
    -- 3.3 GHz, 14.88 Mpps on the line: 221 cycles a packet; C_IO is 105 (the thesis's
    -- DPDK), so that a task of 116 is free.
    local points = {}
    for i, task in ipairs{0, 50, 100, 150, 200, 400} do
      points[i] = {task, math.max(221.77, 105 + task)}
    end
    local s = fit.solve{points, points}
    near(105, s.io, 0.01)
    near(116.77, s.busy, 0.01)
  end)

  it("fits bursts and sizes", function ()
    local cells = {}
    for _, burst in ipairs{1, 8, 32, 256} do
      cells[#cells + 1] = {burst = burst, size = 64, io = 20 + 180 / burst + 0.1 * 64}
    end
    for _, size in ipairs{512, 1518} do
      cells[#cells + 1] = {burst = 32, size = size, io = 20 + 180 / 32 + 0.1 * size}
    end
    local m = fit.io(cells)
    near(180, m.per_burst, 1e-3)
    near(0.1, m.per_byte, 0.005)
    assert.is_true(m.error < 0.02)
    near(20 + 180 / 4 + 0.1 * 1000, fit.io_of(m, 4, 1000), 4)
  end)

  it("predicts the thesis's limits", function ()
    near(14880952, fit.line_rate(10e9, 64), 1)
    near(812744, fit.line_rate(10e9, 1518), 1)
    -- F_CPU = T (C_IO + C_task): 3.3 GHz, 105 + 300 cycles.
    local p = fit.predict{io = 105, task = 300, hz = 3.3e9, line = 10e9, size = 64}
    near(3.3e9 / 405, p.rate, 1)
    assert.equal("cpu", p.limit)
    near(0, p.busy)
    p = fit.predict{io = 105, task = 50, hz = 3.3e9, line = 10e9, size = 64}
    assert.equal("line", p.limit)
    near(14880952, p.rate, 1)
    near(3.3e9 / 14880952.38 - 155, p.busy, 0.01)
    assert.equal("cpu", fit.predict{io = 1, task = 1, hz = 1e9}.limit)
  end)
end)
