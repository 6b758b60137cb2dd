-- SPDX-License-Identifier: Apache-2.0
-- The tender: a thread that looks after what no script does (script/tender_main.lua),
-- while devices are open.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local eal = require("core.eal")
local failure = require("core.failure")

local tender = {}

local MODULE = "moongen.script.tender_main"
local path, cpath = package.path, package.cpath -- not those of a script's Lua state

local handle

--- Begin to look after the devices, unless that has been done.
function tender.start()
  if handle then return end
  eal.start()
  handle = C.pg_worker_start(0, -1, MODULE, path, cpath)
  if handle == nil then
    handle = nil
    failure.raise("a thread that looks after devices: %s", ffi.string(C.pg_error()))
  end
  C.pg_worker_post(handle, C.TO_WORKER, "begin", #"begin")
end

-- What it says when it couldn't go on: "!" and why.
local function tell_problem()
  local size = tonumber(C.pg_worker_next(handle, C.FROM_WORKER))
  if size < 0 then return end
  local text = ffi.new("char[?]", size + 1)
  C.pg_worker_take(handle, C.FROM_WORKER, text)
  require("moongen.log"):warn("devices weren't looked after: %s",
    ffi.string(text, size):sub(2))
end

--- End it.
function tender.stop()
  if not handle then return end
  C.pg_worker_post(handle, C.TO_WORKER, "end", #"end")
  C.pg_worker_join(handle)
  tell_problem()
  C.pg_worker_free(handle)
  handle = nil
end

return tender
