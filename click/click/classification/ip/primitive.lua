-- SPDX-License-Identifier: Apache-2.0
-- One primitive of an IP pattern, such as "src tcp port >= 1024", as the parser
-- collects it. check() fills in what may be left out, and says what is wrong with it.
--
--   kind          host, net, ether, proto, port, tcpopt, frag, unfrag, ect, ce; or a
--                 field of click.classification.ip.fields
--   data          the kind of the value: one of those, or int; nil if there is none
--   value, mask   numbers; for ether strings of 6 bytes
--   op, negated   "=", ">" or "<", and its opposite
--   way           src, dst, and, or
--   transport     a protocol

local bit = require("bit")

local fields = require("click.classification.ip.fields")
local names = require("click.classification.ip.names")

local Primitive = {}
Primitive.__index = Primitive

local ECN_MASK, ECN_CE = 3, 3 -- RFC 3168

local function band(a, b) return bit.band(a, b) % 2 ^ 32 end

function Primitive.new()
  return setmetatable({op = "=", negated = false, value = 0, mask = 0}, Primitive)
end

local WAYS = {src = "src ", dst = "dst ", ["or"] = "src or dst ",
              ["and"] = "src and dst "}
local OPERATORS = {["="] = "=", [">"] = ">", ["<"] = "<"}
local OPPOSITES = {["="] = "!=", [">"] = "<=", ["<"] = ">="}

function Primitive:text()
  return (WAYS[self.way] or "") .. fields.kind_text(self.kind)
end

local function operator_text(self)
  return (self.negated and OPPOSITES or OPERATORS)[self.op]
end

function Primitive:set_kind(kind, errors)
  if self.kind then errors:error("type specified twice") end
  self.kind = kind
end

function Primitive:set_way(way, errors)
  if self.way then errors:error("'src' or 'dst' specified twice") end
  self.way = way
end

function Primitive:set_transport(protocol, errors)
  if self.transport and self.transport ~= protocol then
    errors:error("transport protocol specified twice")
  end
  self.transport = protocol
end

-- Numbers --------------------------------------------------------------------------

-- Is the relation always true (or always false)? Then it becomes one without a number.
local function settle(self, mask, errors)
  local value = self.value
  local above = self.op == "<" and value > mask
  if not above and not (self.op == "<" and value == 0)
      and not (self.op == ">" and value >= mask) then
    return false
  end
  local outcome = self.negated
  if above then outcome = not self.negated end
  errors:warning("relation '%s %.0f' is always %s (range 0-%.0f)", operator_text(self),
    value, tostring(outcome), mask)
  self.value, self.mask, self.op, self.negated = 0, 0, "=", not outcome
  return true
end

-- The greatest value below or at `value` that has no bits outside the mask: what is
-- above it, among values with the mask's bits alone, is above `value`, and vice versa.
local function at_most(value, mask)
  local outside = value - band(value, mask)
  if outside == 0 then return value end
  local _, bits = math.frexp(outside)
  return band(bit.bor(value, 2 ^ (bits - 1) - 1), mask)
end

-- Check value and mask against a field whose bits are all of `full`.
local function set_mask(self, full, given, errors)
  local mask = given and given ~= 0 and given or full
  if band(mask, full) ~= mask then
    errors:error("'%s': mask out of range, bound 0x%X", self:text(), full)
    return false
  end
  if self.op == "=" then
    if self.value > full then
      errors:error("'%s': out of range, bound %.0f", self:text(), full)
      return false
    end
    self.mask = mask
    return true
  end
  if settle(self, mask, errors) then return true end
  if self.op == "<" then
    self.value, self.op, self.negated = self.value - 1, ">", not self.negated
  end
  self.value, self.mask = at_most(self.value, mask), mask
  return true
end

-- Kinds ----------------------------------------------------------------------------

local checks = {}

-- Each check gets the primitive, the kind of header (ip or ether), the mask given
-- {kind=, value=} or nil, and who is told of errors; it returns true if all is right.

local function complain(self, errors, what)
  errors:error("'%s': %s", self:text(), what)
  return false
end

local function check_host(self, header, given, errors, kind)
  if header ~= "ip" or self.data ~= kind then
    return complain(self, errors, "address missing")
  end
  if self.op ~= "=" then return complain(self, errors, "operator not supported") end
  if given and given.kind ~= "int" and given.kind ~= "host" then
    return complain(self, errors, "bad mask")
  end
  self.kind = "host"
  if given then self.mask = given.value end
  return true
end

function checks.host(self, header, given, errors)
  self.mask = 2 ^ 32 - 1
  return check_host(self, header, given, errors, "host")
end

function checks.net(self, header, given, errors)
  return check_host(self, header, given, errors, "net")
end

function checks.ether(self, header, given, errors)
  if header ~= "ether" or self.data ~= "ether" then
    return complain(self, errors, "address missing")
  end
  if self.op ~= "=" then return complain(self, errors, "operator not supported") end
  if given and given.kind ~= "ether" then return complain(self, errors, "bad mask") end
  self.mask = given and given.value or ("\255"):rep(6)
  return true
end

function checks.proto(self, _, given, errors)
  if self.data == "int" or self.data == "proto" then
    if self.transport and self.transport ~= self.value then
      return complain(self, errors, "specified twice")
    end
  elseif self.data or not self.transport then
    return complain(self, errors, "value missing")
  else
    self.value = self.transport
  end
  self.data, self.transport = nil, nil
  if self.value >= 256 and self.value < 2 ^ 31 then
    if self.op ~= "=" or given then
      errors:error("'%s': operator or mask not supported",
        fields.protocol_text(self.value))
      return false
    end
    self.mask = 0xff
  elseif given and given.kind ~= "int" then
    return complain(self, errors, "bad mask")
  elseif not set_mask(self, 0xff, given and given.value, errors) then
    return false
  end
  if self.op == "=" and self.mask == 0xff and not self.negated then
    self.transport = self.value
  end
  return true
end

local WITH_PORTS = {[names.TCP] = true, [names.UDP] = true, [names.DCCP] = true,
                    [names.TCP_OR_UDP] = true}

function checks.port(self, _, given, errors)
  if self.data == "int" then self.data = "port" end
  if self.data ~= "port" then return complain(self, errors, "value missing") end
  if not self.transport then
    self.transport = names.TCP_OR_UDP
  elseif not WITH_PORTS[self.transport] then
    errors:error("'port': bad protocol %d", self.transport)
    return false
  end
  if given and given.kind ~= "int" then return complain(self, errors, "bad mask") end
  return set_mask(self, 0xffff, given and given.value, errors)
end

function checks.tcpopt(self, _, given, errors)
  if self.data == "int" then self.data = "tcpopt" end
  if self.data ~= "tcpopt" then return complain(self, errors, "value missing") end
  self.transport = self.transport or names.TCP
  if self.transport ~= names.TCP then
    errors:error("'tcp opt': bad protocol %d", self.transport)
    return false
  end
  if self.op ~= "=" or self.negated or given then
    return complain(self, errors, "operator or mask not supported")
  end
  if self.value > 255 then
    errors:error("'tcp opt': value %d out of range", bit.tobit(self.value))
    return false
  end
  self.mask = self.value
  return true
end

function checks.ect(self, _, given, errors)
  if self.data and self.data ~= "int" then
    return complain(self, errors, "value missing")
  end
  if not self.data then
    self.value, self.negated = 0, true
  elseif given and given.kind ~= "int" then
    return complain(self, errors, "bad mask")
  end
  if not set_mask(self, ECN_MASK, given and given.value, errors) then return false end
  self.kind = fields.TOS
  return true
end

local function without_value(self, given, errors)
  if self.data or given then return complain(self, errors, "value not supported") end
  return true
end

function checks.ce(self, _, given, errors)
  if not without_value(self, given, errors) then return false end
  self.kind, self.mask, self.value = fields.TOS, ECN_MASK, ECN_CE
  return true
end

function checks.frag(self, _, given, errors)
  return without_value(self, given, errors)
end

function checks.unfrag(self, _, given, errors)
  if not without_value(self, given, errors) then return false end
  self.negated, self.kind = true, "frag"
  return true
end

local function check_field(self, given, errors)
  if self.data ~= "int" and self.data ~= self.kind then
    return complain(self, errors, "value missing")
  end
  if given and given.kind ~= "int" and given.kind ~= self.kind then
    return complain(self, errors, "bad mask")
  end
  return set_mask(self, 2 ^ self.kind.length - 1, given and given.value, errors)
end

-- What isn't written is as in the primitive before, where the value allows that.
local function infer_kind(self, before, errors)
  if self.data == "int" then
    local kind = before.kind
    if type(kind) ~= "table" and kind ~= "proto" and kind ~= "port" then
      errors:error("specify header field or 'port'")
      return false
    end
    self.data = before.kind
  end
  local data = self.data
  if not data then
    if not self.transport then
      errors:error("partial directive")
      return false
    end
    self.kind = "proto"
    return true
  end
  self.kind = data
  if type(data) == "table" then
    self.transport = self.transport or data.protocol
  elseif data ~= "proto" then
    self.way = self.way or before.way
    if data == "port" then self.transport = self.transport or before.transport end
  end
  return true
end

local TWO_ENDED = {host = true, port = true, ether = true}

--- Complete the primitive, and check it. `before` is the primitive before it in the
--- pattern, `header` is "ip", "ether" or nil, `given` the mask, {kind=, value=} or nil.
--- Returns whether it is right; `errors` has been told if not.
function Primitive:check(before, header, given, errors)
  local way = self.way
  if self.kind == false then return false end -- the parser has said why
  if not self.kind and not infer_kind(self, before, errors) then return false end
  header = header or self.data == "ether" and "ether" or "ip"
  if header == "ether" and self.kind == "host" then self.kind = "ether" end
  local own_header = self.kind == "host" or self.kind == "net" or self.kind == "ether"
  if header ~= "ip" and not own_header then return complain(self, errors, "ip only") end
  if type(self.kind) == "table" then
    if not check_field(self, given, errors) then return false end
  elseif not checks[self.kind](self, header, given, errors) then
    return false
  end
  if TWO_ENDED[self.kind] then
    self.way = self.way or "or"
  elseif way then
    errors:warning("'%s': 'src' or 'dst' ignored", self:text())
  end
  return true
end

return Primitive
