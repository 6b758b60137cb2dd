-- SPDX-License-Identifier: Apache-2.0
-- MoonGen's module `moonsniff-io`: files of the times at which numbered packets were
-- seen, 12 bytes each (struct mscap). C's functions for scripts are in
-- native/moonsniff.h.

local ffi = require("ffi")
local log = require("moongen.log")
require("core.declare")("native/moonsniff.h")

local M = {}

local RECORD_BYTES = 12
local record_t = ffi.typeof("struct mscap")

local function open(name, mode, what)
  local file, problem = io.open(name, mode)
  if not file then log:fatal("can't %s: %s", what, problem) end
  return file
end

local Writer = {}
Writer.__index = Writer

--- Begin a file.
function M:newWriter(name) -- luacheck: ignore 212
  return setmetatable({file = open(name, "wb", "write times")}, Writer)
end

--- Files grow by themselves.
function M:setInitialFilesize() end -- luacheck: ignore 212

--- Add the packet of this number, seen at `time` (nanoseconds).
function Writer:write(number, time)
  self.file:write(ffi.string(record_t(time, number), RECORD_BYTES))
end

function Writer:close() self.file:close() end

local Reader = {}
Reader.__index = Reader

--- Read a file from its beginning.
function M:newReader(name) -- luacheck: ignore 212
  return setmetatable({file = open(name, "rb", "read times")}, Reader)
end

--- The next record, with `timestamp` and `identification`; nil at the end.
function Reader:readSingle()
  local data = self.file:read(RECORD_BYTES)
  if not data or #data < RECORD_BYTES then return nil end
  local record = record_t()
  ffi.copy(record, data, RECORD_BYTES)
  return record
end

function Reader:close() self.file:close() end

return M
