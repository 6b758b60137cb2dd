-- SPDX-License-Identifier: Apache-2.0
-- Elements without ports, which say something about others, or nothing at all.

local C = require("core.native")
local bit = require("bit")
local addresses = require("click.arguments.addresses")
local arguments = require("click.arguments")
local element = require("click.element")
local text_of = require("click.language.text")

local INFO = 20 -- configured before others

local function define(class)
  class.ports, class.phase = "0/0", class.phase or INFO
  class.division = "any"
  return element.define(class)
end

-- Nothing ------------------------------------------------------------------

local function define_ignored(name, summary)
  local class = define{name = name, summary = summary}
  function class:configure_raw() end -- luacheck: no self
  return class
end

local ClickyInfo = define_ignored("ClickyInfo", "is for a graphical user interface")
local DPDKInfo = define_ignored("DPDKInfo", "sets DPDK's parameters, which Perigee has")
-- Packets that aren't in use, of all pools together.
DPDKInfo.handlers.pool_count = {read = function ()
  return ("0 %d\n"):format(C.pg_pool_available())
end}

local AlignmentInfo = define_ignored("AlignmentInfo", "says how packets are aligned")
local DevirtualizeInfo = define_ignored("DevirtualizeInfo", "is for click-devirtualize")
local FlowInfo = define_ignored("FlowInfo", "is for Click's tools")

-- Names --------------------------------------------------------------------

-- What a word may be at once: an address, or else a prefix of the same version. A
-- prefix with more bits than its length is an address, too.
local VERSIONS = {
  {address = "ip", prefix = "ip_prefix", host = function (net)
    return bit.band(net.address, bit.bnot(net.mask)) ~= 0 and net.address or nil
  end},
  {address = "ip6", prefix = "ip6_prefix", host = function (net)
    return addresses.has_host_bits(net) and net.address or nil
  end},
}

-- All that the word stands for: its values by kind, and how many kinds.
local function meanings(self, word)
  local found, n = {}, 0
  local function add(kind, value)
    if value ~= nil then found[kind], n = value, n + 1 end
    return value
  end
  local function read(kind)
    return add(kind, (arguments.value(word, {word, kind, bare = false}, self)))
  end
  read("eth")
  for _, version in ipairs(VERSIONS) do
    local net = not read(version.address) and read(version.prefix)
    if net then add(version.address, version.host(net)) end
  end
  return found, n
end

-- A word that means one thing says it, whatever others said before ("eth0 10.0.0.1":
-- the address is 10.0.0.1); one that means several adds what none has said yet
-- ("10.0.0.1 eth0": of eth0 it is the Ethernet address alone).
local function define_name(self, name, words)
  local known = {}
  for _, word in ipairs(words) do
    local found, n = meanings(self, word)
    for kind, value in pairs(found) do
      if n == 1 or not known[kind] then
        self.router.names:define(kind, self.name, name, value)
      end
    end
    for kind in pairs(found) do known[kind] = true end
    if n == 0 then self:error("'%s' is not a recognizable address", word) end
  end
end

local AddressInfo = define{
  name = "AddressInfo", summary = "gives names to addresses", phase = 10,
}

function AddressInfo:configure_raw(list)
  for _, text in ipairs(list) do
    local words = text_of.words(text)
    local name = table.remove(words, 1)
    if name and #words == 0 then self:error("expected 'NAME [ADDRS]'") end
    if name then define_name(self, name, words) end
  end
end

local AnnotationInfo = define{
  name = "AnnotationInfo", summary = "gives names to annotations", phase = 10,
}

function AnnotationInfo:configure_raw(list)
  for _, text in ipairs(list) do
    local words = text_of.words(text)
    if words[1] and words[1] ~= "CHECK_OVERLAP" then
      local offset = arguments.value(words[2] or "", {words[1], "anno"}, self)
      if not offset then
        self:error("expected 'NAME OFFSET [SIZE]'")
      else
        self.router.names:define("annotation", self.name, words[1],
          {offset, tonumber(words[3])})
      end
    end
  end
end

local PortInfo = define{
  name = "PortInfo", summary = "gives names to ports of TCP and UDP", phase = 10,
}

-- Let the names stand for the port; of the protocol, or of both (nil).
local function define_port(self, names, number, protocol)
  for _, name in ipairs(names) do
    for _, kind in ipairs(protocol and {protocol} or {"tcp", "udp"}) do
      self.router.names:define(kind .. "_port", self.name, name, number)
    end
    self.router.names:define("port", self.name, name, number)
  end
end

-- As in /etc/services: "ssh 22/tcp other names # a comment".
function PortInfo:configure_raw(list)
  for _, text in ipairs(list) do
    local words = text_of.words((text:gsub("^#.*", ""):gsub("%s#.*", "")))
    local name, port = table.remove(words, 1), table.remove(words, 1)
    local number, protocol = (port or ""):match("^(%d+)/?(%a*)$")
    number = tonumber(number)
    if not name then goto continue end
    if not number or number > 65535 then
      self:error("expected 'NAME PORT[/PROTOCOL]'")
    else
      table.insert(words, name)
      define_port(self, words, number, protocol ~= "" and protocol:lower() or nil)
    end
    ::continue::
  end
end

-- Scheduling ---------------------------------------------------------------

local ScheduleInfo = define{
  name = "ScheduleInfo", summary = "says how often tasks get their turn",
}

local USUAL = 1024 -- tickets of a task that counts 1

function ScheduleInfo:configure_raw(list)
  self.wanted = {}
  for _, text in ipairs(list) do
    local words = text_of.words(text)
    local share = tonumber(words[2])
    if #words ~= 2 or not share or share < 0 then
      self:error("expected 'ELEMENTNAME PARAM'")
    else
      self.wanted[#self.wanted + 1] = {name = words[1], tickets = share * USUAL}
    end
  end
end

function ScheduleInfo:initialize()
  for _, entry in ipairs(self.wanted) do
    local e = self.router:find(entry.name, self)
    if not e then
      self:error("no element named '%s'", entry.name)
    elseif e.class.task then
      self.router:task_of(e):set_tickets(entry.tickets)
    end
  end
end

local StaticThreadSched = define{
  name = "StaticThreadSched", summary = "says on which thread elements run",
}

-- The elements that `name` stands for: one, or all of a compound element.
local function elements_within(self, name)
  local e = self.router:find(name, self)
  if e then return {e} end
  local list, scope = {}, self.name:match("^(.*/)") or ""
  for _, other in ipairs(self.router.elements) do
    if other.name:sub(1, #scope + #name + 1) == scope .. name .. "/" then
      list[#list + 1] = other
    end
  end
  return list
end

function StaticThreadSched:configure_raw(list)
  for _, text in ipairs(list) do
    local name, number = text:match("^(%S+)%s+(%S+)$")
    number = tonumber(number and number:match("[^/]*$"))
    if not name then
      self:error("expected 'ELEMENT THREAD'")
    elseif not number then
      self:error("thread must be integer")
    else
      local found = elements_within(self, name)
      if #found == 0 then self:warning("'%s' does not name an element", name) end
      for _, e in ipairs(found) do e.home_thread = number end
    end
  end
end

return {ClickyInfo, DPDKInfo, AlignmentInfo, DevirtualizeInfo, FlowInfo,
        AddressInfo, AnnotationInfo, PortInfo, ScheduleInfo, StaticThreadSched}
