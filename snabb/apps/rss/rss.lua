-- SPDX-License-Identifier: Apache-2.0
-- Hands packets out to links by the flow they are of (snabb/native/metadata.c hashes
-- them): all packets of a flow to the same one. Conditions sort them into classes
-- first.

local ffi = require("ffi")
local C = require("core.declare")("native/snabb.h")
local classes = require("apps.rss.classes")
local counter = require("core.counter")
local failure = require("core.failure")
local link = require("core.link")
local metadata = require("apps.rss.metadata")
local packet = require("core.packet")
local siphash = require("lib.hash.siphash")

local add, free = counter.add, packet.free
local get, copy = metadata.get, metadata.copy
local receive, transmit = link.receive, link.transmit
local rshift = bit.rshift

local IP4_KEY, IP6_KEY = 13, 37 -- bytes: addresses, ports, protocol

local rss = {
  config = {
    classes = {default = {}, kind = "table"},
    default_class = {default = true},
    remove_extension_headers = {default = true},
  },
  shm = {rxpackets = {counter}, rxdrops_filter = {counter}},
}
rss.__index = rss
rss.reconfig_keeps = {"ip4", "ip6"} -- with their key: flows stay where they are

local batch_t = ffi.typeof("struct packet *[$]", C.LINK_RING_SIZE)

--- `classes`: an array of {name =, filter =, continue =}; `default_class`: whether to
--- have one for the packets that are in none of them.
function rss:new(conf)
  local key = siphash.random_sip_hash_key()
  return setmetatable({
    classes = classes.new(conf.classes, conf.default_class),
    active = {}, push_link = {},
    remove = conf.remove_extension_headers,
    ip4 = siphash.parameters{size = IP4_KEY, key = key},
    ip6 = siphash.parameters{size = IP6_KEY, key = key},
    packets = batch_t(),
  }, self)
end

local function vlan_of(name)
  local text = name:match("^vlan(%d+)$")
  local vlan = tonumber(text or -1)
  if text and (vlan < 1 or vlan > 4094) then
    failure.usage("rss: link '%s': VLANs are 1 to 4094", name)
  end
  return vlan
end

-- Which links each class has now.
local function arrange(self)
  self.active = {}
  for _, class in ipairs(self.classes) do
    class.links = {}
    local names = {}
    for name in pairs(self.output) do
      if type(name) == "string" then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      local of, weight = classes.of_link(self.classes, name)
      for _ = 1, of == class and weight or 0 do
        class.links[#class.links + 1] = self.output[name]
      end
    end
    class.n = #class.links
    if class.n > 0 then
      class.chosen, class.count = class.chosen or batch_t(), 0
      self.active[#self.active + 1] = class
    end
  end
end

function rss:link(direction, name)
  if direction == "input" then
    local vlan = vlan_of(name)
    self.push_link[name] = function (app, input) app:hand_out(input, vlan) end
    return
  end
  if not classes.of_link(self.classes, name) then
    io.stderr:write(("Warning: rss: link '%s' gets no packets: it is of no class; "
      .. "CLASS_NAME or CLASS_NAME_WEIGHT would be\n"):format(name))
  end
  arrange(self)
end

rss.needs_packets = true

function rss:unlink(direction, name)
  if direction == "input" then self.push_link[name] = nil else arrange(self) end
end

local function take(packets, input, n)
  for i = 0, n - 1 do packets[i] = receive(input) end
end

-- Sort the n packets into the class; how many are left for the classes behind it.
local function sort(class, packets, n)
  local accepts, continue, chosen = class.accepts, class.continue, class.chosen
  local count, left = 0, 0
  for i = 0, n - 1 do
    local p = packets[i]
    local m = get(p)
    local accepted = accepts(m)
    if accepted then
      m.ref = m.ref + 1
      chosen[count] = p
      count = count + 1
    end
    if continue or not accepted then
      packets[left] = p
      left = left + 1
    end
  end
  class.count = count
  return left
end

-- Free those in no class; how many there were.
local function drop(packets, n)
  local dropped = 0
  for i = 0, n - 1 do
    if get(packets[i]).ref == 0 then
      free(packets[i])
      dropped = dropped + 1
    end
  end
  return dropped
end

local function distribute(class)
  local links, n, chosen = class.links, class.n, class.chosen
  for i = 0, class.count - 1 do
    local p = chosen[i]
    local m = get(p)
    local to = links[rshift(m.hash * n, 16) + 1]
    if m.ref > 1 then
      m.ref = m.ref - 1
      p = copy(p)
    end
    transmit(to, p)
  end
end

--- Take all packets of the link; `vlan` is that which they are taken to be in, or -1.
function rss:hand_out(input, vlan)
  local packets = self.packets
  local n = link.nreadable(input)
  take(packets, input, n)
  add(self.shm.rxpackets, n)
  local fit = C.pg_metadata_burst(packets, n, self.remove, vlan, self.ip4, self.ip6)
  for i = fit, n - 1 do free(packets[i]) end
  local left = fit
  for _, class in ipairs(self.active) do left = sort(class, packets, left) end
  add(self.shm.rxdrops_filter, n - fit + drop(packets, left))
  for _, class in ipairs(self.active) do distribute(class) end
end

return {rss = rss}
