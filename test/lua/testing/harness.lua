-- SPDX-License-Identifier: Apache-2.0
-- For the specs of this folder and ../ipv6: an app between links, without an engine.

local ffi = require("ffi")
local core_testing = require("testing.support")
local counter = require("core.counter")
local C = require("core.native")
local guard = require("testing.fuzz.guard")
local link = require("core.link")
local packet = require("core.packet")
local pool = require("core.pool")

local testing = {}

--- The app that class:new(arg) makes, with links of these names; shm as plain counters.
function testing.app(class, arg, inputs, outputs)
  local app = class:new(arg)
  app.shm, app.input, app.output, app.outputs_by_number = {}, {}, {}, {}
  for name in pairs(class.shm) do
    app.shm[name] = ffi.new("struct counter")
  end
  for _, name in ipairs(inputs) do
    app.input[name] = link.new("test_in_" .. name)
  end
  for _, name in ipairs(outputs) do
    app.output[name] = link.new("test_out_" .. name)
    table.insert(app.outputs_by_number, app.output[name])
  end
  return app
end

--- A number of 16 bits as the bytes that packets have of it; and that of the frame `f`
--- at the offset `at`.
function testing.be16(n) return string.char(math.floor(n / 256), n % 256) end
function testing.field(f, at) return f:byte(at + 1) * 256 + f:byte(at + 2) end

--- So many bytes, of which none are where others could be.
function testing.payload_of(n)
  local bytes = {}
  for i = 1, n do bytes[i] = string.char((i * 31 + math.floor(i / 256)) % 256) end
  return table.concat(bytes)
end

--- Do these parts of a datagram of `n` bytes, with headers of `headers`, fit an MTU of
--- `mtu` bytes? look(part, at, is_last) is asked of each and its place.
function testing.walk_parts(parts, headers, mtu, look)
  local at = 0
  for i, part in ipairs(parts) do
    assert(#part - 14 <= mtu)
    look(part, at, i == #parts)
    at = at + #part - headers
  end
  return at
end

--- Give the app packets (bytes, a list) from `input`; what it sends to `output` (bytes,
--- a list).
function testing.through(app, frames, input, output)
  core_testing.send(app.input[input or "input"], frames)
  app:push()
  return testing.sent(app, output)
end

--- What has been sent to `output`.
function testing.sent(app, output)
  return core_testing.take(app.output[output or "output"])
end

--- The counter's value.
function testing.count(app, name)
  return tonumber(counter.read(app.shm[name]))
end

--- How many packets are free, of a pool that does not grow meanwhile.
function testing.free_packets()
  return C.pg_pool_available() + pool.freelist.nfree
end

--- Give the app `count` frames that make(n) returns, one at a time, between pages that
--- may not be touched: if it reads or writes beyond a frame the process dies. Returns
--- how many packets it kept or lost.
function testing.at_the_edge(app, input, count, make)
  local before = testing.free_packets()
  local guarded, bytes = guard.packet(), ffi.new("uint8_t[16384]")
  for n = 1, count do
    local frame, p = make(n), packet.allocate()
    local address, size = p.buf_addr, p.buf_len
    ffi.copy(bytes, frame, #frame)
    p.buf_addr, p.buf_len = guarded.buf_addr, guarded.buf_len
    guard.place(p, bytes, #frame, n % 2 == 0)
    link.transmit(app.input[input], p)
    app:push()
    p.buf_addr, p.buf_len = address, size
    for _, l in ipairs(app.outputs_by_number) do
      for _ = 1, link.nreadable(l) do packet.free(link.receive(l)) end
    end
  end
  guard.free(guarded)
  return before - testing.free_packets()
end

--- `frame` with up to 4 bytes from `place` (from 0) on changed, and cut short in one
--- case of four.
function testing.mutate(frame, place)
  for _ = 1, math.random(0, 4) do
    local i = math.random(place, #frame - 1)
    frame = frame:sub(1, i) .. string.char(math.random(0, 255)) .. frame:sub(i + 2)
  end
  if math.random(4) == 1 then frame = frame:sub(1, math.random(0, #frame)) end
  return frame
end

return testing
