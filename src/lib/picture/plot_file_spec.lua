-- SPDX-License-Identifier: Apache-2.0

local connect = require("program.connect.plot")
local lib = require("core.lib")
local loadtest = require("program.loadtest.plot")
local plot_file = require("lib.picture.plot_file")

-- What is written to a file with this ending.
local function written(ending, ...)
  local path = os.tmpname()
  os.remove(path)
  path = path .. ending
  plot_file.write(path, ...)
  local text = lib.readfile(path, "*a")
  os.remove(path)
  return text
end

local FIGURES = {
  {title = "a < b", series = {{name = "x&y", points = {{0, 1}, {2, 3}}},
    {name = "empty", points = {}}}, x = "time", y = "rate", caption = "so it is"},
  {title = "nothing", series = {{name = "none", points = {}}}, x = "", y = ""},
}

describe("A file of plots", function ()
  it("is a picture", function ()
    local text = written(".svg", "run", FIGURES)
    assert.equal(2, select(2, text:gsub("<svg ", "")))
    assert.equal(2, select(2, text:gsub("</svg>", "")))
    assert.matches("a &lt; b", text, 1, true)
    assert.matches("x&amp;y", text, 1, true)
    assert.not_matches("empty", text)
    assert.not_matches("nothing", text)
  end)

  it("is a page, with a table", function ()
    local text = written(".html", "run", FIGURES, {"k", "v"}, {{"one", "<1>"}})
    assert.matches("<h1>run</h1>", text, 1, true)
    assert.matches("<h2>a &lt; b</h2>", text, 1, true)
    assert.matches("<td>&lt;1&gt;</td>", text, 1, true)
    assert.matches("so it is", text, 1, true)
  end)

  it("isn't written if none is wanted, and fails by a sentence", function ()
    plot_file.write(nil, "run", FIGURES)
    assert.has_error(function ()
      plot_file.write("/no/such/folder/x.svg", "run", FIGURES)
    end)
  end)
end)

describe("Trials of loadtest", function ()
  local function trial(rate, loss, void)
    return {rate = rate, void = void, streams = {{loss = loss, tx_rate = rate,
      rx_rate = rate * (1 - loss)}, {loss = 0, tx_rate = rate, rx_rate = rate}}}
  end

  it("are drawn by rate, without void ones", function ()
    local figures = loadtest.search{{size = 60, limit = 2e9, trials = {trial(4e9, 0.5),
      trial(2e9, 0), trial(3e9, 0.25, true)}}}
    assert.same({{name = "60 bytes", points = {{2, 0}, {4, 50}}}}, figures[1].series)
    assert.same({{60, 2}}, figures[2].series[1].points)
  end)

  it("are drawn over time", function ()
    local figures = loadtest.course({trial(1e9, 0), trial(2e9, 0.5)}, 5)
    assert.same({{0, 2}, {5, 4}}, figures[1].series[1].points)
    assert.same({{0, 2}, {5, 3}}, figures[1].series[2].points)
    assert.same({{0, 0}, {5, 50}}, figures[2].series[1].points)
  end)
end)

describe("A run of connect", function ()
  it("is drawn by rates, and latency by nines", function ()
    local function sample(time, n)
      return {time = time, started = n, open = 1, answers = 2 * n, retransmits = 0}
    end
    local figures = connect.figures({{sample(0, 0), sample(1, 10), sample(3, 20)}},
      {sides = {{name = "client", connect = {median = 1000, p90 = 2000, p99 = 3000,
        p999 = 4000}}}})
    assert.same({{1, 10}, {3, 5}}, figures[1].series[1].points)
    assert.same({{1, 20}, {3, 10}}, figures[1].series[2].points)
    assert.same({{0, 1}, {1, 1}, {3, 1}}, figures[2].series[1].points)
    local nines = figures[3].series[1].points
    assert.same({1, 2, 3, 4}, {nines[1][2], nines[2][2], nines[3][2], nines[4][2]})
    assert.is_true(math.abs(nines[3][1] - 2) < 1e-9)
    assert.same({}, figures[3].series[2].points)
  end)
end)
