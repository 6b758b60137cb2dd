-- SPDX-License-Identifier: Apache-2.0
-- Loggers: messages to a file, no more than so many a second. What comes faster is
-- discarded and counted; while very much is, the rate is halved again and again, and
-- raised again when that is over.

local lib = require("core.lib")
local token_bucket = require("lib.token_bucket")
local tsc = require("lib.tsc")

local logger = {}

local options = {
  rate = {default = 10},                 -- messages a second
  discard_report_rate = {default = 0.2}, -- reports of discarded ones a second
  fh = {default = io.stdout},
  flush = {default = true},
  module = {},                           -- stands before each message
  date = {default = true},
  date_fmt = {default = "%b %d %Y %H:%M:%S "},
  throttle = {default = true},
  throttle_config = {default = {}},
}

local throttle_options = {
  excess = {default = 5},    -- discarded messages a second, in rates, that are too many
  increment = {default = 4}, -- the rate is raised by this part of it
  min_rate = {default = 0.1},
}

local Logger = {}
Logger.__index = Logger

--- A logger; `arg` may have what `options` above lists.
function logger.new(arg)
  local o = setmetatable(lib.parse(arg, options), Logger)
  o.throttle = o.throttle and lib.parse(o.throttle_config, throttle_options)
  o.tb = token_bucket.new{rate = o.rate}
  o.discard_tb = token_bucket.new{rate = o.discard_report_rate}
  o.discards = 0
  o.tsc = tsc.new()
  o.stamp = o.tsc:stamp()
  o.preamble = o.module and o.module .. ": " or ""
  return o
end

local function write(self, format, ...)
  local date = self.date and os.date(self.date_fmt) or ""
  self.fh:write(date, self.preamble, format:format(...), "\n")
end

-- Lower or raise the rate, by how many messages were discarded since the last report.
local function throttle(self)
  local t, rate = self.throttle, (self.tb:get())
  local seconds = tonumber(self.tsc:stamp() - self.stamp) / tonumber(self.tsc:tps())
  local discarded, threshold = self.discards / seconds, self.rate * t.excess
  if discarded > threshold and rate > t.min_rate then
    local new = math.max(t.min_rate, rate / 2)
    write(self, "Message discard rate %.2f Hz exceeds threshold (%.2f Hz), throttling "
      .. "logging rate to %.2f Hz%s", discarded, threshold, new,
      new == t.min_rate and " (minimum)" or "")
    self.tb:set(new)
  elseif discarded <= threshold and rate < self.rate then
    local new = math.min(self.rate, rate + self.rate / t.increment)
    write(self, "Unthrottling logging rate to %.2f Hz%s", new,
      new == self.rate and " (maximum)" or "")
    self.tb:set(new)
  end
end

local function report_discards(self)
  write(self, "%d messages discarded", self.discards)
  if self.throttle then throttle(self) end
  self.discards = 0
  self.stamp = self.tsc:stamp()
end

--- Write the message, or count it as discarded.
function Logger:log(message)
  if not self.tb:take(1) then
    self.discards = self.discards + 1
    return
  end
  write(self, "%s", message)
  if self.discards > 0 and self.discard_tb:take(1) then report_discards(self) end
  if self.flush then self.fh:flush() end
end

--- Whether a message would be written now; if not, one is counted as discarded: ask
--- before you make a message.
function Logger:can_log()
  if self.tb:can_take(1) then return true end
  self.discards = self.discards + 1
  return false
end

return logger
