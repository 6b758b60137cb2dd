-- SPDX-License-Identifier: Apache-2.0
-- An app that does all its work in pull(): it reads its own input link there.

module(..., package.seeall)

Relay = {}

function Relay:new (arg)
   return setmetatable({ relayed = 0 }, { __index = Relay })
end

function Relay:pull ()
   local output = assert(self.output.output, "Relay needs a link at its output")
   local input = assert(self.input.input, "Relay needs a link at its input")
   while not link.empty(input) and not link.full(output) do
      link.transmit(output, link.receive(input))
      self.relayed = self.relayed + 1
   end
end

function Relay:report ()
   print(string.format("%s relayed %d packets", self.appname, self.relayed))
end
