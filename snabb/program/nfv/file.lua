-- SPDX-License-Identifier: Apache-2.0
-- Configuration files of Snabb NFV: Lua that returns a list of ports. Read and checked
-- complete; whatever is wrong is a sentence with the file and, where it is known, the
-- line.

local failure = require("core.failure")
local places = require("program.nfv.places")
local sandbox = require("program.nfv.sandbox")
local schema = require("program.nfv.schema")
local values = require("program.nfv.values")

local file = {}

local NEWER = {rx_police_gbps = "rx_police", tx_police_gbps = "tx_police"}

local function is_list(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n == #t
end

-- A function of (port number, key, inner, sentence) that raises it with its place.
local function refuser(path, text, list)
  local line_of = places.new(text, #list)
  return function (number, key, inner, sentence)
    local line = line_of(number, key, inner)
    local port = list[number]
    local id = type(port) == "table" and type(port.port_id) == "string"
      and values.shown(port.port_id) or ("number %d"):format(number)
    failure.usage("%s:%s port %s%s %s", path, line and line .. ":" or "", id,
      sentence:match("^has ") and "" or ":", sentence)
  end
end

-- What a port becomes an app's name of, and what only one port can have.
local function check_unique(list, refuse)
  local names, owners = {}, {}
  for i, port in ipairs(list) do
    local name = file.name_of(port)
    if names[name] then
      refuse(i, "port_id", nil, ("port %d has the same port_id (- and _ are the same)")
        :format(names[name]))
    end
    names[name] = i
    if port.mac_address then
      local key = ("%d %s"):format(port.vlan or 0, port.mac_address:lower())
      if owners[key] then
        refuse(i, "mac_address", nil, ("port '%s' has the address %s in VLAN %d, too")
          :format(owners[key], port.mac_address, port.vlan or 0))
      end
      owners[key] = port.port_id
    end
  end
end

-- The keys that newer files have, in the place of older ones, which are noted.
local function renew(port, notes)
  for old, new in pairs(NEWER) do
    if port[old] and not port[new] then
      notes[#notes + 1] = ("port '%s': %s is the old name of %s"):format(port.port_id,
        old, new)
      port[new] = port[old]
    end
  end
end

--- The name of the port's apps: its port_id with _ in the place of -.
function file.name_of(port) return (port.port_id:gsub("-", "_")) end

--- The ports that `text` tells, which is what the file at `path` has: a list of tables,
--- and a list of notes for the user. Raises a failure.
function file.parse(path, text)
  local list = sandbox.value(path, text)
  if type(list) ~= "table" or not is_list(list) then
    failure.usage("%s: it returns %s, not a list of ports: return { {port_id = \"A\"}, "
      .. "... }", path, type(list) == "table" and "a table with keys"
      or values.shown(list))
  end
  local refuse, notes = refuser(path, text, list), {}
  for i, port in ipairs(list) do
    if type(port) ~= "table" then
      refuse(i, nil, nil, values.shown(port) .. " isn't a table")
    end
    schema.check_port(port, function (...) refuse(i, ...) end)
    renew(port, notes)
  end
  check_unique(list, refuse)
  return list, notes
end

return file
