-- SPDX-License-Identifier: Apache-2.0
-- IPv4 routes in order, found by prefix, and laid out for lookups, in C
-- (net/route/route.h): 100,000 Lua tables would keep the garbage collector at work,
-- and packets waiting for it.
--
-- A route is {address=, mask=, gateway=, port=} (see click.net.routes), maybe with
-- `label` and `output`. Its index is a number from 1 on, the least one that is free.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("net/route/route.h")
local failure = require("core.failure")
local meanwhile = require("core.lib.meanwhile")

local RouteTable = {}
RouteTable.__index = RouteTable

local table_t = ffi.typeof("struct ip4_table")
local reading_t = ffi.typeof("struct ip4_reading")
local tobit = bit.tobit

-- Routes to deal with in one go: some 50 microseconds.
local PIECE = 512
local ANY_PORT = 2 ^ 31 - 1

local PROBLEMS = {
  [C.IP4_NO_MEMORY] = "no memory for so many routes",
  [C.IP4_TOO_MANY_WAYS] = ("more than %d different pairs of gateway and port"):format(
    C.IP4_MOST_WAYS),
}

-- What a function of the table returned; raises a failure if there was no memory.
local function checked(result)
  if result < 0 then failure.raise("%s", PROBLEMS[result]) end
  return result
end

--- No routes.
local function new()
  local c = table_t()
  if not C.pg_ip4_table_init(c) then checked(C.IP4_NO_MEMORY) end
  ffi.gc(c, C.pg_ip4_table_free)
  -- more[place] = {label =, output =}
  return setmetatable({c = c, more = {}}, RouteTable)
end

--- How many there are; none is at a place behind the last.
function RouteTable:count() return self.c.n end
function RouteTable:last() return self.c.last end

--- Are there masks with holes? Such routes aren't found by finder().
function RouteTable:odd() return self.c.odd > 0 end

--- The place of the route for exactly that prefix, or nil.
function RouteTable:place_of(address, mask)
  local place = C.pg_ip4_table_find(self.c, address, mask)
  return place > 0 and place or nil
end

--- The route at that place, or nil.
function RouteTable:at(place)
  local record = self.c.routes[place]
  if place > self.c.last or not record.used then return nil end
  local more = self.more[place]
  return {address = record.address, mask = record.mask, gateway = record.gateway,
    port = record.port, place = place, label = more and more.label,
    output = more and more.output}
end

--- Put the route at its prefix's place, or at a new one. Returns what is wrong, if
--- there is no room for it.
function RouteTable:put(route)
  local place = C.pg_ip4_table_put(self.c, route.address, route.mask, route.gateway,
    route.port)
  if place < 0 then return PROBLEMS[place] end
  self.more[place] = (route.label or route.output)
    and {label = route.label, output = route.output} or nil
end

--- Remove what is at that place.
function RouteTable:remove(place)
  C.pg_ip4_table_remove(self.c, place)
  self.more[place] = nil
end

--- Begin to read routes out of `text`, arguments of a configuration string: for
--- RouteTable:read. `ports`: there are so many (nil: any); `replace`: of several for a
--- prefix the last counts, not the first.
function RouteTable.reading(text, ports, replace)
  return reading_t{size = #text, ports = ports or ANY_PORT, most_port = -1,
    replace = replace or false}
end

--- Read routes on, up to the first argument that is written in an unusual way, or is
--- wrong, or to the end; packets pass meanwhile. reading.at are the bytes before that,
--- reading.number the arguments; reading.again routes were for prefixes that had one,
--- reading.most_port is the largest port, or -1. Returns what is wrong, if there is no
--- room for the next one.
function RouteTable:read(text, reading)
  local result = C.pg_ip4_table_read(self.c, text, reading, PIECE)
  while result > 0 do
    meanwhile.pause()
    result = C.pg_ip4_table_read(self.c, text, reading, PIECE)
  end
  return PROBLEMS[result]
end

local TEXT = 32768 -- bytes at once
local text_t, place_t = ffi.typeof("char[?]"), ffi.typeof("int32_t[1]")

--- The table as Click shows it, a line for each route; packets pass meanwhile. Nil if
--- there are routes with labels.
function RouteTable:text()
  if next(self.more) then return nil end
  local parts, place, text = {}, place_t(1), text_t(TEXT)
  while place[0] <= self.c.last do
    local n = C.pg_ip4_table_text(self.c, place, text, TEXT)
    parts[#parts + 1] = ffi.string(text, n)
    meanwhile.pause()
  end
  return table.concat(parts)
end

--- Let all that was put and removed count for lookups; packets pass meanwhile.
function RouteTable:lay_out()
  while checked(C.pg_ip4_table_lay_out(self.c, PIECE)) > 0 do meanwhile.pause() end
end

--- A function that finds the way of an address, given as a word, among what is laid
--- out, as all is now: the port, from 1, -1 if there is no route; and the gateway, a
--- word, 0: none.
function RouteTable:finder()
  self:lay_out()
  local c = self.c
  return function (word)
    local way = c.ways + C.pg_ip4_table_look_up(c, word)
    return way.port, tobit(way.gateway)
  end
end

return {new = new, reading = RouteTable.reading}
