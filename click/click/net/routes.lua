-- SPDX-License-Identifier: Apache-2.0
-- A table of IPv4 routes: added, removed and shown as Click's lookup elements do it,
-- and compiled to a function that looks up an address. Up to FEW routes become
-- comparisons with constants, the longest prefix first; more, or those that change
-- often, are laid out for C (click.net.route_ranges).
--
-- A route is {address=, mask=, gateway=, port=}: numbers in host order, gateway 0 for
-- none; ports count from 0. With `label`, that is shown in the port's place; `output`
-- is what users call the port.

local meanwhile = require("core.lib.meanwhile")
local route_ranges = require("click.net.route_ranges")
local wire = require("click.net.wire")

local Routes = {}
Routes.__index = Routes

local FEW = 16
local MOST_COMPARISONS = 8 -- functions: LuaJIT compiles what uses them for each
local MOST_WAYS = 65535 -- a range's number of a way is of 16 bits

--- An empty table.
local function new()
  return setmetatable({
    list = {}, by_prefix = {}, -- in order, with holes; by mask and address
    n = 0, last = 0, hole = 1, -- how many; no place is taken behind, none free before
    made = 0,                  -- functions of comparisons
    gateways = {[0] = 0}, ports = {[0] = -1}, -- of ways: word, port from 1
    ways = {}, nways = 0,      -- the numbers of ways by port and gateway
  }, Routes)
end

-- Ways -----------------------------------------------------------------------------

-- The number of the way that the route goes: a gateway and a port.
local function way_of(self, route)
  local by_gateway = self.ways[route.port]
  if not by_gateway then
    by_gateway = {}
    self.ways[route.port] = by_gateway
  end
  local way = by_gateway[route.gateway]
  if not way then
    way = self.nways + 1
    if way > MOST_WAYS then error("too many different gateways", 0) end
    self.nways, by_gateway[route.gateway] = way, way
    self.gateways[way], self.ports[way] = wire.word_of(route.gateway), route.port + 1
  end
  return way
end

-- Changes --------------------------------------------------------------------------

local function prefix_length(route) return wire.prefix_length(route.mask) end

-- A mask with holes has no length: such routes are compared with, however many.
local function count_odd(self, route, by)
  if not prefix_length(route) then self.odd = (self.odd or 0) + by end
end

local function put_range(self, route, way)
  local length = prefix_length(route)
  if self.ranges and length then self.ranges:set(route.address, length, way) end
end

-- The routes of that one's mask, by address.
local function with_mask(self, route)
  local list = self.by_prefix[route.mask]
  if not list then
    list = {}
    self.by_prefix[route.mask] = list
  end
  return list
end

--- The route for exactly that prefix, or nil.
function Routes:find(route) return with_mask(self, route)[route.address] end

--- Add the route, in the place of the one for its prefix if `replace`. Returns the one
--- that was there, if any: without `replace`, it stays.
function Routes:add(route, replace)
  local before = self:find(route)
  if before and not replace then return before end
  local place = before and before.place or self.hole
  if not before then
    while self.list[place] do place = place + 1 end
    self.n, self.last, self.hole = self.n + 1, math.max(self.last, place), place + 1
    count_odd(self, route, 1)
  end
  route.place = place
  self.list[place], with_mask(self, route)[route.address] = route, route
  put_range(self, route, way_of(self, route))
  return before
end

--- Remove the route for that prefix; if `route` has a port, only the very same one.
--- Returns the one that was there, or nil.
function Routes:remove(route)
  local there = self:find(route)
  if not there then return nil end
  local output = there.output or there.port
  if route.port >= 0
    and (output ~= route.port or there.gateway ~= route.gateway) then
    return nil
  end
  self.list[there.place], with_mask(self, route)[route.address] = nil, nil
  self.n, self.hole = self.n - 1, math.min(self.hole, there.place)
  count_odd(self, route, -1)
  put_range(self, route, nil)
  return there
end

--- Remove all.
function Routes:clear()
  self.list, self.by_prefix, self.n, self.last, self.hole = {}, {}, 0, 0, 1
  self.odd = 0
  if self.ranges then self.ranges:clear() end
end

--- The routes in the order of their places.
function Routes:in_order()
  local list = {}
  for place = 1, self.last do
    meanwhile.step()
    list[#list + 1] = self.list[place]
  end
  return list
end

-- Lookup ---------------------------------------------------------------------------

local function by_mask(a, b)
  if a.mask ~= b.mask then return a.mask > b.mask end
  return a.place < b.place
end

-- A function of comparisons; what is more special comes first.
local function compare(self)
  local lines = {"local band = bit.band", "return function (word)"}
  local list = self:in_order()
  table.sort(list, by_mask)
  for _, route in ipairs(list) do
    local way = way_of(self, route)
    local answer = ("return %d, %d"):format(self.ports[way], self.gateways[way])
    local address, mask = wire.word_of(route.address), wire.word_of(route.mask)
    if route.mask == 0 then
      lines[#lines + 1] = "do " .. answer .. " end"
    elseif route.mask == 2 ^ 32 - 1 then
      lines[#lines + 1] = ("if word == %d then %s end"):format(address, answer)
    else
      lines[#lines + 1] = ("if band(word, %d) == %d then %s end"):format(mask, address,
        answer)
    end
  end
  lines[#lines + 1] = "return -1, 0 end"
  return loadstring(table.concat(lines, "\n"))()
end

local function search(self)
  if not self.ranges then
    self.ranges = route_ranges.new()
    for _, route in ipairs(self:in_order()) do
      meanwhile.step()
      put_range(self, route, way_of(self, route))
    end
  end
  self.ranges:commit()
  local find, ports, gateways = self.ranges:finder(), self.ports, self.gateways
  return function (word)
    local way = find(word)
    return ports[way], gateways[way]
  end
end

--- A function that looks up an address (a word) in the table as it is now: the port,
--- from 1, -1 if there is no route; and the gateway, a word, 0 if there is none. One
--- for many routes knows of later changes once this has been called again.
function Routes:finder()
  local few = self.n <= FEW and self.made < MOST_COMPARISONS and not self.ranges
  if few or (self.odd or 0) > 0 then
    self.made = self.made + 1
    return compare(self)
  end
  self.searching = self.searching or search(self)
  self.ranges:commit()
  return self.searching
end

-- Text -----------------------------------------------------------------------------

-- Columns as Click has them: two tabs behind what is short.
local function column(text, width)
  return text .. (#text + 1 < width and "\t\t" or "\t")
end

local function gateway_text(route)
  return route.gateway ~= 0 and wire.ip_text(route.gateway) or "-"
end

--- "10.0.0.0/8 10.0.0.1 2" for a route.
function Routes.route_text(route)
  return ("%s %s %s"):format(wire.prefix_text(route.address, route.mask),
    gateway_text(route), route.label or route.port)
end

--- The table, a line for each route.
function Routes:text()
  local lines = {}
  for i, route in ipairs(self:in_order()) do
    lines[i] = column(wire.prefix_text(route.address, route.mask), 17)
      .. column(gateway_text(route), 9) .. (route.label or route.port) .. "\n"
  end
  return table.concat(lines)
end

return {new = new, route_text = Routes.route_text}
