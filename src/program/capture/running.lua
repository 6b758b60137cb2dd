-- SPDX-License-Identifier: Apache-2.0
-- `perigee capture @INSTANCE:WHAT`: packets of a graph that another process runs, by
-- its control socket. What comes is pcapng, written block by block, so that the file is
-- complete whatever ends it.

local C = require("core.native")
local blocks = require("lib.pcap.blocks")
local client = require("lib.control.client")
local core_lib = require("core.lib")
local failure = require("core.failure")
local ffi = require("ffi")
local format = require("lib.pcap.format")
local instances = require("lib.observe.instances")
local link_types = require("lib.observe.link_types")
local output = require("lib.pcap.output")

local M = {}

local LOOK_SECONDS = 0.1
local LAST_WORDS_SECONDS = 10
local STDOUT = "/dev/stdout"

--- The instance and what to capture of it, of the text "@INSTANCE:WHAT"; nil if it is
--- none of these.
function M.parse(text)
  if text:sub(1, 1) ~= "@" then return nil end
  local instance, what = text:match("^@([^:]+):(.+)$")
  if not instance then
    failure.usage("'%s': what runs is captured by @INSTANCE:LINK, @INSTANCE:APP or "
      .. "@INSTANCE:dropped", text)
  end
  return instance, what
end

-- What to ask for.
local function request_of(what, options)
  local request = {["do"] = "capture", filter = options.filter, limit = options.count,
                   snaplen = options.snaplen, rate = options.rate}
  if what == "dropped" then
    request.dropped = true
  elseif what:find("->", 1, true) then
    request.link = what
  else
    request.app = what
  end
  return request
end

-- Writing what comes --------------------------------------------------------------

local function write(self, bytes)
  if bytes == "" then return end
  ffi.copy(self.out:reserve(#bytes), bytes, #bytes)
  self.out:commit(#bytes)
end

-- Write the whole blocks of `bytes`; what is left, and the statistics if they came.
local function write_blocks(self, bytes)
  local at = 1
  while true do
    local kind, length = blocks.at(bytes, at)
    if not kind then return bytes:sub(at) end
    local block = bytes:sub(at, at + length - 1)
    local text = self.types:take(kind, block)
    write(self, text)
    if kind == format.ENHANCED_PACKET then self.packets = self.packets + 1 end
    if self.packets == 0 and text ~= "" then self.leading = self.leading + 1 end
    if kind == blocks.STATISTICS then self.told = blocks.read_statistics(block) end
    at = at + length
  end
end

-- Take all until the end, the time, or a signal, after which the rest is waited for.
local function take_all(self, connection, duration)
  local rest = write_blocks(self, connection:rest())
  local ends = duration and C.pg_monotonic() + duration or math.huge
  local patience
  while not (self.told or self.silent) do
    local now = C.pg_monotonic()
    if not patience and (C.pg_signal() ~= 0 or now >= ends) then
      patience = now + LAST_WORDS_SECONDS
      connection:send{["do"] = "stop"}
    end
    local bytes = connection:bytes(patience and LOOK_SECONDS
      or math.min(LOOK_SECONDS, ends - now))
    if not bytes then return end
    rest = write_blocks(self, rest .. bytes)
    self.out:flush()
    self.silent = patience and now > patience
  end
end

local function commas(n) return core_lib.comma_value(("%.0f"):format(n)) end

-- The report, on stderr if the packets go to stdout.
local function report(self, path, ok)
  local stream = path == STDOUT and io.stderr or io.stdout
  stream:write(("capture: %s packets written to %s\n"):format(commas(self.packets),
    path == STDOUT and "stdout" or path))
  if ok and not self.told then
    stream:write(self.silent
      and ("capture: the process hasn't reported within %d s what was lost\n"):format(
        LAST_WORDS_SECONDS)
      or "capture: the process has ended before it reported what was lost\n")
  elseif self.told and self.told.comment and self.told.comment ~= "" then
    stream:write("not written: ", self.told.comment, "\n")
  end
end

--- Capture `what` of the instance (both of M.parse) as the parsed command line says.
function M.run(name, what, options)
  local instance = instances.find(instances.list(), name)
  local connection = client.connect(instance)
  C.pg_catch_signals()
  connection:ask(request_of(what, options))
  local path = options.file == "-" and STDOUT or options.file
  local self = {packets = 0, leading = 0, out = output.open(path),
    types = link_types.new()}
  local ok, err = pcall(take_all, self, connection, options.duration)
  if ok then write(self, self.types:rest()) end
  connection:close()
  local closed, problem = pcall(self.out.close, self.out)
  C.pg_release_signals()
  self.packets = math.min(self.packets, math.max(0, self.out.written - self.leading))
  report(self, path, ok)
  if not ok then error(err, 0) end
  if not closed then error(problem, 0) end
end

return M
