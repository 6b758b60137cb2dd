-- SPDX-License-Identifier: Apache-2.0
-- What `run` does with its configuration beyond the process: changes are saved to a
-- file (--save-config), and the last that ran is remembered (--last-good).

local files = require("core.lib.files")
local last_good = require("lib.saved.last_good")
local log = require("core.lib.log")
local named = require("lib.sandbox.named")
local path = require("program.lwaftr.leader.path")
local printer = require("program.lwaftr.leader.printer")
local saver = require("lib.saved.saver")
local schema = require("apps.lwaftr.conf_schema")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local saving = {}

local REMEMBERED = "lwaftr.conf" -- in the folder of --last-good

local function writable(text)
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
    .. "at the start, it is the configuration"):argname("FILE"):convert(writable)
  last_good.option(p)
end

local Saving = {}
Saving.__index = Saving

--- What the parsed options want. Raises a usage failure if that can't be.
function saving.of(options)
  local o = setmetatable({conf = options.conf, path = options.save_config}, Saving)
  local function pieces(put)
    printer.pieces(path.find(schema, "/"), o.router.conf)(put)
  end
  if options.last_good then
    o.memory = last_good.new(options.last_good, REMEMBERED, pieces)
  end
  if o.path then o.saver = saver.new(o.path, pieces) end
  return o
end

-- The file to start with.
local function newest(self)
  local saved = self.path and stat.stat(self.path)
  if not saved or stat.S_ISREG(saved.st_mode) == 0 then return self.conf end
  local given = stat.stat(self.conf)
  if given and given.st_ino == saved.st_ino and given.st_dev == saved.st_dev then
    return self.conf
  end
  if given and given.st_mtime > saved.st_mtime then
    log.warning("--save-config: %s is started, though %s is newer; `perigee config "
      .. "load` takes that, or remove the saved one", self.path, self.conf)
  else
    log.info("--save-config: %s is started, not %s", self.path, self.conf)
  end
  return self.path
end

--- The router (program.lwaftr.router) that start(FILE) gives, of the newest
--- configuration or else of the last good one. Raises what start() does.
function Saving:start(start)
  local file = newest(self)
  self.router = self.memory and self.memory:start(file, start) or start(file)
  self.router.has_last_good = self.memory ~= nil
  return self.router
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

--- Write what is due, until that time (C.pg_monotonic's).
function Saving:work(until_time)
  if self.saver then self.saver:work(until_time) end
  if self.memory then self.memory:work(until_time) end
end

-- It isn't part of the packet path.
for _, f in pairs(Saving) do
  if type(f) == "function" then jit.off(f, true) end
end

return saving
