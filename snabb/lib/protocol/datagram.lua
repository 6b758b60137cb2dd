-- SPDX-License-Identifier: Apache-2.0
-- A packet as a sequence of headers: parse them one after the other from the front,
-- take them off (pop), put others before (push). What isn't parsed is the payload.
--
-- Immediately, or with `delayed_commit` all at once in commit(): parsed headers are
-- pointers into the packet, which must not move while they are in use.

local ffi = require("ffi")
local packet = require("core.packet")
local arguments = require("core.lib.arguments")
local check = require("lib.protocol.check")
local class = require("lib.lua.class")
local own_code = require("lib.protocol.own_code")

local bytes_t = ffi.typeof("uint8_t *")

local datagram = class.subClass(nil)
datagram._name = "datagram"
--- Bytes that can be pushed before a commit.
datagram.push_buffer_size = 512

local NO_OPTIONS = {}
local packet_t = ffi.typeof("struct packet *")

local function no_packet(p)
  error(("datagram:new()'s first argument is %s; it takes a packet, or nothing"):format(
    arguments.shown(p)), 3)
end

-- Free the first `n` parsed headers, one at least; their bytes. There is no loop for
-- three: an inner loop of so few rounds keeps LuaJIT from compiling that over packets.
local function release(stack, n)
  local a = stack[1]
  local bytes = a:sizeof()
  a:free()
  stack[1] = nil
  if n > 1 then
    local b = stack[2]
    bytes = bytes + b:sizeof()
    b:free()
    stack[2] = nil
  end
  if n > 2 then
    local c = stack[3]
    bytes = bytes + c:sizeof()
    c:free()
    stack[3] = nil
  end
  for i = 4, n do
    bytes = bytes + stack[i]:sizeof()
    stack[i]:free()
    stack[i] = nil
  end
  return bytes
end

--- A datagram of `p`, or of a new empty packet. `first` is the class of the first
--- header, if it is to be parsed. `options`: {delayed_commit = true}.
function datagram:new(p, first, options)
  local o = datagram:superClass().new(self)
  if not o._recycled then
    o._parse = {stack = {}, index = 0}
    o._push = {buffer = ffi.new("uint8_t[?]", datagram.push_buffer_size)}
    o._packet = ffi.new("struct packet *[1]")
  end
  local parse = o._parse
  if parse.index > 0 then release(parse.stack, parse.index) end
  parse.index, parse.offset, parse.ulp = 0, 0, first
  o._offset = 0 -- bytes popped, while the commit is delayed
  o._push.offset, o._push.size = datagram.push_buffer_size, 0
  o._delayed_commit = (options or NO_OPTIONS).delayed_commit
  if p ~= nil and not ffi.istype(packet_t, p) then no_packet(p) end
  o._packet[0] = p or packet.allocate()
  return o
end

--- Put the header before the packet.
function datagram:push(proto)
  self:push_raw(proto:header_ptr(), proto:sizeof())
end

local function check_free_to_move(self)
  if self._parse.index ~= 0 then
    error("parse stack not empty: parsed headers would point elsewhere", 3)
  end
end

--- Put the `length` bytes at `data` before the packet.
function datagram:push_raw(data, length)
  if type(data) ~= "cdata" or tonumber(data) or type(length) ~= "number" then
    check.payload("push_raw", data, length)
  end
  if self._delayed_commit then
    local push = self._push
    if length > push.offset then
      error(("there is room for %d more bytes before commit(), not for %d")
        :format(push.offset, length), 2)
    end
    push.offset, push.size = push.offset - length, push.size + length
    ffi.copy(push.buffer + push.offset, data, length)
  else
    check_free_to_move(self)
    self._packet[0] = packet.prepend(self._packet[0], ffi.cast(bytes_t, data), length)
    self._parse.offset = self._parse.offset + length
  end
end

-- Parsing one header. Each step of a sequence has code of its own, since it mostly is
-- about the same class (lib.protocol.own_code).
local STEP = [[
  return function (self, wanted, check)
    local parse = self._parse
    wanted = wanted or parse.ulp
    if not wanted then return nil end
    local p, offset = self._packet[0], parse.offset
    local proto = wanted:new_from_mem(p.data + offset, p.length - offset)
    if not proto then return nil end
    if check and not check(proto) then
      proto:free()
      return nil
    end
    local index = parse.index + 1
    parse.index = index
    parse.stack[index] = proto
    parse.ulp = proto:upper_layer()
    parse.offset = offset + proto:sizeof()
    return proto
  end]]

--- datagram:parse_match(wanted, check): parse the next header, of the class `wanted`,
--- or of the one that the last header tells of. Nil, and nothing has changed, if there
--- is no such header, or `check` is given and check(header) isn't true.
datagram.parse_match = own_code.make(STEP)

local first, second, third, next_one = own_code.make(STEP), own_code.make(STEP),
  own_code.make(STEP), own_code.make(STEP)

-- One of the list of {class, check}.
local function parse_one(self, step, sequence, i)
  local one = sequence[i]
  return step(self, one[1], one[2])
end

--- Parse one header, or for a list of {class, check} one for each; the last, or nil
--- if one fails.
function datagram:parse(sequence)
  if not sequence then return (self:parse_match()) end
  local n = #sequence
  if n == 0 then return nil end
  local proto = parse_one(self, first, sequence, 1)
  if proto and n > 1 then proto = parse_one(self, second, sequence, 2) end
  if proto and n > 2 then proto = parse_one(self, third, sequence, 3) end
  for i = 4, proto and n or 0 do
    proto = parse_one(self, next_one, sequence, i)
    if not proto then return nil end
  end
  return proto
end

--- Parse `n` (default 1) headers; the last, or nil if one fails.
function datagram:parse_n(n)
  n = n or 1
  if type(n) ~= "number" then n = check.number("parse_n", n) end
  if n < 1 then return nil end
  local proto = first(self)
  if proto and n > 1 then proto = second(self) end
  if proto and n > 2 then proto = third(self) end
  for _ = 4, proto and n or 0 do
    proto = next_one(self)
    if not proto then return nil end
  end
  return proto
end

--- Make the last `n` parsed headers payload again.
function datagram:unparse(n)
  if type(n) ~= "number" then n = check.number("unparse", n) end
  local parse = self._parse
  for _ = 1, math.min(n, parse.index) do
    local proto = parse.stack[parse.index]
    parse.stack[parse.index] = nil
    parse.index = parse.index - 1
    parse.offset = parse.offset - proto:sizeof()
    parse.ulp = proto:class()
    proto:free()
  end
end

--- Take the first `n` parsed headers off the packet.
function datagram:pop(n)
  if type(n) ~= "number" then n = check.number("pop", n) end
  local parse = self._parse
  local stack, count = parse.stack, parse.index
  if n > count then
    error(("can't pop %d headers: %d have been parsed"):format(n, count), 2)
  end
  local bytes = n > 0 and release(stack, n) or 0
  for i = 1, n > 0 and count - n or 0 do
    stack[i], stack[i + n] = stack[i + n], nil
  end
  parse.index = count - n
  self:pop_raw(bytes)
  parse.offset = parse.offset - bytes
end

--- Take `length` bytes off the packet's start. `ulp`, if given, is the class of what is
--- parsed next.
function datagram:pop_raw(length, ulp)
  if type(length) ~= "number" then length = check.number("pop_raw", length) end
  local parse = self._parse
  if self._delayed_commit then
    self._offset = self._offset + length
    parse.offset = parse.offset + length
  else
    check_free_to_move(self)
    self._packet[0] = packet.shiftleft(self._packet[0], length)
  end
  if ulp then parse.ulp = ulp end
end

--- The parsed headers, a list.
function datagram:stack() return self._parse.stack end

--- The packet.
function datagram:packet() return self._packet[0] end

--- The payload: a pointer and bytes. With `memory`, its `size` bytes are appended
--- first.
function datagram:payload(memory, size)
  local p = self._packet[0]
  if memory and (type(memory) ~= "cdata" or tonumber(memory)) then
    check.payload("payload", memory, size)
  end
  if memory then packet.append(p, ffi.cast(bytes_t, memory), size) end
  local offset = self._parse.offset
  return p.data + offset, p.length - offset
end

--- The whole packet: a pointer and bytes.
function datagram:data()
  local p = self._packet[0]
  return p.data, p.length
end

--- Do what has been delayed.
function datagram:commit()
  if not self._delayed_commit then return end
  check_free_to_move(self)
  local push, parse = self._push, self._parse
  local p = packet.shiftleft(self._packet[0], self._offset)
  self._packet[0] = packet.prepend(p, push.buffer + push.offset, push.size)
  parse.offset = parse.offset - self._offset + push.size
  push.offset, push.size = datagram.push_buffer_size, 0
  self._offset = 0
end

return datagram
