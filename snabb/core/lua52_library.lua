-- SPDX-License-Identifier: Apache-2.0
-- Functions of Lua's library as they are in Lua 5.2, and so in Snabb's LuaJIT, where
-- Debian's has Lua 5.1's: up to Debian 13; later ones are built with Lua 5.2's, too.

local C = require("core.native")
local ffi = require("ffi")
local luajit = require("core.luajit")

local library = {}

-- What os.execute and close() return for a status as waitpid() gives it: true or nil,
-- "exit" or "signal", and the number of either.
local function result(status)
  local signal, code = status % 128, math.floor(status / 256) % 256
  if signal ~= 0 then return nil, "signal", signal end
  return code == 0 or nil, "exit", code
end

local running, execute = coroutine.running, os.execute
local HAS_LUA52 = select("#", running()) == 2 -- one result in Lua 5.1

--- os.execute: is there a shell, or what became of the command.
function library.execute(...)
  local ok, status = pcall(execute, ...)
  if not ok then luajit.fail(status) end
  if (...) == nil then return status ~= 0 end
  if status == -1 then return nil, "the shell can't be run", ffi.errno() end
  return result(status)
end

--- table.pack: the arguments in a table, and how many (`n`).
function library.pack(...)
  return {n = select("#", ...), ...}
end

--- coroutine.running: the coroutine that runs, and whether it is the main one.
function library.running()
  local thread = running()
  if thread then return thread, false end
  return debug.getregistry()["perigee.main_thread"], true
end

-- What `plain` returns, called with them: as a table, with their number `n`; or false
-- and its error.
local function called(plain, ...)
  local all = library.pack(pcall(plain, ...))
  if not all[1] then return false, all[2] end
  return all
end

-- file:close(): of a pipe, what became of its command.
local function closing(close)
  return function (...)
    C.pg_closed_status()
    local all, why = called(close, ...)
    if not all then luajit.fail(why) end
    local status = C.pg_closed_status()
    if not all[2] or status == -1 then return unpack(all, 2, all.n) end
    return result(status)
  end
end

-- file:write(): the file, so that writes can be chained.
local function writing(write, default)
  return function (...)
    local ok, written, why, number = pcall(write, ...)
    if not ok then luajit.fail(written) end
    if not written then return written, why, number end
    if default then return default() end
    return (...)
  end
end

--- Put them in the place of Lua 5.1's.
function library.provide()
  local file = getmetatable(io.stdout).__index
  file.close, file.write = closing(file.close), writing(file.write)
  rawset(io, "close", closing(io.close))
  rawset(io, "write", writing(io.write, io.output))
  if not HAS_LUA52 then
    rawset(os, "execute", library.execute)
    rawset(coroutine, "running", library.running)
  end
  rawset(table, "pack", library.pack)
  rawset(table, "unpack", unpack)
  rawset(package, "searchers", package.loaders)
end

return library
