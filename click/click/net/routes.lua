-- SPDX-License-Identifier: Apache-2.0
-- A table of IPv4 routes: added, removed and shown as Click's lookup elements do it,
-- and compiled to a function that looks up an address. Up to FEW routes become
-- comparisons with constants, the longest prefix first; more, or those that change
-- often, are laid out for C (net.route.table).
--
-- A route is {address=, mask=, gateway=, port=}: numbers in host order, gateway 0 for
-- none; ports count from 0. With `label`, that is shown instead of the port; `output`
-- is what users call the port.

local meanwhile = require("core.lib.meanwhile")
local route_table = require("net.route.table")
local wire = require("click.net.wire")

local Routes = {}
Routes.__index = Routes

local FEW = 16
local MOST_COMPARISONS = 8 -- functions: LuaJIT compiles what uses them for each

--- An empty table.
local function new()
  return setmetatable({
    routes = route_table.new(),
    made = 0, -- functions of comparisons
  }, Routes)
end

-- Changes --------------------------------------------------------------------------

--- The route for exactly that prefix, or nil.
function Routes:find(route)
  local place = self.routes:place_of(route.address, route.mask)
  return place and self.routes:at(place)
end

--- Add the route, in the place of the one for its prefix if `replace`. Returns the one
--- that was there, if any: without `replace`, it stays; and what is wrong, if there is
--- no room for it.
function Routes:add(route, replace)
  local before = self:find(route)
  if before and not replace then return before end
  return before, self.routes:put(route)
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
  self.routes:remove(there.place)
  return there
end

--- Remove all.
function Routes:clear()
  self.routes, self.searching = route_table.new(), nil
end

--- Read routes on out of a text (net.route.table).
function Routes:read(text, reading) return self.routes:read(text, reading) end

-- Call f(route) of each route in the order of their places.
local function each(self, f)
  for place = 1, self.routes:last() do
    meanwhile.step()
    local route = self.routes:at(place)
    if route then f(route) end
  end
end

-- Lookup ---------------------------------------------------------------------------

local function by_mask(a, b)
  if a.mask ~= b.mask then return a.mask > b.mask end
  return a.place < b.place
end

-- A function of comparisons; what is more special comes first.
local function compare(self)
  local lines = {"local band = bit.band", "return function (word)"}
  local list = {}
  each(self, function (route) list[#list + 1] = route end)
  table.sort(list, by_mask)
  for _, route in ipairs(list) do
    local answer = ("return %d, %d"):format(route.port + 1, wire.word_of(route.gateway))
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

--- A function that looks up an address (a word) in the table as it is now: the port,
--- from 1, -1 if there is no route; and the gateway, a word, 0 if there is none. One
--- for many routes knows of later changes once this has been called again.
function Routes:finder()
  local few = self.routes:count() <= FEW and self.made < MOST_COMPARISONS
    and not self.searching
  if few or self.routes:odd() then
    self.made = self.made + 1
    return compare(self)
  end
  self.searching = self.searching or self.routes:finder()
  self.routes:lay_out()
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
  local plain = self.routes:text()
  if plain then return plain end
  local lines = {}
  each(self, function (route)
    lines[#lines + 1] = column(wire.prefix_text(route.address, route.mask), 17)
      .. column(gateway_text(route), 9) .. (route.label or route.port) .. "\n"
  end)
  return table.concat(lines)
end

return {new = new, reading = route_table.reading, route_text = Routes.route_text}
