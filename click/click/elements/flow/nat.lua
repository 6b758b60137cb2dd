-- SPDX-License-Identifier: Apache-2.0
-- FlowIPNAT gives each flow a source port of one address, FlowIPNATReverse brings the
-- answers back. Each is behind a flow manager; a port is free again when the flows of
-- both have ended.

local ffi = require("ffi")

local answers = require("click.flow.answers")
local C = require("core.declare")("native/flow_ends.h")
local element = require("click.element")
local ports = require("click.flow.ports")
local state = require("click.flow.state")
local wire = require("click.net.wire")

local read_ends, set_end = C.pg_flow_ends, C.pg_flow_set_end
local swap16, FORWARD = wire.swap16, ports.FORWARD
local NO_FLOW, NO_PORTS = 1, 2

local FlowIPNAT = element.define{
  name = "FlowIPNAT", summary = "gives flows ports of one address",
  division = "answers",
  processing = "h/h", flow_state = ports.area, lengthens = 0,
  drops = ports.DROPS, reads = {"FLOW_ID", "NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {
    {"SIP", "ip", required = true},
    {"ACCEPT_NONSYN", "bool", default = true, keyword = true},
    {"STATE", "bool", default = false, keyword = true},
  },
  notes = [[
Ports are 1024 to 65535, the one that has been free for longest first. One is free again
when the flow managers have ended the flow and all of its answers, or, with STATE
true, when both sides of a TCP connection have sent FIN or one RST. Whoever sends to a
port in use gets through FlowIPNATReverse.]],
  differs = "ACCEPT_NONSYN false works. With STATE true, late packets keep the port of "
    .. "their connection. Packets without ports are dropped. A port comes back where "
    .. "no answer came, too.",
}

function FlowIPNAT:configure(a)
  self.source = wire.number_of(a.SIP)
  self.sources = ffi.new("uint32_t[1]", self.source)
  self.only_syn, self.watches = not a.ACCEPT_NONSYN, a.STATE
  self.ports, self.tuple = ports.new(self), ffi.new("struct click_flow_ends")
end

function FlowIPNAT:initialize() self.area_of = state.of(self) end

--- For click.flow.answers: whoever sends to a flow's port.
function FlowIPNAT:join(area)
  return self.ports:join(area, swap16(self.tuple.dport))
end

--- For net.keep (click.flow.kept): each flow has its port still.
function FlowIPNAT:kept_notes() return ("%d"):format(self.source) end

function FlowIPNAT:kept_area(a, notes)
  if notes ~= self:kept_notes() then return "of another SIP" end
  a.source = self.sources
  self.ports:kept_area(a)
end

function FlowIPNAT:kept_seen() self.ports:kept_seen() end
function FlowIPNAT:kept_done() self.ports:kept_done() end

--- A flow has ended.
function FlowIPNAT:flow_ended(area) self.ports:leave(area) end

function FlowIPNAT:make_process()
  local area_of, ends, source, watches = self.area_of, self.tuple, self.source,
    self.watches
  local pool = self.ports
  return function (_, p)
    local area = area_of(p)
    if not area then return nil, NO_FLOW end
    if not read_ends(p, ends) then return nil, NO_PORTS end
    if not pool:has(area, ends.tcp_flags) then
      local port, reason = ports.begin(self, area, ends.destination, source)
      if not port then return nil, reason end
    end
    set_end(p, false, source, swap16(area.port))
    if watches then pool:watch(area.port, FORWARD, ends.tcp_flags) end
    return p
  end
end

-- FlowIPNATReverse -------------------------------------------------------------------

local FlowIPNATReverse = answers.define{
  name = "FlowIPNATReverse", summary = "brings answers back to FlowIPNAT's flows",
  arguments = {{"NAT", "element", required = true, class = "FlowIPNAT"}},
  notes = "It sets the destination annotation, too.",
}

return {FlowIPNAT, FlowIPNATReverse}
