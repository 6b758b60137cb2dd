-- SPDX-License-Identifier: Apache-2.0
-- What an lwAFTR's configuration may have: upstream's YANG module snabb-softwire-v3,
-- the part that is configuration. A node is a leaf (`type`), a container (`fields`),
-- or a list (`fields` and `key`). Names with dashes have underscores in memory.

local values = require("apps.lwaftr.conf_values")

local function leaf(name, type, options)
  local node = {name = name, type = type}
  for k, v in pairs(options or {}) do node[k] = v end
  return node
end

local function named(node)
  node.by_name, node.names = {}, {}
  for i, field in ipairs(node.fields) do
    field.key_in_memory = field.name:gsub("-", "_")
    node.by_name[field.name], node.names[i] = field, field.name
  end
  return node
end

local function container(name, fields) return named{name = name, fields = fields} end

local function list(name, key, fields)
  return named{name = name, fields = fields, key = key, is_list = true}
end

local NEEDED = {needed = true}
local VLAN = values.whole(0, 4095)
local AT_LEAST_1 = values.whole(1, 2^32 - 1)

local function limits()
  return container("error-rate-limiting", {
    leaf("packets", values.uint32, {default = 200}),
    leaf("period", AT_LEAST_1, {default = 2}), -- seconds
  }), container("reassembly", {
    leaf("max-fragments-per-packet", AT_LEAST_1, {default = 20}),
    leaf("max-packets", values.uint32, {default = 20000}),
  })
end

local function interface(name, mtu, more)
  local errors, reassembly = limits()
  local fields = {
    leaf("mtu", values.uint16, {default = mtu}),
    leaf("mru", values.uint16, {default = 1460}),
    leaf("ingress-filter", values.text),
    leaf("egress-filter", values.text),
    leaf("allow-incoming-icmp", values.boolean, {default = true}),
    leaf("generate-icmp-errors", values.boolean, {default = true}),
    errors, reassembly,
  }
  for _, field in ipairs(more) do fields[#fields + 1] = field end
  return container(name, fields)
end

local function queue_interface(name, address)
  local next_hop = container("next-hop", {
    leaf("ip", address), leaf("mac", values.mac),
  })
  next_hop.one_of = true
  return container(name, {
    leaf("ip", address, NEEDED),
    leaf("mac", values.mac, NEEDED),
    leaf("vlan-tag", VLAN),
    next_hop,
  })
end

-- A list that C reads and writes (apps.lwaftr.softwires); its leaves are for those that
-- are asked for or changed one by one.
local softwires = named{name = "softwire", is_softwires = true, keys = {"ipv4", "psid"},
  fields = {
    leaf("ipv4", values.ipv4, NEEDED), leaf("psid", values.uint16, NEEDED),
    leaf("b4-ipv6", values.ipv6, NEEDED), leaf("br-address", values.ipv6, NEEDED),
    leaf("padding", values.uint16, {default = 0}),
    container("port-set", {
      leaf("psid-length", values.whole(0, 16), NEEDED),
      leaf("reserved-ports-bit-count", values.whole(0, 16), {default = 0}),
    }),
  }}

local schema = named{fields = {container("softwire-config", {
  leaf("name", values.text),
  container("binding-table", {
    softwires,
    container("version", {leaf("number", values.uint64), leaf("date", values.date)}),
  }),
  interface("external-interface", 1460, {}),
  list("instance", "device", {
    leaf("device", values.text, NEEDED),
    leaf("external-device", values.text),
    list("queue", "id", {
      leaf("id", values.uint8, NEEDED),
      queue_interface("external-interface", values.ipv4),
      queue_interface("internal-interface", values.ipv6),
    }),
  }),
  interface("internal-interface", 1500, {
    leaf("flow-label", values.whole(0, 2^20 - 1), {default = 0}), -- RFC 8200, section 6
    leaf("vlan-tag", VLAN),
    leaf("hairpinning", values.boolean, {default = true}),
  }),
})}}

--- Nodes for other schemas, of {name =, type =} and such nodes.
schema.container, schema.list = container, list

return schema
