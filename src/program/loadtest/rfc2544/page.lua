-- SPDX-License-Identifier: Apache-2.0
-- The report of the tests of RFC 2544 as a page: the table, plots as its sections 26.1
-- to 26.4 ask for them, and each trial. Pure.

local html = require("lib.picture.page")
local latency_text = require("lib.traffic.latency").text
local plot = require("lib.picture.plot")
local si = require("core.engine.report").si
local text = require("program.loadtest.rfc2544.text")

local page = {}

-- The points of the results that have y(result).
local function points(found, y)
  local list = {}
  for _, r in ipairs(found.results) do
    local value = y(r)
    if value then list[#list + 1] = {r.frame, value} end
  end
  return list
end

local function section(add, title, series, axes, caption)
  local any = false
  for _, s in ipairs(series) do any = any or #s.points > 0 end
  if not any then return end
  add(("<h2>%s</h2>\n"):format(html.escape(title)))
  add(html.figure(plot.text(series, axes), caption))
end

local function throughput(add, found)
  section(add, "Throughput", {
    {name = "the line", points = points(found, function (r)
      return r.throughput and r.line_pps
    end)},
    {name = "throughput", points = points(found, function (r)
      return r.throughput and r.throughput.pps
    end)},
  }, {x = "bytes of a frame", y = "frames a second"},
    "The highest rate at which no frame is lost (section 26.1), each stream.")
end

local function latency(add, found)
  local function of(key)
    return points(found, function (r)
      local summary = r.latency and r.latency.summary
      return summary and summary[key] / 1e3
    end)
  end
  section(add, "Latency", {
    {name = "mean", points = points(found, function (r)
      return r.latency and r.latency.mean and r.latency.mean / 1e3
    end)},
    {name = "median", points = of("median")}, {name = "p99", points = of("p99")},
    {name = "p99.9", points = of("p999")},
  }, {x = "bytes of a frame", y = "microseconds"},
    "At the throughput (section 26.2). Every frame is measured, and the mean is that "
    .. "of the trials; it holds the time in bursts of the sender and the receiver.")
  local rows = {}
  for _, r in ipairs(found.results) do
    for i, trial in ipairs(r.latency and r.latency.trials or {}) do
      for _, s in ipairs(trial) do
        local l = s.latency
        rows[#rows + 1] = {("%d"):format(r.frame), ("%d"):format(i), s.name,
          l and latency_text(l.min) or "-", l and latency_text(l.mean) or "-",
          l and latency_text(l.median) or "-", l and latency_text(l.p99) or "-",
          l and latency_text(l.max) or "-", ("%.0f"):format(s.lost)}
      end
    end
  end
  if #rows > 0 then
    add(html.table({"frame, bytes", "trial", "stream", "min", "mean", "median", "p99",
      "max", "lost"}, rows))
  end
end

local function loss(add, found)
  local series, rows = {}, {}
  for _, r in ipairs(found.results) do
    local list = {}
    for _, trial in ipairs(r.loss or {}) do
      if trial.tx > 0 then
        list[#list + 1] = {100 * trial.rate / found.bitrate, 100 * trial.loss}
      end
      rows[#rows + 1] = {("%d"):format(r.frame), si(trial.rate, "bit/s"),
        ("%.0f"):format(trial.tx), ("%.0f"):format(trial.lost),
        text.share(trial), trial.kept and "" or "rate not kept",
        trial.void and "this machine was late" or ""}
    end
    series[#series + 1] = {name = ("%d bytes"):format(r.frame), points = list}
  end
  section(add, "Frame loss rate", series, {x = "percent of the line's rate",
    y = "percent lost"}, "From the line's rate down, until two rates in succession "
    .. "lose nothing (section 26.3).")
  if #rows > 0 then
    add(html.table({"frame, bytes", "rate", "sent", "lost", "share", "", ""}, rows))
  end
end

local function back_to_back(add, found)
  section(add, "Back-to-back frames", {{name = "frames", points = points(found,
    function (r) return r.back_to_back and r.back_to_back.frames end)}},
    {x = "bytes of a frame", y = "frames"}, "The longest burst at the line's rate of "
    .. "which no frame is lost, the mean of the searches (section 26.4).")
end

local function conditions(found)
  local streams = {}
  for i, s in ipairs(found.streams) do
    streams[i] = ("%s at %s, back at %s"):format(s.tx, s.port, s.rx)
  end
  return html.table({"", ""}, {
    {"time", found.time}, {"Perigee", found.version},
    {"streams", table.concat(streams, "; ")}, {"line", si(found.bitrate, "bit/s")},
    {"precision", si(found.precision, "bit/s")},
    {"trials", ("%g s, %g s wait, %g s pause"):format(found.duration, found.wait,
      found.pause)},
    {"trials for latency", ("%d of %g s"):format(found.latency_trials,
      found.latency_duration)},
    {"searches for bursts", ("%d, up to %g s"):format(found.bursts,
      found.burst_duration)},
    {"as the RFC asks", found.quick and "no: --quick" or "unless noted above"},
  })
end

--- The page for `found`, what `perigee loadtest rfc2544` writes as JSON.
function page.text(found)
  local parts = {}
  local function add(item) parts[#parts + 1] = item end
  add(html.table(text.rows(found)))
  if text.marked(found) then add(("<p>%s</p>\n"):format(html.escape(text.MARK))) end
  throughput(add, found)
  latency(add, found)
  loss(add, found)
  back_to_back(add, found)
  add("<h2>Conditions</h2>\n" .. conditions(found))
  return html.text("RFC 2544", table.concat(parts))
end

return page
