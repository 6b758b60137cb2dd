-- SPDX-License-Identifier: Apache-2.0
-- What the thread of apps.lwaftr.loader runs, in a Lua state of its own: it reads the
-- file, and says what came of it (struct lwaftr_load).

local ffi = require("ffi")
local C = require("core.declare")("apps/lwaftr/lwaftr.h")
local messages = require("core.cpus.messages")
local reader = require("apps.lwaftr.conf_reader")

local load_p = ffi.typeof("struct lwaftr_load *")

-- The configuration as text; its softwires' table goes into `load`.
local function read(load)
  local conf = reader.file(ffi.string(load.file))
  local binding_table = conf.softwire_config.binding_table
  load.table = binding_table.softwires:release()
  binding_table.softwires = nil
  return messages.encode(messages.argument("loader", conf))
end

return function (pointer)
  local load = ffi.cast(load_p, pointer)
  local ok, text = pcall(read, load)
  if not ok then text = tostring(text) end
  C.pg_load_say(load, ok, text, #text)
end
