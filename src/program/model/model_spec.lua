-- SPDX-License-Identifier: Apache-2.0

local cjson = require("cjson")
local html = require("program.model.laboratory.html")
local kinds = require("program.model.laboratory.kinds")
local memory = require("program.model.laboratory.memory")
local testing = require("testing.support")
local testpmd = require("program.model.laboratory.testpmd")

local directory = os.tmpname()
os.remove(directory)

local function model(...)
  return testing.perigee{"model", ...}
end

local function read(name)
  local file = assert(io.open(directory .. "/" .. name))
  local text = file:read("*a")
  file:close()
  return text
end

describe("model #slow", function ()
  local said, status, result

  setup(function ()
    said, status = model("--quick", "--no-memory", "--ports", "null,ring", "--out",
      directory)
    assert.equal(0, status, said)
    result = cjson.decode(read("model.json"))
  end)

  teardown(function () os.execute("rm -rf " .. directory) end)

  it("measures null and ring ports without interfaces, with progress", function ()
    assert.matches("%[1/2, %d+ s%] null\n", said)
    assert.matches("%[2/2, %d+ s%] ring\n", said)
    assert.equal("null", result.ports[1].name)
    assert.equal("ring", result.ports[2].name)
    for _, port in ipairs(result.ports) do
      assert.is_nil(port.problem)
      assert.equal(5, #port.cells)
      for _, cell in ipairs(port.cells) do
        assert.is_true(cell.low <= cell.io and cell.io <= cell.high)
        assert.equal(5, #cell.rounds)
        assert.is_true(cell.limited)
        assert.is_true(cell.receive > 0 and cell.send > 0)
      end
    end
  end)

  it("finds that a packet costs more in small bursts", function ()
    for _, port in ipairs(result.ports) do
      local at = {}
      for _, cell in ipairs(port.cells) do
        if cell.size == 64 then at[cell.burst] = cell.io end
      end
      -- (Three times as much on an idle machine.)
      assert.is_true(at[1] > at[32], ("%s: %s, %s"):format(port.name, at[1], at[32]))
    end
  end)

  it("predicts the throughput with tasks it hasn't seen", function ()
    local best = math.huge
    for _, port in ipairs(result.ports) do
      assert.equal(6, #port.checks)
      assert.is_true(port.error_low <= port.error and port.error <= port.error_high)
      assert.is_true(port.error <= port.worst_error)
      best = math.min(best, port.error)
    end
    -- On an idle machine within 5 %; this one may be busy.
    assert.is_true(best < 0.2, ("%.2f"):format(best))
  end)

  it("prints the table, and writes it", function ()
    local text = read("model.txt")
    assert.matches(text, said, 1, true)
    assert.matches("ring +burst +size +C_IO", text)
    assert.matches("predicted with an error of [%d.]+ %%", text)
  end)

  it("writes a report that needs no network", function ()
    local page = read("report.html")
    assert.matches("^<!doctype html>", page)
    assert.matches("<td>ring</td>", page, 1, true)
    assert.not_matches('src="', page, 1, true)
    assert.not_matches('<link', page, 1, true)
    assert.not_matches("matplotlib.org", page, 1, true)
    if not said:find("no plots: ", 1, true) then
      assert.matches("<figure><svg", page, 1, true)
      for _, name in ipairs{"burst", "size", "task", "frequency"} do
        assert.matches("^\137PNG", read(name .. ".png"))
        assert.matches("<svg", read(name .. ".svg"))
      end
    end
  end)

  it("predicts from what it measured, and says what limits", function ()
    local file = directory .. "/model.json"
    local text = model("predict", "--model", file, "--task", "300", "--ghz", "3.3",
      "--line", "10G", "--size", "64")
    local io, cpu = text:match("C_IO: +([%d.]+) cycles %(measured, null, burst 32%)\n"
      .. "CPU: +([%d.]+) Mpps")
    assert.is_true(math.abs(3300 / (tonumber(io) + 300) / tonumber(cpu) - 1) < 0.001,
      text)
    assert.matches("line: +14.881 Mpps", text)
    text = model("predict", "--model", file, "--task", "3", "--burst", "48",
      "--port", "ring")
    assert.matches("fitted, off by [%d.]+ %%, ring, burst 48", text)
    text, status = model("predict", "--model", file, "--task", "3", "--port", "tap")
    assert.equal(2, status)
    assert.matches("the model has no port 'tap'; it has: null, ring", text, 1, true)
  end)

  it("predicts a graph from the table and the tasks apart", function ()
    local text, code = model("check", "--duration", "0.3", "--rounds", "1", "--limit",
      "100", "--model", directory .. "/model.json", "echo", "null", "3")
    assert.equal(0, code, text)
    local predicted, measured, off = text:match("apart from them: ([%d.]+) cycles = "
      .. "[%d.]+ Mpps\n  C_IO [%d.]+ %(receive [%d.]+, send [%d.]+%), C_task [%d.]+, "
      .. "engine [%d.]+\nmeasured: ([%d.]+) cycles = [%d.]+ Mpps, error ([-+%d.]+) %%")
    local expected = 100 * (tonumber(measured) / tonumber(predicted) - 1)
    assert.is_true(math.abs(tonumber(off) - expected) < 0.5, text)
    -- On an idle machine within 10 %; this one may be busy.
    assert.is_true(math.abs(expected) < 60, text)
  end)
end)

describe("model predict", function ()
  it("needs no measurement when it is given C_IO", function ()
    assert.equal([[
F_CPU = T * (C_IO + C_task + C_busy): 3.30 GHz = T * (105.0 + 30 + 86.8)
C_IO:  105.0 cycles (as given)
CPU:   24.444 Mpps
line:  14.881 Mpps (10 Gbit/s, frames of 64 bytes)
T =    14.881 Mpps: the line is the limit; the CPU has 87 cycles a packet left
]], (model("predict", "--task", "30", "--io", "105", "--ghz", "3.3", "--line", "10G")))
  end)

  it("says what is missing", function ()
    local text, status = model("predict", "--task", "30", "--model", "/nonexistent")
    assert.equal("perigee: there is no file /nonexistent; run `perigee model` first; "
      .. "or give C_IO with --io\n", text)
    assert.equal(2, status)
    assert.equal(2, select(2, model("predict")))
  end)

  it("refuses what can't be", function ()
    local file = os.tmpname()
    finally(function () os.remove(file) end)
    for _, text in ipairs{"", "[]", '{"ports":{"a":1}}', '{"ports":[{"name":"null"}]}',
        '{"core_per_tsc":1,"tsc_hz":1,"ports":[{"name":"null","cells":[],"model":{}}]}',
    } do
      local handle = assert(io.open(file, "w"))
      handle:write(text)
      handle:close()
      local said, status = model("predict", "--task", "3", "--model", file)
      assert.equal(("perigee: %s isn't what `perigee model` writes; or give C_IO with "
        .. "--io\n"):format(file), said)
      assert.equal(2, status)
    end
    for said, args in pairs{
      ["are both 0"] = {"--task", "0", "--io", "0", "--ghz", "3"},
      ["at 1e+300 GHz can't be reckoned with"] = {"--task", "1", "--io", "0", "--ghz",
        "1e300", "--json"},
      ["inf cycles a packet at 3 GHz can't be reckoned with"] = {"--task", "1e308",
        "--io", "1e308", "--ghz", "3"},
      ["'1e400' isn't a number"] = {"--task", "1e400", "--io", "3", "--ghz", "3"},
      ["'inf' isn't a number"] = {"--task", "1", "--io", "3", "--ghz", "inf"},
    } do
      local text, status = model("predict", unpack(args))
      assert.matches(said, text, 1, true)
      assert.equal(2, status)
    end
  end)
end)

describe("model check #slow", function ()
  it("measures a program's graph and tests the prediction", function ()
    local text, status = model("check", "--duration", "0.2", "--rounds", "1", "--limit",
      "60", "echo", "null", "3")
    assert.equal(0, status, text)
    assert.matches("a packet takes [%d.]+ TSC cycles", text)
    assert.matches("C_IO [%d.]+ %(receive [%d.]+, send [%d.]+%), C_task", text)
    assert.matches("not predicted from the table of ports: there is no file "
      .. "perigee-model/model.json; run `perigee model` first\n", text, 1, true)
    local _, n = text:gsub("cycles: predicted [%d.]+ Mpps, measured [%d.]+ Mpps", "")
    assert.equal(3, n)
    assert.matches("median error: [%d.]+ %%\n$", text)
  end)

  it("fails when the prediction is further off than allowed", function ()
    local text, status = model("check", "--duration", "0.1", "--rounds", "1", "--limit",
      "1e-9", "echo", "null", "3")
    assert.equal(1, status)
    assert.matches("the prediction is off by more than 1e-09 %", text, 1, true)
  end)

  it("says why a program can't be measured", function ()
    for _, case in ipairs{
      {{}, "model check needs a program", 2},
      {{"nosuch"}, "there is no program 'nosuch'", 1},
      {{"--duration", "0.1", "--rounds", "1", "echo", "ring:a"},
       "no packets came in", 1},
    } do
      local text, status = model("check", unpack(case[1]))
      assert.matches(case[2], text, 1, true)
      assert.equal(case[3], status)
    end
  end)
end)

describe("model's parts", function ()
  it("name what can't be measured", function ()
    local text, status = model("--ports", "carrier-pigeon")
    assert.equal(2, status)
    assert.matches("there is no kind of port 'carrier-pigeon' to measure; there are: "
      .. "null, ring, pcap, memif, vhost, packet, xdp, tap", text, 1, true)
    text, status = model("--ports", ",")
    assert.equal(2, status)
    assert.matches("--ports: no kind of port is named; there are: null", text, 1, true)
    text, status = model("prediction")
    assert.equal(2, status)
    assert.matches("'prediction' is neither `predict` nor `check`", text, 1, true)
    assert.equal("0000:01:00.0", kinds.find("0000:01:00.0").receive)
    assert.is_nil(kinds.find("pigeon"))
  end)

  it("say at once that a device isn't there", function ()
    for _, pci in ipairs{"ffff:1f:1f.7", "ffff:1f:1f.7=ffff:1f:1f.6"} do
      local text, status = model("--ports", "null", pci)
      assert.equal(2, status)
      assert.not_matches("[1/", text, 1, true)
      assert.matches("port 'ffff:1f:1f.7': there is no PCI device ffff:1f:1f.7", text,
        1, true)
    end
  end)

  it("say at once that they can't write", function ()
    local file = os.tmpname()
    finally(function () os.remove(file) end)
    local text, status = model("--no-memory", "--ports", "null", "--out", file)
    assert.equal(1, status)
    assert.not_matches("[1/1, ", text, 1, true)
    assert.matches("can't make the folder " .. file, text, 1, true)
  end)

  it("find the steps of memory", function ()
    local rows = {}
    for i, cycles in ipairs{4, 4, 4.1, 12, 13, 90} do
      rows[i] = {bytes = 1024 * 2^i, cycles = cycles}
    end
    local levels = memory.levels(rows)
    assert.equal(3, #levels)
    assert.same({8192, 32768, 65536},
      {levels[1].bytes, levels[2].bytes, levels[3].bytes})
    assert.equal(4, levels[1].cycles)
    assert.equal(12.5, levels[2].cycles)
  end)

  it("read what testpmd prints", function ()
    local packets, seconds = testpmd.parse("  RX-packets: 12  RX-dropped: 0\n +++\n"
      .. "  RX-packets: 66044832       RX-dropped: 0\nBye...\n"
      .. "0m0.000000s 0m0.000000s\n1m1.070000s 0m0.310000s\n")
    assert.equal(66044832, packets)
    assert.is_true(math.abs(seconds - 61.07) < 1e-9)
    assert.is_nil((testpmd.parse("EAL: Cannot init\n0m0.0s 0m0.0s\n")))
  end)

  it("escape what they put into the page", function ()
    local page = html.page({cpu = "<&>", date = "now", ports = {}, tsc_hz = 1e9,
      core_per_tsc = 1, seconds = 1}, "a < b", "/nonexistent")
    assert.matches("&lt;&amp;&gt;", page, 1, true)
    assert.matches("a &lt; b", page, 1, true)
  end)
end)
