-- SPDX-License-Identifier: Apache-2.0
-- What a program does with its configuration beyond the process: changes are saved to a
-- file (--save-config), and the last that ran is remembered (--last-good).

local files = require("core.lib.files")
local last_good = require("lib.saved.last_good")
local log = require("core.lib.log")
local named = require("lib.sandbox.named")
local outside = require("core.outside.visitors")
local saver = require("lib.saved.saver")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")
local until_turn = require("lib.saved.until_turn")

local saving = {}

--- Converter: a file to save to. What is wrong with it is the second result.
function saving.writable(text)
  local folder = files.dirname(text)
  if not files.can_write(text) or not unistd.access(folder, "wx") then
    return nil, ("'%s' can't be written: give a file in a folder that you may write to")
      :format(text)
  end
  named.path(folder)
  return text
end

--- Add the options to a parser.
function saving.add(p)
  p:option("--save-config", "save each change at run time to this file; if it is there "
    .. "at the start, it is the configuration"):argname("FILE")
    :convert(saving.writable)
  last_good.option(p)
end

local Saving = {}
Saving.__index = Saving

--- What these fields want: `given` (the file that the command line names, or nil if it
--- says what runs by other means), `save_config` (FILE, or nil), `last_good` (FOLDER,
--- or nil), `name` (of the file in that folder), `pieces` (lib.saved.saver), `reload`
--- (how `given` is taken when it is newer than what was saved, for a sentence). Raises
--- a usage failure if that can't be.
function saving.new(fields)
  local o = setmetatable({given = fields.given, path = fields.save_config,
    reload = fields.reload}, Saving)
  if fields.last_good then
    o.memory = last_good.new(fields.last_good, fields.name, fields.pieces)
  end
  if o.path then o.saver = saver.new(o.path, fields.pieces) end
  return o
end

-- The file to start with, or nil: what the command line says.
local function newest(self)
  local saved = self.path and stat.stat(self.path)
  if not saved or stat.S_ISREG(saved.st_mode) == 0 then return self.given end
  local given = self.given and stat.stat(self.given)
  if given and given.st_ino == saved.st_ino and given.st_dev == saved.st_dev then
    return self.given
  end
  if given and given.st_mtime > saved.st_mtime then
    log.warning("--save-config: %s is started, though %s is newer; %s, or remove the "
      .. "saved one", self.path, self.given, self.reload)
  else
    log.info("--save-config: %s is started, not %s", self.path,
      self.given or "what the command line says")
  end
  return self.path
end

--- What start(FILE) returns, of the newest configuration (nil: what the command line
--- says) or else of the last good one. Raises what start() does. If this process stands
--- by, and that is another one when it takes over, again(FILE), optional, is called.
function Saving:start(start, again)
  local file = newest(self)
  if again then
    local paths = {self.path or self.given, self.given}
    until_turn.watch(paths, function () again(newest(self)) end)
  end
  if self.memory then return self.memory:start(file, start) end
  return start(file)
end

--- Something is about to be changed: what is being written is written again.
function Saving:before()
  if self.saver then self.saver:drop() end
  if self.memory then self.memory.saver:drop() end
end

-- The file that was refused isn't lost when what runs instead is saved.
local function put_aside(self)
  local aside = self.path .. ".refused"
  unistd.unlink(aside)
  if unistd.link(self.path, aside) then
    log.warning("--save-config: the configuration that was refused is %s now", aside)
  end
end

--- It was changed; `whole`: all of it. Waits until that is saved, calling wait(). What
--- is wrong with that, or nil.
function Saving:after(whole, wait)
  local memory = self.memory
  if self.saver and memory and memory.why then put_aside(self) end
  if memory then memory:runs(not (whole or self.saver)) end
  if not self.saver then return nil end
  self.saver:changed()
  return self.saver:await(wait)
end

--- All of it was changed: it is saved before this returns. What can't be is a warning.
function Saving:changed()
  local problem = self:after(true, function () self.saver:work(math.huge) end)
  if problem then
    log.warning("--save-config: what runs is changed, but isn't saved: %s", problem)
  end
end

--- Write what is due, until that time (C.pg_monotonic's).
function Saving:work(until_time)
  if self.saver then self.saver:work(until_time) end
  if self.memory then self.memory:work(until_time) end
end

--- Do so by itself, while the engine runs.
function Saving:let_in()
  outside.let_in{tend = function (now) self:work(now) end}
end

-- It isn't part of the packet path.
for _, f in pairs(Saving) do
  if type(f) == "function" then jit.off(f, true) end
end

return saving
