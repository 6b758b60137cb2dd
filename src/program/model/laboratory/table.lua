-- SPDX-License-Identifier: Apache-2.0
-- What `perigee model` measured, as text: one table of ports, one of memory, and how
-- far the model is off.

local memory = require("program.model.laboratory.memory")

local M = {}

--- "1 KB", "2 MB".
function M.bytes(n)
  if n >= 2^20 then return ("%g MB"):format(n / 2^20) end
  return ("%g KB"):format(n / 2^10)
end

local function show_port(say, port)
  if port.problem then
    return say("%-8s not measured: %s", port.name, port.problem)
  end
  say("%-8s burst    size   C_IO   (95 %% interval)  overlap   C_busy   task x    Mpps",
    port.name)
  for _, cell in ipairs(port.cells) do
    say("%14d %7d %6.1f   (%.1f to %.1f)%s %7.1f %8.1f %8.2f %7.3f", cell.burst,
      cell.size, cell.io, cell.low, cell.high,
      (" "):rep(math.max(0, 10 - #("%.1f%.1f"):format(cell.low, cell.high))),
      cell.overlap, cell.busy, cell.slope, port.tsc_hz / (cell.io + cell.busy) / 1e6)
  end
  local m = port.model
  say("         C_IO = %.1f + %.1f / burst + %.4f * size, off by %.1f %% (median)",
    m.per_packet, m.per_burst, m.per_byte, 100 * m.error)
  if port.error then
    say("         throughput with other tasks (0 to 1000 cycles) is predicted with an "
      .. "error of %.1f %%", 100 * port.error)
    say("         (median; %.1f to %.1f with 95 %% confidence; %.1f at most)",
      100 * port.error_low, 100 * port.error_high, 100 * port.worst_error)
  end
end

local function show_memory(say, rows)
  for _, pages in ipairs{"4K", "2M"} do
    local list, problem = {}, nil
    for _, row in ipairs(rows) do
      if row.asked == pages then
        list[#list + 1] = row
        problem = problem or row.problem
      end
    end
    say("")
    say("memory on pages of %s: TSC cycles of a dependent access", pages)
    for _, row in ipairs(list) do
      if row.cycles then
        say("%10s %8.1f   (%.1f to %.1f)", M.bytes(row.bytes), row.cycles, row.low,
          row.high)
      end
    end
    if problem then say("  not all measured: %s", problem) end
    local steps = {}
    for _, level in ipairs(memory.levels(list)) do
      steps[#steps + 1] = ("%.1f up to %s"):format(level.cycles, M.bytes(level.bytes))
    end
    say("  levels: %s", table.concat(steps, ", "))
  end
end

--- The result as text.
function M.text(result)
  local lines = {}
  local function say(fmt, ...) lines[#lines + 1] = fmt:format(...) end
  say("TSC at %.3f GHz, core at %.2f times that; cycles are TSC cycles of CPU time",
    result.tsc_hz / 1e9, result.core_per_tsc)
  for _, port in ipairs(result.ports) do
    say("")
    show_port(say, port)
  end
  if result.memory[1] then show_memory(say, result.memory) end
  if result.testpmd then
    say("")
    for _, row in ipairs(result.testpmd) do
      say("testpmd %-4s %-12s burst %3d: %s", row.mode, row.port, row.burst,
        row.problem or ("%.1f cycles a packet (perigee here: %s)"):format(row.cycles,
          row.perigee and ("%.1f"):format(row.perigee) or "not measured"))
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
