-- SPDX-License-Identifier: Apache-2.0
-- Types of arguments for what has a number and often a name: protocols above IP, ports,
-- types and codes of ICMP messages. Requiring this module adds ip_proto, icmp_type and
-- named_port to click.arguments.

local arguments = require("click.arguments")
local fields = require("click.classification.ip.fields")
local names = require("click.classification.ip.names")
local numbers = require("click.arguments.numbers")

local named = {}
local types = arguments.types

local BYTE = {min = 0, max = 255}
local TRANSPORTS = {tcp = names.TCP, udp = names.UDP, dccp = names.DCCP}

-- The value of a number or of a word for this kind of thing.
local function number_or_word(text, kind, transport, element)
  local value, problem = types.int(text, BYTE)
  if value or problem ~= numbers.INVALID then return value, problem end
  local found, meant = names.find(text, kind, transport, element)
  if not found then return nil, problem end
  return meant
end

--- A protocol above IP: 17, udp.
function types.ip_proto(text, _, element)
  local value, problem = number_or_word(text, "proto", nil, element)
  if value and value > 255 then return nil, "bad IP protocol" end
  return value, problem
end

--- A type of ICMP messages: 11, timeexceeded.
function types.icmp_type(text, _, element)
  return number_or_word(text, fields.ICMP_TYPE, nil, element)
end

--- A port of `spec.protocol` (tcp, udp), or a service.
function types.named_port(text, spec, element)
  local value, problem = types.ip_port(text, spec, element)
  if value or problem then return value, problem end
  local found, meant = names.find(text, "port", TRANSPORTS[spec.protocol], element)
  return found and meant or nil
end

local UNREACHABLE, REDIRECT, TIME_EXCEEDED, PARAMETER_PROBLEM = 3, 5, 11, 12

-- IANA, "ICMP Parameters"; the words are Click's.
local ICMP_CODES = {
  [UNREACHABLE] = {
    net = 0, host = 1, protocol = 2, port = 3, needfrag = 4, srcroutefail = 5,
    netunknown = 6, hostunknown = 7, isolated = 8, netprohibited = 9,
    hostprohibited = 10, tosnet = 11, toshost = 12, filterprohibited = 13,
    hostprecedence = 14, precedencecutoff = 15,
  },
  [REDIRECT] = {net = 0, host = 1, tosnet = 2, toshost = 3},
  [TIME_EXCEEDED] = {transit = 0, reassembly = 1},
  [PARAMETER_PROBLEM] = {erroratptr = 0, missingopt = 1, length = 2},
}

--- The code of ICMP messages of that type: 4, needfrag; or nil.
function named.icmp_code(kind, text)
  local codes = ICMP_CODES[kind]
  return codes and codes[text] or (types.int(text, BYTE))
end

return named
