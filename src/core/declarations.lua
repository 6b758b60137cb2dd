-- SPDX-License-Identifier: Apache-2.0
-- C headers given to LuaJIT: plain declarations, without the preprocessor's lines.

local ffi = require("ffi")
local mode = require("core.check.mode")

local declarations = {}

local done = {} -- the headers this Lua state has, by the end of their paths

--- Declare what is in the header at `path`, once; before that, what it includes of
--- src/net and src/native.
function declarations.read(path)
  local header = path:match("[^/]+/[^/]+/[^/]+$") or path -- trees may be relative
  if done[header] then return end
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  for folder, name in text:gmatch('\n#include "[./src]*/(%a+)(/[^"]+)"') do
    if folder == "net" or folder == "native" then
      declarations.read(declarations.find(folder .. name))
    end
  end
  text = text:gsub("\n#[^\n]*", "\n")
  if mode.on then -- core.check.fields
    local n
    text, n = text:gsub("uint16_t length;(%s+uint16_t data_len;)",
      "uint16_t unchecked_length;%1")
    assert(n == (text:find("struct packet {", 1, true) and 1 or 0), path)
  end
  ffi.cdef(text)
  done[header] = true
end

--- The path of the header `name` ("apps/vtep/vtep.h") in one of the trees that modules
--- come from. Raises an error that names the places looked at.
function declarations.find(name)
  local tried = {}
  for tree in package.path:gmatch("([^;]*)/%?%.lua") do
    local path = tree .. "/" .. name
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
    tried[#tried + 1] = path
  end
  error(("there is no header %s; looked for %s"):format(name,
    table.concat(tried, ", ")), 0)
end

return declarations
