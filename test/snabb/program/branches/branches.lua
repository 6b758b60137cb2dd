-- SPDX-License-Identifier: Apache-2.0
-- branches IN.pcap OUT.pcap COPIES: several links at one app, both ways.

module(..., package.seeall)

local basic = require("apps.basic.basic_apps")
local pcap = require("apps.pcap.pcap")
local counter = require("core.counter")

-- Sends what comes from in1 to out1, and so on.
Crossbar = { push_link = {}, shm = { crossed = { counter } } }

function Crossbar:new ()
   return setmetatable({ special = 0 }, { __index = Crossbar })
end

function Crossbar:push ()
   for i = 1, #self.input - 1 do
      local input, output = self.input["in" .. i], self.output["out" .. i]
      while not link.empty(input) do
         counter.add(self.shm.crossed)
         link.transmit(output, link.receive(input))
      end
   end
end

function Crossbar.push_link:special (input)
   while not link.empty(input) do
      self.special = self.special + 1
      link.transmit(self.output.special, link.receive(input))
   end
end

function run (parameters)
   local source, target, copies = unpack(parameters)
   copies = tonumber(copies)
   local c = config.new()
   config.app(c, "source", pcap.PcapReader, source)
   config.app(c, "tee", basic.Tee)
   config.app(c, "crossbar", Crossbar)
   config.app(c, "join", basic.Join)
   config.app(c, "target", pcap.PcapWriter, target)
   config.link(c, "source.output -> tee.input")
   for i = 1, copies do
      config.link(c, ("tee.out%d -> crossbar.in%d"):format(i, i))
      config.link(c, ("crossbar.out%d -> join.in%d"):format(i, i))
   end
   config.link(c, "tee.special -> crossbar.special")
   config.link(c, "crossbar.special -> join.special")
   config.link(c, "join.output -> target.input")
   engine.configure(c)

   local reader = engine.app_table.source
   local function done ()
      if not reader.done then return false end
      for _, l in pairs(engine.link_table) do
         if not link.empty(l) then return false end
      end
      return true
   end
   engine.main({ done = done, report = { showlinks = true, showpackets = true } })
   local crossbar = engine.app_table.crossbar
   print(("crossed %d special %d"):format(
      tonumber(counter.read(crossbar.shm.crossed)), crossbar.special))
end
