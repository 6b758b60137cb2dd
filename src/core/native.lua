-- SPDX-License-Identifier: Apache-2.0
-- The C shim, as LuaJIT sees it: the declarations of native/api.h, files.h, kernels.h
-- and ports.h, read from the files the shim itself is compiled with, so that the two
-- can't differ.
-- (core.declare does the same for C that is next to its app.)

local declarations = require("core.declarations")
local mode = require("core.check.mode")

local here = debug.getinfo(1, "S").source:match("^@(.*)core/native%.lua$")
for _, name in ipairs{"files", "api", "kernels", "ports"} do
  declarations.read(("%snative/%s.h"):format(here, name))
end

local C = require("ffi").C
return mode.on and require("core.check.boundary").around(C) or C
