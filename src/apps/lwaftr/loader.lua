-- SPDX-License-Identifier: Apache-2.0
-- Reads a configuration in a thread of its own, so that packets move on meanwhile.

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local Softwires = require("apps.lwaftr.softwires")
local failure = require("core.failure")
local messages = require("core.cpus.messages")

local Loading = {}
Loading.__index = Loading

local loader = {}

--- Begin to read the file at `path`.
function loader.start(path)
  local load = C.pg_load_start(path, package.path, package.cpath)
  if load == nil then failure.raise("there is no memory or thread to read %s", path) end
  return setmetatable({load = ffi.gc(load, C.pg_load_free)}, Loading)
end

--- Nil as long as it isn't done; then the configuration, as apps.lwaftr.conf_reader
--- returns it, or false and what is wrong: a sentence, with file and line. To be called
--- until it is done.
function Loading:poll()
  local load = self.load
  if not C.pg_load_done(load) then return nil end
  local text = load.text ~= nil and ffi.string(load.text, load.length)
    or "there is no memory to read the configuration"
  local good, softwires = load.good, load.table
  if good then load.table = nil end
  C.pg_load_free(ffi.gc(load, nil))
  self.load = nil
  if not good then return false, text end
  local conf = messages.received(messages.decode(text))
  conf.softwire_config.binding_table.softwires = Softwires.of(softwires)
  return conf
end

return loader
