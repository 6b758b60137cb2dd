-- SPDX-License-Identifier: Apache-2.0
-- Patterns of rewriters: what becomes of a new flow's addresses and ports.
--
--     1.0.0.1 1024-65535 - -     source address and port (one of a range), the
--                                destination stays
--     1.0.0.1-1.0.0.9 -          source address, one of a range; destination
--     NAME                       as an element IPRewriterPatterns says
--
-- A range may end with "#" (one after the other) or "?" (by chance, even if the
-- packet's own port would do).

local bit = require("bit")
local ffi = require("ffi")

local arguments = require("click.arguments")
local C = require("core.declare")("native/flows.h")
local chance = require("click.chance")
local FlowSet = require("click.rewriter.flow_set")
local names = require("click.names")
local wire = require("click.net.wire")

local Pattern = {}
Pattern.__index = Pattern

local MOST = 2 ^ 31 - 2 -- of numbers chosen by chance

local types = arguments.types
local address_text = FlowSet.address_text
local PORTS = 65535

-- Parsing ---------------------------------------------------------------------------

-- A range's text without its mark, which is noted.
local function without_mark(text, pattern)
  local mark = text:sub(-1)
  if mark == "#" then pattern.sequential = true end
  if mark ~= "#" and mark ~= "?" then return text end
  pattern.same_first = false
  return text:sub(1, -2)
end

-- A prefix's addresses without the first and the last, if it has more than two.
local function from_prefix(prefix)
  if not prefix or prefix.address == 0 or not prefix.length or prefix.length == 0 then
    return nil
  end
  if prefix.length == 32 then return prefix.address, 0 end
  local first = bit.band(prefix.address, prefix.mask) % 2 ^ 32
  if prefix.length == 31 then return first, 1 end
  return first + 1, 2 ^ (32 - prefix.length) - 3
end

-- The first address of a range and how many follow, or nil.
local function address_range(text, pattern, element)
  text = without_mark(text, pattern)
  local first, last = text:match("^(.-)%-(.*)$")
  if not first then
    return from_prefix(types.ip_prefix(text, {bare = true}, element))
  end
  first, last = types.ip(first, {}, element), types.ip(last, {}, element)
  if first and last and last >= first then return first, last - first end
end

local function port_range(text, pattern)
  local first, last = without_mark(text, pattern):match("^(.-)%-(.*)$")
  first, last = types.unsigned(first or "", {}), types.unsigned(last or "", {})
  if first and last and last >= first and last <= PORTS then
    return first, last - first
  end
end

local function address(text, element)
  if text == "-" then return 0 end
  return types.ip(text, {}, element)
end

local function port(text)
  if text == "-" then return 0 end
  local value = types.unsigned(text, {})
  return value and value > 0 and value <= PORTS and value or nil
end

-- Source address and port: each may be a range.
local function parse_source(pattern, source, sport, element)
  local value, top = address(source, element), nil
  if not value then value, top = address_range(source, pattern, element) end
  if not value then return "bad source address" end
  pattern.source, pattern.top = value, top or 0
  if not sport then return end
  value, top = port(sport), nil
  if not value then value, top = port_range(sport, pattern) end
  if not value then return "bad source port" end
  pattern.sport = value
  pattern.top = top or pattern.top
end

local function named(name, element)
  return names.find("rewriter_pattern", element, name)
end

--- The pattern of a list of words: one (a name), two (addresses), three (addresses and
--- a source port) or four. Nil and what is wrong, if something is.
function Pattern.parse(words, element)
  if #words < 1 or #words > 4 then return nil, "syntax error" end
  if #words == 1 then
    local pattern = named(words[1], element)
    return pattern, not pattern and ("no such pattern '%s'"):format(words[1]) or nil
  end
  local pattern = setmetatable({
    sport = 0, dport = 0, sequential = false, same_first = true, next = 0,
    ports = #words >= 3,
  }, Pattern)
  local sport = #words == 4 and words[2] or #words == 3 and words[3] or nil
  local problem = parse_source(pattern, words[1], sport, element)
  if problem then return nil, problem end
  pattern.destination = address(words[#words == 4 and 3 or 2], element)
  if not pattern.destination then return nil, "bad destination address" end
  pattern.dport = #words == 4 and port(words[4]) or #words < 4 and 0 or nil
  if not pattern.dport then return nil, "bad destination port" end
  return pattern
end

--- Do new flows get one of so many addresses or ports (1: all the same)?
function Pattern:choices() return self.top + 1 end

--- Does it leave packets as they are?
function Pattern:changes_nothing()
  return self.source == 0 and self.sport == 0 and self.destination == 0
    and self.dport == 0
end

--- The pattern as text.
function Pattern:text()
  local function shown(value, text) return value == 0 and "-" or text(value) end
  local function range(value)
    return self.top > 0 and ("%d-%d"):format(value, value + self.top) or tostring(value)
  end
  local words = {shown(self.source, address_text)}
  if not self.ports and self.top > 0 then
    words[1] = address_text(self.source) .. "-" .. address_text(self.source + self.top)
  end
  if self.ports then words[2] = shown(self.sport, range) end
  words[#words + 1] = shown(self.destination, address_text)
  if self.ports then words[#words + 1] = shown(self.dport, tostring) end
  return table.concat(words, " ")
end

-- Rewriting -------------------------------------------------------------------------

local key_type = ffi.typeof("struct click_flow_key")

local swap16, swap32 = wire.swap16, wire.number_of

-- The number in the range that the flow gets, or nil if none is found.
local function choose(self, key, reply, flows, kind)
  local base = self.ports and self.sport or self.source
  if self.same_first and self.ports then
    local own = swap16(key.sport) - base
    reply.dport = key.sport
    if own >= 0 and own <= self.top and C.pg_flows_is_free(flows, kind, reply) then
      return own
    end
  end
  local first = chance.number(math.min(self.top, MOST))
  if self.sequential then first = self.next > self.top and 0 or self.next end
  local chosen = C.pg_flows_free_key(flows, kind, reply, self.ports, base, self.top,
    first, self.sequential)
  if chosen >= 0 then return tonumber(chosen) end
  self.next = (first + C.FLOW_CHOICES) % (self.top + 1) -- the next packet goes on
end

--- The key that packets with `key` get, so that replies to them differ from those of
--- all other flows of the kind; nil if there is none.
function Pattern:rewrite(key, flows, kind)
  local new = key_type(key)
  if self.source ~= 0 then new.source = swap32(self.source) end
  if self.sport ~= 0 then new.sport = swap16(self.sport) end
  if self.destination ~= 0 then new.destination = swap32(self.destination) end
  if self.dport ~= 0 then new.dport = swap16(self.dport) end
  if self.top == 0 then return new end
  local chosen = choose(self, key, FlowSet.reversed(new), flows, kind)
  if not chosen then return nil end
  self.next = chosen + 1
  if self.ports then
    new.sport = swap16(self.sport + chosen)
  else
    new.source = swap32(self.source + chosen)
  end
  return new
end

return Pattern
