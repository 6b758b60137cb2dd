-- SPDX-License-Identifier: Apache-2.0
-- For specs: a Lua state of LuaJIT's own, in which nothing is replaced.

local ffi = require("ffi")

ffi.cdef[[
typedef struct lua_State lua_State;
lua_State *luaL_newstate(void);
void luaL_openlibs(lua_State *state);
int luaL_loadstring(lua_State *state, const char *text);
int lua_pcall(lua_State *state, int arguments, int results, int handler);
const char *lua_tolstring(lua_State *state, int index, size_t *length);
void lua_close(lua_State *state);
]]
local C = ffi.C

--- What the Lua code returns there, a string. Raises its error.
return function (code)
  local state = C.luaL_newstate()
  C.luaL_openlibs(state)
  local failed = C.luaL_loadstring(state, code) ~= 0 or C.lua_pcall(state, 0, 1, 0) ~= 0
  local result = ffi.string(C.lua_tolstring(state, -1, nil))
  C.lua_close(state)
  return failed and error(result, 0) or result
end
