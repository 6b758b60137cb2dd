-- SPDX-License-Identifier: Apache-2.0
-- A VXLAN tunnel end point (RFC 7348) as a part of a configuration: its apps and the
-- links between them.

local config = require("core.config")
local Decap = require("apps.vtep.decap").Decap
local Encap = require("apps.vtep.encap").Encap
local Flood = require("apps.vtep.flood").Flood
local Host = require("apps.vtep.host").Host
local Ingress = require("apps.vtep.ingress").Ingress
local Tunnel = require("apps.vtep.tunnel")

local vtep = {}

-- Joins what Encap and Host send.
local Out = {link_names = {input = {encap = "encap", host = "host"},
                           output = {output = true}}}
Out.__index = Out

function Out:new() return setmetatable({}, self) end

function Out:process(p) return p end

--- Add the tunnel end point `name` to the configuration `c`, between the apps `inner`
--- and `outer` (names; ports, as a rule), which have links `input` and `output`. `arg`
--- is described in the README; a mistake in it is raised as a sentence. Returns the
--- tunnel (apps.vtep.tunnel).
function vtep.add(c, name, arg, inner, outer)
  local tunnel = Tunnel.new(arg)
  local classes = {ingress = Ingress, flood = Flood, encap = Encap, decap = Decap,
                   host = Host}
  for part, class in pairs(classes) do
    config.app(c, name .. "_" .. part, class, tunnel)
  end
  config.app(c, name .. "_out", Out)
  for _, spec in ipairs{
    "INNER.output -> NAME_ingress.input", "NAME_ingress.output -> NAME_encap.input",
    "NAME_ingress.flood -> NAME_flood.input", "NAME_flood.output -> NAME_encap.flood",
    "NAME_encap.output -> NAME_out.encap", "NAME_out.output -> OUTER.input",
    "OUTER.output -> NAME_decap.input", "NAME_decap.output -> INNER.input",
    "NAME_decap.host -> NAME_host.input", "NAME_host.output -> NAME_out.host",
  } do
    local text = spec:gsub("%u+", {INNER = inner, OUTER = outer, NAME = name})
    config.link(c, text)
  end
  return tunnel
end

return vtep
