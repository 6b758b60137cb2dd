-- SPDX-License-Identifier: Apache-2.0
-- The same configuration and state by the names of the IETF's module ietf-softwire-br
-- (RFC 8676's draft of January 2019, which upstream has): one bind-instance, called as
-- the lwAFTR is. A B4 has one softwire there; of others of its address nothing is seen.

local change = require("program.lwaftr.leader.change")
local conf_schema = require("apps.lwaftr.conf_schema")
local failure = require("core.failure")
local path = require("program.lwaftr.leader.path")
local reader = require("apps.lwaftr.conf_reader")
local softwire = require("program.lwaftr.leader.softwire")
local tree = require("program.lwaftr.leader.tree")
local values = require("apps.lwaftr.conf_values")

local ietf = {}

local container, list = conf_schema.container, conf_schema.list

local function leaf(name, kind, options)
  local field = {name = name, type = kind}
  for k, v in pairs(options or {}) do field[k] = v end
  return field
end

local NEEDED, TRUE = {needed = true}, {default = true}
local NO_LIMIT = 2^32 - 1 -- of softwires

local ENTRY = list("binding-entry", "binding-ipv6info", {
  leaf("binding-ipv6info", values.ipv6, NEEDED),
  leaf("binding-ipv4-addr", values.ipv4, NEEDED),
  container("port-set", {
    leaf("psid-offset", values.whole(0, 16), {default = 0}),
    leaf("psid-len", values.whole(0, 16), NEEDED),
    leaf("psid", values.uint16, NEEDED),
  }),
  leaf("br-ipv6-addr", values.ipv6, NEEDED),
})

-- An instance has `fields`.
local function around(fields)
  table.insert(fields, 1, leaf("name", values.text))
  return container(nil, {container("br-instances", {container("binding", {
    list("bind-instance", "name", fields)})})})
end

--- Schemas, as apps.lwaftr.conf_schema.
ietf.schema = around{
  leaf("softwire-num-max", values.uint32), leaf("softwire-payload-mtu", values.uint16),
  leaf("softwire-path-mru", values.uint16),
  leaf("enable-hairpinning", values.boolean, TRUE),
  container("binding-table", {ENTRY}),
  container("icmp-policy", {
    container("icmpv4-errors", {
      leaf("allow-incoming-icmpv4", values.boolean, TRUE),
      leaf("icmpv4-rate", values.uint32),
      leaf("generate-icmpv4-errors", values.boolean, TRUE),
    }),
    container("icmpv6-errors", {
      leaf("generate-icmpv6-errors", values.boolean, TRUE),
      leaf("icmpv6-rate", values.uint32),
    }),
  }),
}

-- Its counters, and ours.
local COUNTERS = {
  ["sent-ipv4-packets"] = "out_ipv4_packets", ["sent-ipv4-bytes"] = "out_ipv4_bytes",
  ["sent-ipv6-packets"] = "out_ipv6_packets", ["sent-ipv6-bytes"] = "out_ipv6_bytes",
  ["rcvd-ipv4-packets"] = "in_ipv4_packets", ["rcvd-ipv4-bytes"] = "in_ipv4_bytes",
  ["rcvd-ipv6-packets"] = "in_ipv6_packets", ["rcvd-ipv6-bytes"] = "in_ipv6_bytes",
  ["dropped-ipv4-packets"] = "drop_all_ipv4_iface_packets",
  ["dropped-ipv4-bytes"] = "drop_all_ipv4_iface_bytes",
  ["dropped-ipv6-packets"] = "drop_all_ipv6_iface_packets",
  ["dropped-ipv6-bytes"] = "drop_all_ipv6_iface_bytes",
  ["ipv6-fragments-reassembled"] = "in_ipv6_frag_reassembled",
  ["out-icmpv4-error-packets"] = "out_icmpv4_error_packets",
  ["out-icmpv4-error-bytes"] = "out_icmpv4_error_bytes",
  ["out-icmpv6-error-packets"] = "out_icmpv6_error_packets",
  ["out-icmpv6-error-bytes"] = "out_icmpv6_error_bytes",
  ["dropped-icmpv4-packets"] = "drop_in_by_policy_icmpv4_packets",
  ["dropped-icmpv4-bytes"] = "drop_in_by_policy_icmpv4_bytes",
  ["hairpin-ipv4-packets"] = "hairpin_ipv4_packets",
  ["hairpin-ipv4-bytes"] = "hairpin_ipv4_bytes",
}

local function state_fields()
  local fields, names = {leaf("discontinuity-time", values.date)}, {}
  for name in pairs(COUNTERS) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do fields[#fields + 1] = leaf(name, values.uint64) end
  fields[#fields + 1] = leaf("active-softwire-num", values.uint32)
  return fields
end

ietf.state_schema = around{container("traffic-stat", state_fields())}

local function name_of(router)
  return router.conf.softwire_config.name or "unnamed"
end

local function instance(router, fields)
  return {br_instances = {binding = {bind_instance = {[name_of(router)] = fields}}}}
end

-- Asking ----------------------------------------------------------------------------

local function entry_of(s)
  return {
    binding_ipv4_addr = s.ipv4, br_ipv6_addr = s.br_address,
    port_set = {psid_offset = s.port_set.reserved_ports_bit_count,
      psid_len = s.port_set.psid_length, psid = s.psid},
  }
end

-- The softwires by their B4s' addresses (text): those of one B4, if `only` is its.
local function entries(router, only)
  local all, n = router.binding:list()
  local result = {}
  for i = 0, n - 1 do
    local b4 = values.ipv6.write(all[i].ends.b4)
    if not result[b4] and (not only or only == b4) then
      result[b4] = entry_of(softwire.table(all[i]))
    end
  end
  return result
end

-- The B4 that the path is about, nil: none, or all.
local function b4_of(target)
  for _, step in ipairs(target.steps) do
    if step.name == "binding-entry" then return step.key end
  end
end

--- The configuration, as far as the path asks for it.
function ietf.config(router, path_text)
  local target = path.find(ietf.schema, path_text)
  local all = router.conf.softwire_config
  local int, ext = all.internal_interface, all.external_interface
  local function rate(interface)
    local limit = interface.error_rate_limiting
    return math.floor(limit.packets / limit.period)
  end
  return instance(router, {
    softwire_num_max = NO_LIMIT, softwire_payload_mtu = int.mtu,
    softwire_path_mru = ext.mtu, enable_hairpinning = int.hairpinning,
    binding_table = {binding_entry = entries(router, b4_of(target))},
    icmp_policy = {
      icmpv4_errors = {allow_incoming_icmpv4 = ext.allow_incoming_icmp,
        generate_icmpv4_errors = ext.generate_icmp_errors, icmpv4_rate = rate(ext)},
      icmpv6_errors = {generate_icmpv6_errors = int.generate_icmp_errors,
        icmpv6_rate = rate(int)},
    },
  })
end

--- The state; `now` is program.lwaftr.leader.state's.
function ietf.state(router, now)
  local counters = now.softwire_state
  local result = {discontinuity_time = counters.discontinuity_time,
    active_softwire_num = router.binding:count()}
  for name, ours in pairs(COUNTERS) do
    result[name:gsub("-", "_")] = counters[ours] or 0
  end
  return instance(router, {traffic_stat = result})
end

-- Changing --------------------------------------------------------------------------

local SOFTWIRES = "/softwire-config/binding-table/softwire"

local function softwire_text(b4, e)
  return ("{ ipv4 %s; psid %d; b4-ipv6 %s; br-address %s; port-set { psid-length %d; "
    .. "reserved-ports-bit-count %d; } }"):format(
    values.ipv4.write(e.binding_ipv4_addr), e.port_set.psid, b4,
    values.ipv6.write(e.br_ipv6_addr), e.port_set.psid_len, e.port_set.psid_offset)
end

local function softwires_text(list_of_entries)
  local parts = {}
  for b4, entry in tree.entries(list_of_entries) do
    parts[#parts + 1] = softwire_text(b4, entry)
  end
  return table.concat(parts, "\n")
end

local function softwire_path(e)
  return ("%s[ipv4=%s][psid=%d]"):format(SOFTWIRES,
    values.ipv4.write(e.binding_ipv4_addr), e.port_set.psid)
end

-- The path, which must be into this instance.
local function find(router, path_text)
  local target = path.find(ietf.schema, path_text)
  local name, step = name_of(router), target.steps[3]
  if not step or step.key ~= name then
    failure.usage("Instance name does not match this instance (%s): %s", name,
      tostring(step and step.key))
  end
  return target
end

local function unsupported(path_text)
  failure.usage("path %s: that can't be changed by the names of ietf-softwire-br",
    path_text)
end

-- What leaves of the instance are here.
local LEAVES = {
  ["softwire-payload-mtu"] = "internal-interface/mtu",
  ["softwire-path-mru"] = "external-interface/mtu",
  ["enable-hairpinning"] = "internal-interface/hairpinning",
  ["allow-incoming-icmpv4"] = "external-interface/allow-incoming-icmp",
  ["generate-icmpv4-errors"] = "external-interface/generate-icmp-errors",
  ["generate-icmpv6-errors"] = "internal-interface/generate-icmp-errors",
}
local RATES = {["icmpv4-rate"] = "external-interface",
  ["icmpv6-rate"] = "internal-interface"}
local RATE_PERIOD = 2 -- seconds

local function set_entry(router, target, text)
  local config = ietf.config(router, target.text)
  local up = {text = target.text, steps = {unpack(target.steps, 1, 5)}}
  local old, b4 = tree.get(config, up), target.steps[5].key
  local new
  if #target.steps == 5 then
    local left = {unpack(ENTRY.fields, 2)} -- all but its key
    new = reader.text(text, "value", container(ENTRY.name, left))
  else
    local value = reader.text(text, "value", target.node)
    local rest = {text = target.text, steps = {unpack(target.steps, 6)}}
    new = tree.with(old, rest, ENTRY, function () return value end)
  end
  change.remove(router, softwire_path(old))
  local ok, err = pcall(change.add, router, SOFTWIRES, softwire_text(b4, new))
  if not ok then
    change.add(router, SOFTWIRES, softwire_text(b4, old))
    error(err, 0)
  end
end

-- A key in the path is needed in the text no more.
function ietf.set(router, path_text, text)
  local target = find(router, path_text)
  local last = target.steps[#target.steps]
  if b4_of(target) then return set_entry(router, target, text) end
  if last.name == "binding-entry" then
    local given = reader.text(text, "value", ENTRY, true)
    return change.set(router, SOFTWIRES, softwires_text(given))
  end
  local leaf_path, side = LEAVES[last.name], RATES[last.name]
  if leaf_path then
    change.set(router, "/softwire-config/" .. leaf_path, text)
  elseif side then
    local rate = reader.text(text, "value", last.node)
    change.set(router, ("/softwire-config/%s/error-rate-limiting"):format(side),
      ("packets %.0f; period %d;"):format(rate * RATE_PERIOD, RATE_PERIOD))
  else
    unsupported(path_text)
  end
end

-- As upstream's, a softwire gets the port set that its address has already.
function ietf.add(router, path_text, text)
  local target = find(router, path_text)
  if target.node ~= ENTRY or not target.is_list then unsupported(path_text) end
  local given = reader.text(text, "value", ENTRY, true)
  for _, entry in pairs(given) do
    local length, reserved = router.binding:port_set(entry.binding_ipv4_addr)
    if length then
      entry.port_set.psid_len, entry.port_set.psid_offset = length, reserved
    end
  end
  change.add(router, SOFTWIRES, softwires_text(given))
end

function ietf.remove(router, path_text)
  local target = find(router, path_text)
  if target.node ~= ENTRY or target.is_list then unsupported(path_text) end
  local entry = tree.get(ietf.config(router, path_text), target)
  change.remove(router, softwire_path(entry))
end

return ietf
