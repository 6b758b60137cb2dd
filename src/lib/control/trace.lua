-- SPDX-License-Identifier: Apache-2.0
-- The request "trace" of the control socket (doc/control.md): the paths of single
-- packets, as their taps (lib.control.tracer) report them, from all engines.

local arguments = require("lib.control.arguments")
local all_engines = require("lib.control.all_engines")

local trace = {}

local COUNT, MOST = 10, 1e9
local RATE, MOST_RATE = 100, 1000 -- packets a second
local MUCH_OUTPUT = 4 * 1024 * 1024 -- bytes that the client hasn't taken

--- The keys of a request.
trace.arguments = {filter = true, app = true, count = true, rate = true}

local Job = {}
Job.__index = Job

-- A packet's way goes to the client.
local function hear(self, list, cpu)
  for _, record in ipairs(list) do
    if self.told >= self.count then return end
    self.told = self.told + 1
    if self.client.outgoing > MUCH_OUTPUT then
      self.lost = self.lost + 1
    else
      record.number, record.cpu = self.told, cpu
      self.client:say(self.id, {packet = record})
    end
  end
end

--- The answer has been sent.
function Job:begin(id) self.id = id end

--- Now and then.
function Job:tend()
  self.tap:tend()
  if self.told >= self.count then self:stop() end
end

--- Detach.
function Job:stop()
  if self.ended then return end
  self.ended = true
  self.tap:detach()
  self.client:say(self.id, {["end"] = {packets = self.told, lost = self.lost}})
end

--- Begin a trace for the client (lib.control.session).
function trace.run(client, request)
  local self = setmetatable({client = client, told = 0, lost = 0,
    count = arguments.number(request, "count", COUNT, MOST)}, Job)
  self.tap = all_engines.attach("trace", {
    app = arguments.app(request), filter = arguments.filter(request),
    count = self.count, rate = arguments.number(request, "rate", RATE, MOST_RATE),
  }, function (list, cpu) hear(self, list, cpu) end)
  return {count = self.count}, self
end

return trace
