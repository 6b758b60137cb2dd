-- SPDX-License-Identifier: Apache-2.0
-- The C shim, as LuaJIT sees it: the declarations of native/api.h, read from
-- the file the shim itself is compiled with, so that the two can't differ.

local ffi = require("ffi")

local here = debug.getinfo(1, "S").source:match("^@(.*)core/native%.lua$")
local file = assert(io.open(here .. "native/api.h"))
local declarations = file:read("*a"):gsub("\n#[^\n]*", "\n")
file:close()
ffi.cdef(declarations)

return ffi.C
