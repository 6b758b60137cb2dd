-- SPDX-License-Identifier: Apache-2.0

local fit = require("program.model.laboratory.fit")

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
      {{0, 100, 32}, {100, 200, 32}, {200, 300, 32}},
      {{0, 110, 32}, {100, 210, 31}, {200, 310, 32}},
      {{0, 90, 32}, {100, 190, 32}, {200, 290, 32}}}
    near(100, s.io)
    near(1, s.slope)
    near(0, s.busy)
    near(0, s.overlap)
    assert.is_true(s.limited)
    near(90, s.low)
    near(110, s.high)
  end)

  it("tells what passes beside a task from what an idle CPU had left", function ()
    -- 20 cycles of 100 pass beside the task.
    local points = {{0, 100, 32}, {100, 180, 32}, {200, 280, 32}, {400, 480, 32}}
    local s = fit.solve{points, points}
    near(100, s.io)
    near(20, s.overlap)
    near(0, s.busy)
    near(100, fit.cycles(s, 0))
    near(180, fit.cycles(s, 100))
    near(100, fit.cycles(s, 5))
    -- With half the packets a breath, the same is time left.
    points[1][3] = 16
    s = fit.solve{points, points}
    assert.is_false(s.limited)
    near(80, s.io)
    near(20, s.busy)
    near(0, s.overlap)
    near(100, fit.cycles(s, 0))
    near(180, fit.cycles(s, 100))
    -- A task may also cost more than itself.
    points = {{0, 100, 32}, {100, 210, 32}, {200, 310, 32}}
    s = fit.solve{points, points}
    near(-10, s.overlap)
    near(100, fit.cycles(s, 0))
    near(160, fit.cycles(s, 50))
  end)

  it("takes out what others took of the CPU", function ()
    -- All 1.3 times as much.
    local points = {{0, 130, 8}, {100, 260, 8}, {200, 390, 8}}
    local s = fit.solve{points, points}
    near(100, s.io)
    near(1.3, s.slope)
    near(390, fit.cycles(s, 200))
  end)

  it("leaves out tasks that an idle CPU takes without sending less", function ()
    -- 3.3 GHz, 14.88 Mpps on the line: 221 cycles a packet; C_IO is 105 (the thesis's
    -- DPDK), so that a task of 116 is free.
    local points = {}
    for i, task in ipairs{0, 50, 100, 150, 200, 400} do
      local cycles = math.max(221.77, 105 + task)
      points[i] = {task, cycles, 64 * (105 + task) / cycles}
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
