-- SPDX-License-Identifier: Apache-2.0
-- sFlow version 5 datagrams, sflow.org/sflow_version_5.txt, section 5.

local samples = require("lib.stack.body.sflow").samples
local failure = require("core.failure")

-- for number, sample in pkt.sflow:iterateSamples(pkt.length - 42) do ... end
local function iterate_samples(header, bytes)
  if type(bytes) == "number" then return samples(header, bytes) end
  failure.usage("iterateSamples needs the number of bytes from the sFlow header to the "
    .. "end of the packet, not %s", tostring(bytes))
end

local function fields(agent_type, agent_bits, agent_address)
  return {
    {"Version", 32, default = 5},
    {"AgentIpType", 32, default = agent_type},
    {"AgentIp", agent_bits, agent_address},
    {"SubAgentId", 32},
    {"Seq", 32},
    {"Uptime", 32}, -- milliseconds
    {"NumSamples", 32},
  }
end

return {
  name = "sflow", title = "sFlow", source = "sFlow version 5, section 5",
  over = {udp = 6343},
  fields = fields(1, 32, "ip4"),
  subtypes = {
    ip6 = {fields = fields(2, 128, "ip6"), when = {AgentIpType = 2}},
  },
  order = {"ip6"}, default = "ip4",
  variable = {"payload", size = "rest"},
  methods = {iterateSamples = iterate_samples},
}
