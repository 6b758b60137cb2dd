-- SPDX-License-Identifier: Apache-2.0
-- Damaged capture files for the pcap port, whose oracle is lib.pcap.reader: the port
-- must deliver the same packets and say the same of the fault. Each file is read as a
-- file, or as a pipe whose bytes come in pieces.

local ffi = require("ffi")
local C = require("core.declare")("port/pcap/pcap.h")
local damage = require("testing.damage")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local link = require("core.link")
local pool = require("core.pool")
local reader = require("lib.pcap.reader")
local savefiles = require("testing.savefiles")
local stat = require("posix.sys.stat")
local testing = require("testing.support")
local unistd = require("posix.unistd")

local M = {}

local PERMISSIONS = 384 -- rw------- (0600)

-- The packets before the fault, and the sentence about it.
local function expected(path)
  local packets = {}
  local ok, err = pcall(function ()
    local file = reader.open(path)
    local whole, problem = pcall(function ()
      for data, length in function () return file:next() end do
        packets[#packets + 1] = ffi.string(data, length)
      end
    end)
    file:close()
    if not whole then error(problem, 0) end
  end)
  if not ok and not failure.is(err) then error(err, 0) end
  return packets, not ok and tostring(err) or nil
end

local function open(path)
  pool.create()
  local port = ffi.new("struct port")
  if C.pg_pcap_open(port, path, "", false, 0, 0, 0) < 0 then
    return nil, ffi.string(C.pg_error())
  end
  port.account, port.burst, port.pool = pool.freelist, C.PORT_BURST, pool.freelist.pool
  return port
end

-- Receive until nothing more comes; whether the file has ended, and its fault.
local function receive(port, l, packets)
  repeat
    local n = C.pg_receive(port, l)
    for _, text in ipairs(testing.take(l)) do packets[#packets + 1] = text end
  until n == 0
  local ended = C.pg_pcap_ended(port)
  return ended ~= 0, ended < 0 and ffi.string(C.pg_error()) or nil
end

local function from_file(path, l)
  local packets, port, problem = {}, open(path)
  if port then
    local ended
    ended, problem = receive(port, l, packets)
    if not ended then error("the file has no end", 0) end
    C.pg_port_unplug(port)
  end
  return packets, problem
end

-- The same bytes, in pieces; `path` is a FIFO.
local function from_pipe(path, bytes, l)
  local packets, port, problem = {}, open(path)
  assert(port, problem)
  local ended
  local writer = assert(fcntl.open(path, fcntl.O_WRONLY + fcntl.O_NONBLOCK))
  while #bytes > 0 do
    local n = math.random(1, 200)
    assert(unistd.write(writer, bytes:sub(1, n)))
    bytes = bytes:sub(n + 1)
    ended, problem = receive(port, l, packets)
    if ended then break end
  end
  unistd.close(writer)
  if not ended then ended, problem = receive(port, l, packets) end
  if not ended then error("the pipe has no end", 0) end
  C.pg_port_unplug(port)
  return packets, problem
end

-- What only who wants the times looks at: the port reads on.
local function about_times(problem)
  return problem and (problem:find("has an option", 1, true)
    or problem:find("time unit", 1, true)) and true or false
end

local function compare(packets, problem, path, name, wanted, fault)
  local least = about_times(fault) and #wanted or math.max(#wanted, #packets)
  for i = 1, least do
    if packets[i] ~= wanted[i] then error(("packet %d differs"):format(i), 0) end
  end
  if about_times(fault) then return end
  -- A path may have signs that patterns know.
  if problem and name ~= path then
    local at = problem:find(name, 1, true)
    problem = problem:sub(1, at - 1) .. path .. problem:sub(at + #name)
  end
  if problem ~= fault then
    error(("said %s, not %s"):format(tostring(problem), tostring(fault)), 0)
  end
end

--- Try files FIRST to FIRST + COUNT - 1 of `options.seed` (`count`, `first`). How many
--- were good to their end, and how many weren't. Raises the first difference.
function M.run(options)
  local path, fifo = damage.temporary_file(), os.tmpname()
  local l, seeds = link.new("testing_pcap_port"), damage.seeds()
  os.remove(fifo)
  assert(stat.mkfifo(fifo, PERMISSIONS))
  local good, bad = 0, 0
  for i = options.first, options.first + options.count - 1 do
    math.randomseed(options.seed + i)
    local bytes = damage.mutate(seeds[i % #seeds + 1])
    savefiles.save(path, bytes)
    local wanted, fault = expected(path)
    local ok, err = pcall(function ()
      local packets, problem = from_file(path, l)
      compare(packets, problem, path, path, wanted, fault)
      if i % 4 == 0 then
        packets, problem = from_pipe(fifo, bytes, l)
        compare(packets, problem, path, fifo, wanted, fault)
      end
    end)
    if not ok then
      error(("file %d of seed %d: %s"):format(i, options.seed, tostring(err)), 0)
    end
    if fault then bad = bad + 1 else good = good + 1 end
  end
  link.free(l, "testing_pcap_port")
  os.remove(path)
  os.remove(fifo)
  return good, bad
end

return M
