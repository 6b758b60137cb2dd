-- SPDX-License-Identifier: Apache-2.0
-- Functions that Snabb's core had until 2018, which programs of then call: core.lib's
-- loggers, token buckets and timers, and core.packet's accessors (2014). They are there
-- for programs of a tree (--snabb, -p).

local clock = require("core.lib.clock")
local shm_tree = require("core.shm.tree")

local former = {lib = {}, packet = {}}

local LOGGER = {rate = "rate", discard_rate = "discard_report_rate", fh = "fh",
  flush = "flush", module = "module", date = "date", date_fmt = "date_fmt"}

--- What logger_new takes where an option isn't given.
former.lib.logger_default = {rate = 10, discard_rate = 0.5, flush = true, module = "",
  date = true, date_fmt = "%b %d %Y %H:%M:%S "}

--- A logger: lib.logger's, with the options of then (`discard_rate`). Raises a sentence
--- for others.
function former.lib.logger_new(config)
  local options = {fh = io.stdout}
  for _, from in ipairs{former.lib.logger_default, config or {}} do
    for key, value in pairs(from) do
      if not LOGGER[key] then
        error("Logger: unknown configuration option " .. tostring(key), 2)
      end
      options[LOGGER[key]] = value
    end
  end
  if options.module == "" then options.module = nil end
  return require("lib.logger").new(options)
end

local Bucket = {}
Bucket.__index = Bucket

--- A token bucket of `config.rate` (10) tokens a second: take(n), can_take(n) and
--- rate(new), which returns the former rate.
function former.lib.token_bucket_new(config)
  local rate = config and config.rate or 10
  return setmetatable({tb = require("lib.token_bucket").new{rate = rate}}, Bucket)
end

function Bucket:take(n) return self.tb:take(n or 1) end
function Bucket:can_take(n) return self.tb:can_take(n or 1) end

function Bucket:rate(new)
  local rate = (self.tb:get())
  if new ~= nil then self.tb:set(new) end
  return rate
end

--- A function that returns false until `ns` nanoseconds have passed.
function former.lib.timer(ns)
  local deadline = clock.nanoseconds() + ns
  return function () return clock.nanoseconds() >= deadline end
end

--- The names in the folder, sorted, without hidden ones; none if it can't be read.
former.lib.files_in_directory = shm_tree.names

--- The packet's bytes.
function former.packet.data(p) return p.data end

--- How many they are.
function former.packet.length(p) return p.length end

--- Put them into the modules, where those have none of the name.
function former.attach(lib, packet)
  for to, functions in pairs{[lib] = former.lib, [packet] = former.packet} do
    for name, f in pairs(functions) do
      if rawget(to, name) == nil then rawset(to, name, f) end
    end
  end
end

return former
