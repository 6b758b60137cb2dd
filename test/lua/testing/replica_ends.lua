-- SPDX-License-Identifier: Apache-2.0
-- Both ends of a replication, joined by memory in the place of a network, each with a
-- root of shared memory of its own.

local ffi = require("ffi")
local flow = require("net.flow.flow")
local keep = require("net.keep.keep")
local receive = require("lib.replica.receive")
local send = require("lib.replica.send")
local shm_root = require("testing.shm_root")
local stderr = require("testing.stderr")
local tables = require("net.keep.tables")
local C = require("core.declare")("net/replica/replica.h")

local ends = {}

--- The name whose records are sent, and the one under which they are written.
ends.NAME, ends.THERE = "spec", "there"
local NAME, THERE = ends.NAME, ends.THERE
local LIMIT = 2 ^ 22

--- Both ends of a connection: what one writes is the other's to read.
function ends.pipe()
  local function new() return {ready = true, wants = "IN", bytes = ""} end
  local a, b = new(), new()
  for one, other in pairs{[a] = b, [b] = a} do
    function one.handshake() return true end
    function one.pending() return false end
    function one.close() end
    function one:read(to, n)
      n = math.min(n, #self.bytes)
      if n == 0 and self.over then return nil end
      ffi.copy(to, self.bytes, n)
      self.bytes = self.bytes:sub(n + 1)
      return n
    end
    function one.write(_, from, n)
      other.bytes = other.bytes .. ffi.string(from, n)
      other.all = (other.all or "") .. ffi.string(from, n)
      return n
    end
  end
  return a, b
end

--- Milliseconds, by which records go.
function ends.now() return tonumber(C.pg_monotonic_ns()) / 1e6 end

--- A table whose records are kept.
function ends.new_table()
  local t = flow.new{key = "uint64_t", value = "uint64_t", limit = 5000, ages = {60000}}
  keep.records(tables.item{of = "a/table", layout = "numbers 1", flows = t,
    notes = "a note", now = ends.now})
  return t
end

--- Add a record to it: its number.
function ends.add(t, key, value)
  local number = t:add(ffi.new("uint64_t[1]", key), ends.now())
  t.record[number].value = value
  return number
end

--- What is in the file that another host would go on with: values by key, and expiries.
function ends.taken()
  local file, fd = keep.look(("%s/%s"):format(keep.folder(THERE),
    keep.file_of("a/table")))
  if not file then return nil, fd end
  local found = assert(keep.read(file, fd))
  require("posix.unistd").close(fd)
  local record = ffi.typeof("$ *", flow.new{key = "uint64_t", value = "uint64_t",
    limit = 1, ages = {1}}.record_type)
  local values, expiries = {}, {}
  for i = 0, found.n - 1 do
    local r = ffi.cast(record, found.record + i * found.size)
    values[tonumber(r.key)] = tonumber(r.value)
    expiries[tonumber(r.key)] = tonumber(r.age.expiry)
  end
  return values, expiries
end

--- The receiver writes another name's files, so that one process can be both.
function ends.receiver(connection, may)
  local one = receive.new(connection, NAME, "peer", LIMIT, may or function () end)
  one.folder = THERE
  return one
end

--- Let both work until the sender has ended so many sweeps more; why one doesn't.
function ends.sweep(s, r, n)
  local wanted = s.seen + (n or 1)
  for _ = 1, 10000 do
    s.due = 0
    local problem = s:work() or r:work()
    if problem then return problem end
    if s.seen >= wanted then return end
  end
  error("no end")
end

--- Before each test: a kept table, a sender of its records, and who takes them.
function ends.set_up()
  shm_root.make()
  stderr.keep()
  keep.use(THERE)
  keep.leave()
  keep.use(NAME)
  local a, b = ends.pipe()
  return ends.new_table(), send.new(a, NAME, "peer", 0), ends.receiver(b), a, b
end

--- Behind it.
function ends.tear_down(s, r)
  s:close()
  r:close()
  keep.leave()
  stderr.leave()
  shm_root.remove()
end

return ends
