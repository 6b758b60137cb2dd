-- SPDX-License-Identifier: Apache-2.0
-- LookupIP6Route: each packet goes the way of the longest prefix that the IPv6 address
-- in its annotation has.

local ffi = require("ffi")
local C = require("core.declare")("net/route/route.h")
local element = require("click.element")
local note = require("click.note")
local table6 = require("net.route.table6")
local text_of = require("click.language.text")
local types = require("click.arguments").types
local wire = require("click.net.wire")

local ADDRESS, TO = 16, note.DST_IP6
local ZERO = ("\0"):rep(ADDRESS)
-- Ports are from 1.
local ways_t = ffi.typeof(
  "struct { uint8_t gateway[16]; int32_t port; bool has_gateway; }[?]")
local longs_t = ffi.typeof("uint64_t *")

local LookupIP6Route = element.define{
  name = "LookupIP6Route", summary = "simple static IPv6 routing table",
  division = "any",
  ports = "1/-", processing = "h/h", drops = {"no route"},
}

-- The address with all bits behind the first `length` zero.
local function masked(address, length)
  local whole = math.floor(length / 8)
  if whole == ADDRESS then return address end
  local byte = address:byte(whole + 1)
  return address:sub(1, whole) .. string.char(byte - byte % 2 ^ (8 - length % 8))
    .. ZERO:sub(whole + 2)
end

-- The prefix of "ADDRESS[/LENGTH]", or nil.
local function prefix_of(e, text)
  local prefix = text and types.ip6_prefix(text, {bare = true}, e)
  if not prefix then return nil end
  return {address = masked(prefix.address, prefix.length), length = prefix.length}
end

-- The route {address=, length=, gateway=, port=} of "PREFIX [GATEWAY] PORT", or nil.
local function parse(e, text)
  local words = text_of.words(text)
  local route = prefix_of(e, words[1])
  if not route or #words < 2 or #words > 3 then return nil end
  route.gateway = #words == 2 and ZERO or types.ip6(words[2], {}, e)
  route.port = types.int(words[#words], {})
  return route.gateway and route.port and route.port >= 0 and route or nil
end

local function key_of(prefix) return prefix.address .. string.char(prefix.length) end

local function add(e, route)
  local key = key_of(route)
  local i = e.places[key] or #e.list + 1
  e.list[i], e.places[key] = route, i
end

local function remove(e, prefix)
  local key = key_of(prefix)
  local i = e.places[key]
  if not i then return end
  table.remove(e.list, i)
  e.places[key] = nil
  for k = i, #e.list do e.places[key_of(e.list[k])] = k end
end

-- Lay the table out for C.
local function compile(e)
  local ways = ways_t(#e.list + 1)
  for i, route in ipairs(e.list) do
    local way = ways[i]
    ffi.copy(way.gateway, route.gateway, ADDRESS)
    way.port, way.has_gateway = route.port + 1, route.gateway ~= ZERO
  end
  e.table, e.ways = table6.new(e.list), ways
end

function LookupIP6Route:configure_raw(texts)
  self.list, self.places = {}, {} -- places[key_of(route)] in the list
  local most, failed = -1, false
  for i, text in ipairs(texts) do
    local route = parse(self, text)
    if route then
      add(self, route)
      most = math.max(most, route.port)
    else
      self:error("argument %d should be DADDR/MASK [GW] OUTPUT", i)
      failed = true
    end
  end
  if failed then return end
  if most < 0 then self:warning("no routes") end
  if most >= self.noutputs then
    return self:error("need %d or more output ports", most + 1)
  end
  compile(self)
end

function LookupIP6Route:process(p)
  local i = C.pg_ip6_table_look_up(self.table, p.note8 + TO)
  if i == 0 then return nil, 1 end
  local way = self.ways[i]
  if way.has_gateway then
    local to, from = ffi.cast(longs_t, p.note8 + TO), ffi.cast(longs_t, way.gateway)
    to[0], to[1] = from[0], from[1]
  end
  return p, way.port
end

-- Handlers -------------------------------------------------------------------------

local function write_add(e, text)
  local route = parse(e, text)
  if not route then return "expected 'PREFIX [GATEWAY] PORT'" end
  if route.port >= e.noutputs then return "output port out of range" end
  add(e, route)
  compile(e)
end

local function write_remove(e, text)
  local prefix = prefix_of(e, text_of.words(text)[1])
  if not prefix then return "PREFIX: parse error" end
  remove(e, prefix)
  compile(e)
end

local function write_ctrl(e, text)
  local command, rest = text_of.first_word(text)
  if command == "add" then return write_add(e, rest) end
  if command == "remove" then return write_remove(e, rest) end
  return "bad command, should be `add' or `remove'"
end

local function table_text(e)
  local lines = {#e.list > 0 and "# Active routes\n" or ""}
  for _, route in ipairs(e.list) do
    lines[#lines + 1] = ("%s/%d\t%s\t%d\n"):format(wire.ip6_text(route.address),
      route.length, wire.ip6_text(route.gateway), route.port)
  end
  return table.concat(lines)
end

LookupIP6Route.handlers = {
  add = {write = write_add}, remove = {write = write_remove},
  ctrl = {write = write_ctrl}, table = {read = table_text},
}

return {LookupIP6Route}
