-- SPDX-License-Identifier: Apache-2.0
-- IPv4 routing tables: each packet goes the way of the longest prefix that the address
-- in its annotation has, which then is the route's gateway if there is one. Click has
-- several algorithms for this; here they are one, under all their names.

local element = require("click.element")
local meanwhile = require("core.lib.meanwhile")
local note = require("click.note")
local route_commands = require("click.net.route_commands")
local routes = require("click.net.routes")
local wire = require("click.net.wire")
local bit = require("bit")

local tobit = bit.tobit
local DST_IP = note.DST_IP
local MOST_TOLD = 5 -- packets without a route

local StaticIPLookup = element.define{
  name = "StaticIPLookup", summary = "simple static IP routing table",
  division = "any",
  ports = "1/-", processing = "h/h", drops = {"no route"}, reads = {"DST_IP"},
  lengthens = 0,
  teller = "LinearIPLookup", -- whom Click says it is that tells
}

function StaticIPLookup:configure_text(text)
  self.routes, self.untold = routes.new(), MOST_TOLD
  route_commands.configure(self, text)
  self.source = text
end

local PIECE = 16384 -- bytes to look at in one go

local function has_letters(text)
  for i = 1, #text, PIECE do
    meanwhile.pause()
    if text:sub(i, i + PIECE - 1):find("%a") then return true end
  end
  return false
end

--- Take the table of the element that this one is to replace, if it was made of the
--- same text, without names, and no handler has changed it.
function StaticIPLookup:reuse(text)
  local old = self.router.old
  local former = old and old.by_name[self.name]
  if not former or former.class ~= self.class or former.source ~= text
    or former.noutputs ~= self.noutputs or has_letters(text) then
    return false
  end
  self.routes, self.find, self.untold = former.routes, former.find, MOST_TOLD
  self.source = text
  return true
end

function StaticIPLookup:compile()
  local before = self.find
  self.source = nil
  self.find = self.routes:finder()
  if self.find ~= before then self:changed() end
end

-- What becomes of a packet whose address, a word, has no route.
local function no_route(e, word)
  if e.untold > 0 then
    e.untold = e.untold - 1
    e:say("%s: no route for %s", e.teller, wire.word_text(word))
  end
  return nil, 1
end

StaticIPLookup.no_route = no_route

function StaticIPLookup:process(p)
  local word = tobit(p.note32[DST_IP])
  local port, gateway = self.find(word)
  if port < 0 then
    local q, o = no_route(self, word)
    return q, o
  end
  if gateway ~= 0 then p.note32[DST_IP] = gateway end
  return p, port
end

function StaticIPLookup:make_process()
  local find = self.find
  return function (_, p)
    local word = tobit(p.note32[DST_IP])
    local port, gateway = find(word)
    if port < 0 then
      local q, o = no_route(self, word)
      return q, o
    end
    if gateway ~= 0 then p.note32[DST_IP] = gateway end
    return p, port
  end
end

local function with(...)
  local handlers = {}
  for _, set in ipairs{...} do
    for name, handler in pairs(set) do handlers[name] = handler end
  end
  return handlers
end

StaticIPLookup.handlers = with(route_commands.readers)

local function class(name, summary, teller, handlers)
  return element.define{
    name = name, summary = summary, extends = StaticIPLookup, teller = teller,
    handlers = with(route_commands.readers, route_commands.writers, handlers),
  }
end

local FLUSH = {flush = route_commands.flush}

local LinearIPLookup =
  class("LinearIPLookup", "simple IP routing table", "LinearIPLookup", {})
local SortedIPLookup =
  class("SortedIPLookup", "simple IP routing table", "SortedIPLookup", {})
local RadixIPLookup =
  class("RadixIPLookup", "IP lookup using a radix trie", "IPRouteTable", FLUSH)
local DirectIPLookup = class("DirectIPLookup",
  "IP routing lookup using direct-indexed tables", "IPRouteTable", FLUSH)
local RangeIPLookup = class("RangeIPLookup",
  "IP routing lookup through binary search in a very compact table", "IPRouteTable",
  FLUSH)

-- LookupIPRouteMP ------------------------------------------------------------------

local LookupIPRouteMP = element.define{
  name = "LookupIPRouteMP", aliases = {"LookupIPRoute"}, extends = StaticIPLookup,
  summary = "simple static IP routing table", teller = "LookupIPRouteMP", handlers = {},
}

-- Of several routes for a prefix, the last counts.
function LookupIPRouteMP:configure_text(whole)
  self.routes, self.untold = routes.new(), MOST_TOLD
  local most, failed = -1, false
  local reading = route_commands.read(self, whole, nil, true, function (i, text)
    local route = route_commands.parse(self, text)
    if route and route.port >= 0 then
      local _, problem = self.routes:add(route, true)
      if problem then self:error("argument %d: %s", i, problem) end
      most = math.max(most, route.port)
    else
      self:error("argument %d should be 'DADDR/MASK [GATEWAY] OUTPUT'", i)
      failed = true
    end
  end)
  most = math.max(most, reading.most_port)
  if failed then return end
  if most < 0 then self:warning("no routes") end
  if most >= self.noutputs then
    return self:error("need %d or more output ports", most + 1)
  end
  self:compile()
  self.source = whole
end

return {
  StaticIPLookup, LinearIPLookup, SortedIPLookup, RadixIPLookup, DirectIPLookup,
  RangeIPLookup, LookupIPRouteMP,
}
