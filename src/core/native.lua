-- SPDX-License-Identifier: Apache-2.0
-- The C shim, as LuaJIT sees it: the declarations of native/api.h and libraries.h,
-- read from the files the shim itself is compiled with, so that the two can't differ.

local ffi = require("ffi")

local here = debug.getinfo(1, "S").source:match("^@(.*)core/native%.lua$")
for _, name in ipairs{"api.h", "libraries.h"} do
  local file = assert(io.open(here .. "native/" .. name))
  local declarations = file:read("*a"):gsub("\n#[^\n]*", "\n")
  file:close()
  ffi.cdef(declarations)
end

return ffi.C
