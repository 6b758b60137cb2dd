-- SPDX-License-Identifier: Apache-2.0
-- The last configuration that ran (--last-good FOLDER): remembered once it has run for
-- some seconds, and started when the newest one can't be. Shared memory then says why,
-- for `perigee ps` and metrics.

local counter = require("core.counter")
local failure = require("core.failure")
local log = require("core.lib.log")
local named = require("lib.sandbox.named")
local outside = require("core.outside.visitors")
local saver = require("lib.saved.saver")
local shm = require("core.shm")
local stat = require("posix.sys.stat")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local last_good = {}

local SECONDS = 5 -- that a configuration runs before it is remembered
local OWN = 448   -- rwx------

--- In a process's directory: why the last good configuration runs, a line; a counter
--- that is 1 then.
last_good.NAME, last_good.COUNTER = "last-good", "service/last_good.counter"

--- Add the option to a parser.
function last_good.option(p)
  p:option("--last-good", "remember in this folder each configuration that runs for "
    .. SECONDS .. " seconds; start the last one when the newest can't be started")
    :argname("FOLDER")
end

local Memory = {}
Memory.__index = Memory

--- What remembers configurations in the file `name` of the `folder`, which is made, for
--- this user alone, if it isn't there. pieces(put) gives what runs (lib.saved.saver).
function last_good.new(folder, name, pieces)
  stat.mkdir(folder, OWN)
  local found = stat.stat(folder)
  if not found or stat.S_ISDIR(found.st_mode) == 0 or not unistd.access(folder, "rwx")
  then
    failure.usage("--last-good %s: give a folder that you may write to", folder)
  end
  named.path(folder)
  local o = setmetatable({path = folder .. "/" .. name}, Memory)
  o.saver = saver.new(o.path, pieces, {seconds = SECONDS, private = true,
    done = function (problem)
      if problem then log.warning("--last-good: %s", problem) end
    end})
  return o
end

local function tell(self)
  local path = shm.path(last_good.NAME)
  self.counter = self.counter or counter.create(last_good.COUNTER)
  counter.set(self.counter, self.why and 1 or 0)
  if not self.why then return os.remove(path) end
  tree.tell(path, (self.why:gsub("%c", " ")))
end

local function sentence(err)
  return (tostring(err):match("^[^\n]*"))
end

--- What start(newest) returns, or, if that raises something, start(PATH) of the
--- configuration that is remembered. Raises what the newest one does if there is none.
function Memory:start(newest, start)
  local ok, result = pcall(start, newest)
  if ok then
    self:runs()
    return result
  end
  local found = stat.stat(self.path)
  if not found then error(result, 0) end
  local again, other = pcall(start, self.path)
  if not again then
    log.error("--last-good: nor does %s start: %s", self.path, sentence(other))
    error(result, 0)
  end
  self.why = sentence(result)
  log.warning("%s; the last configuration that worked is started, of %s: %s", self.why,
    os.date("%Y-%m-%d %H:%M:%S", found.st_mtime), self.path)
  tell(self)
  return other
end

--- Another configuration runs, which is remembered in a while. It is the newest one,
--- unless `part` says that it is a change of what ran.
function Memory:runs(part)
  if self.why and part then return end
  if self.why then
    self.why = nil
    log.info("the newest configuration runs again, not the last good one")
  end
  tell(self)
  self.saver:changed()
end

--- Write what is due by itself, while the engine runs.
function Memory:let_in()
  outside.let_in{tend = function (now) self:work(now) end}
end

--- For a visitor's tend(): write what is due, until that time.
function Memory:work(until_time) self.saver:work(until_time) end

return last_good
