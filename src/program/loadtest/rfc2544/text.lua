-- SPDX-License-Identifier: Apache-2.0
-- What the tests of RFC 2544 say, line by line, and the table at their end. Pure.

local latency_text = require("lib.traffic.latency").text
local si = require("core.engine.report").si

local text = {}

local function percent(share) return ("%.3g %%"):format(100 * share) end

--- The throughput of a size.
function text.throughput(found)
  if not found.pps then return "Throughput: not measured.\n" end
  return ("Throughput: %s, %s, %s of the line.\n"):format(si(found.pps, "pps"),
    si(found.limit, "bit/s"), percent(found.share))
end

--- One trial of one stream.
function text.latency_trial(trial, number)
  local s = trial.latency
  if not s then
    return ("Latency, trial %d, %s: no packet came back with its time.\n"):format(
      number, trial.name)
  end
  return ("Latency, trial %d, %s: mean %s, median %s, p99 %s, max %s, of %.0f packets; "
    .. "%.0f lost.\n"):format(number, trial.name, latency_text(s.mean),
    latency_text(s.median), latency_text(s.p99), latency_text(s.max), s.count,
    trial.lost)
end

--- The trials together.
function text.latency(test)
  if not test.mean then return "Latency: not measured.\n" end
  return ("Latency: %s, the mean of the trials.\n"):format(latency_text(test.mean))
end

--- The share that was lost in a trial, where anything was sent.
function text.share(trial)
  return trial.tx > 0 and percent(trial.loss) or "-"
end

--- One rate of the frame loss test.
function text.loss(trial)
  if trial.tx == 0 then
    return ("At %s: nothing was sent.\n"):format(si(trial.rate, "bit/s"))
  end
  return ("At %s: %s of %.0f packets lost%s%s.\n"):format(si(trial.rate, "bit/s"),
    percent(trial.loss), trial.tx,
    trial.kept and "" or "; the rate was not kept",
    trial.void and "; this machine was late" or "")
end

local function by_machine(is_so)
  return is_so and ", which this machine may have set" or ""
end

--- One search for the longest burst.
function text.burst_trial(trial, number)
  return ("Burst, search %d: %.0f frames%s.\n"):format(number, trial.frames,
    by_machine(trial.machine))
end

--- The searches together.
function text.bursts(test)
  return ("Back to back: %.0f frames, %.3g s%s.\n"):format(test.frames, test.seconds,
    test.frames >= test.longest and ", the longest that was tried"
      or by_machine(test.machine))
end

--- The cells of the table at the end: its head, and a row for each size.
function text.rows(found)
  local head = {"frame, bytes", "throughput", "of the line", "latency", "loss at 100 %",
                "back to back"}
  local rows = {}
  for i, r in ipairs(found.results) do
    local t, l, b = r.throughput, r.latency, r.back_to_back
    local pps = t and (t.pps and si(t.pps, "pps") or "-")
    rows[i] = {
      ("%d"):format(r.frame), pps and pps .. (t.machine and " *" or "") or "-",
      t and t.pps and percent(t.share) or "-",
      l and l.mean and latency_text(l.mean) or "-",
      r.loss and text.share(r.loss[1]) .. (r.loss[1].kept and "" or " *") or "-",
      b and ("%.0f frames"):format(b.frames) .. (b.machine and " *" or "") or "-"}
  end
  return head, rows
end

--- Did this machine set any of the figures?
function text.marked(found)
  for _, r in ipairs(found.results) do
    if r.throughput and r.throughput.machine or r.loss and not r.loss[1].kept
        or r.back_to_back and r.back_to_back.machine then
      return true
    end
  end
  return false
end

text.MARK = "* at a rate that this machine or the port didn't keep."

--- The table.
function text.summary(found)
  local head, rows = text.rows(found)
  local widths, lines = {}, {}
  table.insert(rows, 1, head)
  for _, row in ipairs(rows) do
    for k, cell in ipairs(row) do widths[k] = math.max(widths[k] or 0, #cell) end
  end
  for i, row in ipairs(rows) do
    local cells = {}
    for k, cell in ipairs(row) do cells[k] = (" "):rep(widths[k] - #cell) .. cell end
    lines[i] = table.concat(cells, "  ")
  end
  if text.marked(found) then lines[#lines + 1] = text.MARK end
  return table.concat(lines, "\n") .. "\n"
end

return text
