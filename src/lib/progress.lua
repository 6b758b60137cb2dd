-- SPDX-License-Identifier: Apache-2.0
-- What a long run shows while it runs: on a terminal one line, rewritten every
-- second; elsewhere (a pipe, a file) a line every ten seconds. It hooks a repeating
-- core.timer, so it is the engine's main loop that keeps it going.

local stdio = require("posix.stdio")
local unistd = require("posix.unistd")
local engine = require("core.app")
local lib = require("core.lib")
local si = require("core.engine.report").si
local timer = require("core.timer")

local M = {}

local TERMINAL_INTERVAL_S = 1
local PLAIN_INTERVAL_S = 10
local ERASE_LINE = "\r\27[K"

local Progress = {}
Progress.__index = Progress

local function rate(now, before, field, seconds)
  return seconds > 0 and (now[field] - before[field]) / seconds or 0
end

--- One line of progress: `label`, the `elapsed` seconds, the rates from the totals
--- `before` to the totals `now` (as `start`'s `sample` returns them) in `seconds`
--- seconds, the totals, and `fraction` (0 to 1 or nil), how much of the run is over.
function M.line(label, elapsed, now, before, seconds, fraction)
  local parts = {("%s: %.0f s"):format(label, elapsed),
                 si(rate(now, before, "packets", seconds), "pps")}
  if now.bits then
    parts[#parts + 1] = si(rate(now, before, "bits", seconds), "bit/s")
  end
  parts[#parts + 1] = lib.comma_value(("%.0f"):format(now.packets)) .. " packets"
  if now.received then
    parts[#parts + 1] = ("received %s, lost %s"):format(
      si(rate(now, before, "received", seconds), "pps"),
      lib.comma_value(("%.0f"):format(now.lost)))
  end
  if fraction then
    parts[#parts + 1] = ("%.0f%%"):format(100 * math.min(fraction, 1))
  end
  parts[#parts + 1] = now.note
  return table.concat(parts, "  ")
end

-- The larger of the parts of the packets and of the time that are over.
local function fraction_over(self, packets, elapsed)
  if not self.limit and not self.duration then
    return nil
  end
  return math.max(packets / (self.limit or math.huge),
                  elapsed / (self.duration or math.huge))
end

local function show(self)
  local now, time = self.sample(), engine.now()
  if time - self.shown < self.interval_s / 2 then
    return  -- the timer is making up for a stall
  end
  local elapsed = time - self.started
  local line = M.line(self.label, elapsed, now, self.before, time - self.shown,
                      fraction_over(self, now.packets, elapsed))
  self.before, self.shown = now, time
  if self.terminal then
    self.stream:write(ERASE_LINE, line)
  else
    self.stream:write(line, "\n")
  end
  self.stream:flush()
end

--- Start to show progress. `options`:
---  label: what stands at the start of the line, such as the program's name;
---  sample: a function that returns the totals so far, a table of `packets`, and
---    where wanted `bits` (for a rate), `received` (packets that came back, for a rate)
---    with `lost`, and `note` (text, such as the drops);
---  interval_s: between lines where there is no terminal (default 10);
---  limit, duration: the packets and the seconds after which the run ends, if any;
---  stream: where to write (default: stdout).
--- Returns an object to be finished with `finish`.
function M.start(options)
  local stream = options.stream or io.stdout
  local terminal = unistd.isatty(stdio.fileno(stream)) == 1
  local interval_s = terminal and TERMINAL_INTERVAL_S or options.interval_s
    or PLAIN_INTERVAL_S
  local self = setmetatable({
    label = options.label,
    sample = options.sample,
    limit = options.limit,
    duration = options.duration,
    stream = stream,
    interval_s = interval_s,
    terminal = terminal,
    started = engine.now(),
    shown = engine.now(),
    before = options.sample(),
  }, Progress)
  self.first = self.before
  self.timer = timer.new("progress of " .. self.label, function() show(self) end,
                         interval_s * 1e9, "repeating")
  timer.activate(self.timer)
  return self
end

--- Stop showing progress and write the line of the whole run: the rates are its
--- averages. `quiet` leaves that line out, for a program with a report of its own.
function Progress:finish(quiet)
  timer.cancel(self.timer)
  if self.terminal then
    self.stream:write(ERASE_LINE)
  end
  if not quiet then
    local elapsed = engine.now() - self.started
    self.stream:write(M.line(self.label, elapsed, self.sample(), self.first, elapsed),
                      "\n")
  end
  self.stream:flush()
end

return M
