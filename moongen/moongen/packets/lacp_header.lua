-- SPDX-License-Identifier: Apache-2.0
-- The header of LACP (IEEE 802.1AX-2014, clause 6.4.2) in libmoon's form: `actor` and
-- `partner` are structs of their own, which programs copy and compare.

local bit = require("bit")
local ffi = require("ffi")
local address = require("lib.stack.address")
local warn = require("moongen.packets.warn")

-- Compiling what runs a few times takes longer than running it.
jit.off(true, true)

local lacp = {PKT_SIZE = 124, DST_MAC = address.parseMacAddress("01:80:c2:00:00:02"),
  STATE_ACT = 0x01, STATE_TIME = 0x02, STATE_AGG = 0x04, STATE_SYNC = 0x08,
  STATE_COL = 0x10, STATE_DIST = 0x20, STATE_DEF = 0x40, STATE_EXP = 0x80}

local STATES = {"Activity", "Timeout", "Aggregation", "Synchronization", "Collecting",
  "Distributing", "Defaulted", "Expired"} -- from the lowest bit on

ffi.cdef[[
struct lacp_info {
  uint16_t sys_priority;
  struct perigee_mac sys_id;
  uint16_t key;
  uint16_t port_priority;
  uint16_t port_id;
  uint8_t state;
} __attribute__((packed));
]]

lacp.headerFormat = [[
  uint8_t subtype;
  uint8_t version;
  uint8_t actor_type;
  uint8_t actor_len;
  struct lacp_info actor;
  uint8_t z1[3];
  uint8_t partner_type;
  uint8_t partner_len;
  struct lacp_info partner;
  uint8_t z2[3];
  uint8_t collector_type;
  uint8_t collector_len;
  uint16_t collector_delay;
  uint8_t z3[64];
]]

local function swapped(value) return bit.rshift(bit.bswap(value or 0), 16) end

local info = {}

for name, member in pairs{SysPriority = "sys_priority", Key = "key",
  PortPriority = "port_priority", PortId = "port_id"} do
  info["get" .. name] = function (self) return swapped(self[member]) end
  info["set" .. name] = function (self, value)
    self[member] = swapped(tonumber(value))
  end
end

function info:getState() return self.state end

--- The state: a mask of lacp.STATE_ bits.
function info:setState(state) self.state = state or 0 end

function info:getStateString()
  local names = {}
  for i, name in ipairs(STATES) do
    if bit.band(self.state, bit.lshift(1, i - 1)) ~= 0 then names[#names + 1] = name end
  end
  return "[" .. table.concat(names, ", ") .. "]"
end

function info:getString()
  return ("System %s, System Priority %d, Key %d, Port %d, Port Priority %d, %s")
    :format(self.sys_id:getString(), self:getSysPriority(), self:getKey(),
    self:getPortId(), self:getPortPriority(), self:getStateString())
end

--- Are they of the same port, whatever its state?
function info.equalsIgnoreState(a, b)
  return a.sys_priority == b.sys_priority and a.sys_id == b.sys_id and a.key == b.key
    and a.port_priority == b.port_priority and a.port_id == b.port_id
end

ffi.metatype("struct lacp_info", {__index = info, __eq = function (a, b)
  return info.equalsIgnoreState(a, b) and a.state == b.state
end})

local FIXED = {subtype = 1, version = 1, actor_type = 1, actor_len = 20,
  partner_type = 2, partner_len = 20, collector_type = 3, collector_len = 16}

local header = {}
header.__index = header

--- Is it a LACPDU of version 1?
function header:validate()
  for member, value in pairs(FIXED) do
    if self[member] ~= value then return false end
  end
  return true
end

local function fill_info(to, args, prefix)
  for _, name in ipairs{"SysPriority", "Key", "PortPriority", "PortId", "State"} do
    to["set" .. name](to, args[prefix .. name])
  end
  local id = args[prefix .. "SysId"] or "00:00:00:00:00:00"
  local mac = type(id) ~= "string" and id or address.parseMacAddress(id)
  if not mac then
    warn("%sSysId: '%s' is not an Ethernet address; it is set to 0", prefix, id)
  end
  to.sys_id:set(mac or 0)
end

function header:fill(args, prefix)
  args, prefix = args or {}, prefix or "lacp"
  ffi.fill(self, ffi.sizeof(self))
  for member, value in pairs(FIXED) do self[member] = value end
  fill_info(self.actor, args, prefix .. "Actor")
  fill_info(self.partner, args, prefix .. "Partner")
end

local function get_info(from, values, prefix)
  for _, name in ipairs{"SysPriority", "Key", "PortPriority", "PortId", "State"} do
    values[prefix .. name] = from["get" .. name](from)
  end
  values[prefix .. "SysId"] = from.sys_id:getString()
end

function header:get(prefix)
  prefix = prefix or "lacp"
  local values = {}
  get_info(self.actor, values, prefix .. "Actor")
  get_info(self.partner, values, prefix .. "Partner")
  return values
end

function header:getString()
  if self.subtype ~= 1 or self.version ~= 1 then
    return ("Unknown 0x8809 protocol: Type %d Version %d"):format(self.subtype,
      self.version)
  elseif not self:validate() then
    return "Could not parse payload"
  end
  return ("  Actor Information\n    %s\n  Partner Information\n    %s\n"
    .. "  Collector Information\n    Max Delay %d"):format(self.actor:getString(),
    self.partner:getString(), swapped(self.collector_delay))
end

function header.resolveNextHeader() end
function header.setDefaultNamedArgs(_, _, args) return args end
function header.getVariableLength() end
function header.getSubType() end

lacp.metatype = header

return lacp
