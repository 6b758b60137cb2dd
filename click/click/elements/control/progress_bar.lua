-- SPDX-License-Identifier: Apache-2.0
-- ProgressBar shows on standard error how far something has come, which handlers say.

local calls = require("click.script.calls")
local element = require("click.element")
local errors = require("click.errors")
local unistd = require("posix.unistd")

local WIDTH = 20          -- of the bar, in characters
local LONGEST = 100 * 3600 -- seconds that are shown
local UNITS = {"B ", "KB", "MB", "GB", "TB"}

local ProgressBar = element.define{
  name = "ProgressBar", summary = "shows progress on standard error", ports = "0/0",
  exclusive = true,
  arguments = {
    {"POSHANDLER", "argument", required = true},
    {"SIZEHANDLER", "argument", default = ""},
    {"UPDATE", "seconds", default = 0.25, keyword = true},
    {"BANNER", "string", default = "", keyword = true},
    {"FIXED_SIZE", "real", keyword = true},
    {"DELAY", "seconds", default = 0, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"CHECK_STDOUT", "bool", default = false, keyword = true},
  },
}

function ProgressBar:configure(a)
  self.position_handlers, self.size_handlers = a.POSHANDLER, a.SIZEHANDLER
  self.update, self.banner, self.active = math.max(a.UPDATE, 0.01), a.BANNER, a.ACTIVE
  self.size, self.delay, self.position = a.FIXED_SIZE, a.DELAY, 0
  self.shown = unistd.isatty(2) ~= nil
    and not (a.CHECK_STDOUT and unistd.isatty(1) ~= nil)
end

-- The sum of what the handlers in `list` say; nil if one doesn't say a number.
local function read(self, list)
  local total
  for name in list:gmatch("%S+") do
    local call = calls.parse(name, self, "read")
    local value = call and tonumber((calls.read(call, errors.new())))
    if not value then return nil end
    total = (total or 0) + value
  end
  return total
end

local function amount(n)
  local unit = 1
  while n >= 100000 and unit < #UNITS do n, unit = n / 1024, unit + 1 end
  return ("%5.0f%s"):format(n, UNITS[unit])
end

local function clock_text(seconds)
  if seconds >= LONGEST then return "--:--" end
  local hours = math.floor(seconds / 3600)
  local text = ("%02d:%02d"):format(math.floor(seconds / 60) % 60, seconds % 60)
  return hours > 0 and hours .. ":" .. text or text
end

-- The bar after `passed` seconds; `done` says how it ended, if it did.
local function line(self, passed, done)
  local share = self.size and self.size > 0 and math.min(self.position / self.size, 1)
  local bar = share and ("*"):rep(math.floor(share * WIDTH)) or ""
  local left = share and share > 0 and passed / share - passed or math.huge
  if done then left = passed end
  return ("%s%s|%s| %s    %s %s"):format(self.banner,
    share and ("%4d%% "):format(share * 100) or "  ",
    bar .. (" "):rep(WIDTH - #bar), amount(self.position), clock_text(left),
    done or "ETA")
end

local function show(self, done)
  self.position = read(self, self.position_handlers) or self.position
  self.size = self.size or read(self, self.size_handlers)
  if not self.shown then return end
  local passed = self.router:steady() - self.began
  io.stderr:write("\r", line(self, passed, done), done and "\n" or "")
end

local function finish(self, word)
  if self.timer:scheduled() then
    self.timer:unschedule()
    show(self, word)
  end
end

local function begin(self, after)
  self.began = self.router:steady()
  self.timer:after(after)
end

function ProgressBar:initialize()
  self.timer = self.router:timer(function ()
    show(self)
    self.timer:after(self.update)
  end)
  if self.active then begin(self, self.delay) end
end

function ProgressBar:cleanup()
  if self.timer then finish(self, "    ") end
end

local function set_active(self)
  if not self.active then self.timer:unschedule()
  elseif not self.timer:scheduled() then begin(self, 0) end
end

ProgressBar.handlers = {
  active = element.data("active", "bool", set_active),
  banner = element.data("banner", "string"),
  pos = element.data("position"), size = element.data("size", "real"),
  poshandler = element.data("position_handlers", "argument"),
  sizehandler = element.data("size_handlers", "argument"),
  mark_done = element.command(function (self)
    self.size = read(self, self.position_handlers)
    finish(self, "    ")
  end),
  mark_stopped = element.command(function (self) finish(self, "- stopped -") end),
  reset = element.command(function (self)
    self.size, self.position = nil, 0
    begin(self, 0)
  end),
}

return {ProgressBar}
