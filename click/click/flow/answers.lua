-- SPDX-License-Identifier: Apache-2.0
-- Elements that bring answers back to the flows of another one, which chose their
-- ports (click.flow.ports). That one has `ports`, `tuple`, `watches` and a method
-- join(area): is the flow of answers with that area, whose ends are in `tuple`, one of
-- its own?

local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local note = require("click.note")
local ports = require("click.flow.ports")
local state = require("click.flow.state")

local read_ends, set_end, set_address = C.pg_flow_ends, C.pg_flow_set_end,
  C.pg_flow_set_address
local DST_IP, REPLY = note.DST_IP, ports.REPLY
local NO_FLOW, NO_PORTS, NO_MAPPING = 1, 2, 3

local answers = {}

--- A class of these, made of `class` (element.define), whose `arguments` are one, the
--- other element. With `from_destination` answers come from the address that the flow
--- was sent to, else from where they come from.
function answers.define(class)
  class.division, class.processing, class.lengthens = "answers", "h/h", 0
  class.flow_state, class.drops = ports.area, {"no flow", "no ports", "no mapping"}
  class.reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER"}
  class = element.define(class)
  local argument = class.arguments[1][1]

  function class:configure(a) self.giver = a[argument] end

  function class:initialize() self.area_of = state.of(self) end

  --- A flow of answers has ended.
  function class:flow_ended(area) self.giver.ports:leave(area) end

  function class:make_process()
    local area_of, giver, readdresses = self.area_of, self.giver, self.from_destination
    local pool, ends, watches = giver.ports, giver.tuple, giver.watches
    local all = pool.mappings
    return function (_, p)
      local area = area_of(p)
      if not area then return nil, NO_FLOW end
      if not read_ends(p, ends) then return nil, NO_PORTS end
      if not (pool:has(area, 0) or giver:join(area)) then return nil, NO_MAPPING end
      local m = all[area.port]
      if readdresses then set_address(p, false, m.destination) end
      set_end(p, true, m.address, m.port)
      p.note32[DST_IP] = m.address
      if watches then pool:watch(area.port, REPLY, ends.tcp_flags) end
      return p
    end
  end

  return class
end

return answers
