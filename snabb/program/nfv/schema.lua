-- SPDX-License-Identifier: Apache-2.0
-- What a port of a configuration may have, and which values are right. The keys are
-- those of Snabb NFV.

local addresses = require("lib.stack.address")
local failure = require("core.failure")
local filter = require("lib.filter")
local spelling = require("core.lib.spelling")
local values = require("program.nfv.values")

local schema = {}

local ANY = function () end -- takes any value: these keys have no effect

local function one_of(words)
  return function (value)
    for _, word in ipairs(words) do
      if value == word then return end
    end
    return ("%s is none of: %s"):format(values.shown(value), table.concat(words, ", "))
  end
end

local function boolean(value)
  if type(value) ~= "boolean" then
    return ("%s isn't true or false"):format(values.shown(value))
  end
end

local function whole(most)
  return function (value)
    if type(value) ~= "number" or value % 1 ~= 0 or value < 0 or value > most then
      return ("%s isn't a whole number from 0 to %d"):format(values.shown(value), most)
    end
  end
end

local function queues(value)
  if type(value) ~= "number" or value % 1 ~= 0 or value < 1 or value > 16 then
    return ("%s isn't a whole number from 1 to 16"):format(values.shown(value))
  end
end

local function gigabits(value)
  if type(value) ~= "number" or not (value > 0 and value <= 1e5) then
    return ("%s isn't a number of Gbit/s above 0"):format(values.shown(value))
  end
end

local function id(value)
  if type(value) ~= "string" or not value:match("^[%w_%-]+$") or #value > 64 then
    return ("%s isn't a name of up to 64 letters, digits, _ and -"):format(
      values.shown(value))
  elseif value == "trunk" then
    return "'trunk' is what the switch calls the port to the network; use another name"
  end
end

local function mac(value)
  local parsed = type(value) == "string" and addresses.parseMacAddress(value)
  if not parsed then
    return ("%s isn't a MAC address such as 52:54:00:00:00:01"):format(
      values.shown(value))
  elseif tonumber(value:match("^%x+"), 16) % 2 == 1 then
    return ("'%s' is the address of a group; a port has one of its own"):format(value)
  end
end

local function ip6(value)
  if type(value) ~= "string" or not addresses.parseIP6Address(value) then
    return ("%s isn't an IPv6 address"):format(values.shown(value))
  end
end

local function expression(value)
  local ok, err = pcall(filter.new, value)
  if not ok then
    if not failure.is(err) then error(err, 0) end
    return tostring(err)
  end
end

-- Hexadecimal digits of that many bytes. The value isn't shown: it may be secret.
local function digits(least, most)
  return function (value)
    local right = type(value) == "string" and value:match("^%x*$")
      and #value >= 2 * least and #value <= 2 * most and #value % 2 == 0
    if not right then
      return ("it isn't a string of %s hexadecimal digits"):format(
        least == most and tostring(2 * most) or ("up to %d"):format(2 * most))
    end
  end
end

local TUNNEL = {
  type = one_of{"L2TPv3"}, local_ip = ip6, remote_ip = ip6, next_hop = ip6,
  session = whole(2 ^ 32 - 1), local_cookie = digits(1, 8), remote_cookie = digits(1,
    8),
  local_mac = ANY, remote_mac = ANY,
}

local CRYPTO = {
  type = one_of{"esp-aes-128-gcm"}, spi = whole(2 ^ 32 - 1),
  transmit_key = digits(16, 16), transmit_salt = digits(4, 4),
  receive_key = digits(16, 16), receive_salt = digits(4, 4), auditing = boolean,
}

local PORT = {
  port_id = id, mac_address = mac, vlan = whole(4094),
  ingress_filter = expression, egress_filter = expression, stateful_filter = boolean,
  tunnel = TUNNEL, crypto = CRYPTO, rx_police = gigabits, tx_police = gigabits,
  rx_police_gbps = gigabits, tx_police_gbps = gigabits,
  queues = queues, disable_mrg_rxbuf = ANY, disable_indirect_desc = ANY, gbps = ANY,
}

local REQUIRED = {
  port = {"port_id"},
  tunnel = {"type", "local_ip", "remote_ip", "next_hop", "local_cookie",
    "remote_cookie"},
  crypto = {"type", "spi", "transmit_key", "transmit_salt", "receive_key",
    "receive_salt"},
}

local function check_keys(t, known, required, say)
  for key, value in values.sorted(t) do
    local check = known[key]
    if not check then
      local names = values.keys(known)
      say(key, "has no key %s%s; there are %s", values.shown(key),
        spelling.hint(tostring(key), names), table.concat(names, ", "))
    elseif type(check) == "function" then
      local problem = check(value)
      if problem then say(key, "%s: %s", key, problem) end
    end
  end
  for _, key in ipairs(required) do
    if t[key] == nil then say(nil, "has no %s", key) end
  end
end

-- What only several keys together tell.
local function check_together(port, say)
  if port.tunnel and not port.mac_address then
    say("tunnel", "a tunnel needs the port's mac_address, too")
  end
  local crypto = port.crypto
  if crypto and crypto.transmit_salt:lower() == crypto.receive_salt:lower() then
    say("crypto", "transmit_salt and receive_salt must differ, so that no nonce is "
      .. "used twice")
  end
end

--- Check one port, a table. `refuse(key, inner, sentence)` is to raise what is wrong
--- with its key, and the key `inner` of that; nil: with the port.
function schema.check_port(port, refuse)
  local function say(key, fmt, ...) refuse(key, nil, fmt:format(...)) end
  check_keys(port, PORT, REQUIRED.port, say)
  for _, key in ipairs{"tunnel", "crypto"} do
    local value = port[key]
    if value ~= nil and type(value) ~= "table" then
      say(key, "%s: %s isn't a table", key, values.shown(value))
    elseif value then
      check_keys(value, PORT[key], REQUIRED[key], function (inner, fmt, ...)
        refuse(key, inner, key .. (fmt:match("^has") and " " or ".") .. fmt:format(...))
      end)
    end
  end
  check_together(port, say)
end

return schema
