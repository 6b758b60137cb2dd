-- SPDX-License-Identifier: Apache-2.0
-- Port strings: what a user writes where a port is wanted, parsed to plain tables and
-- turned into DPDK's device arguments. Nothing here looks at the machine; the table
-- of replaced PCI addresses is its only state. To add a kind, edit lib.port.kinds.

local failure = require("core.failure")
local kinds = require("lib.port.kinds")

local M = {}

local function kind_of(name)
  return kinds.by_name[name] or kinds.devices[name]
end

--- The form of a kind's port strings, such as "xdp:IFACE[,queue=N]".
function M.form(name)
  local kind = kind_of(name)
  local needed, optional = {}, {}
  for i, arg in ipairs(kind.args) do
    local bare = i == 1 and kind.positional
    local list = arg.default == nil and needed or optional
    list[#list + 1] = bare and arg.show or arg.name .. "=" .. arg.show
  end
  local form = table.concat(needed, ",")
  local options = table.concat(optional, ",")
  if kind.show then return kind.show .. "[," .. options .. "]" end
  if options == "" then return name .. ":" .. form end
  if form == "" then return name .. "[:" .. options .. "]" end
  return name .. ":" .. form .. "[," .. options .. "]"
end

local function forms()
  local list = {}
  for _, name in ipairs(kinds.order) do list[#list + 1] = M.form(name) end
  return table.concat(list, ", ")
    .. ", a PCI address such as " .. M.form("pci") .. ", or a DPDK port's number"
end

--- Every kind of port with its arguments, as text for a terminal.
function M.help()
  local lines = {"A port is one of"}
  local function line(form, text)
    lines[#lines + 1] = ("  %-38s %s"):format(form, text)
  end
  local function arguments_of(kind)
    for _, arg in ipairs(kind.args) do
      local default = arg.default ~= nil and (" (default %s)"):format(arg.default) or ""
      line("    " .. arg.name, arg.help .. default)
    end
  end
  for _, name in ipairs(kinds.order) do
    line(M.form(name), kinds.by_name[name].summary)
    arguments_of(kinds.by_name[name])
  end
  line("0000:01:00.0 or 01:00.0", "a PCI device bound to vfio-pci")
  line("3", "the DPDK port of that number")
  arguments_of(kinds.devices.pci)
  return table.concat(lines, "\n") .. "\n"
end

-- PCI addresses

--- The full PCI address in lower case ("0000:01:00.0") of a full or short one, or nil
--- if `text` isn't one.
function M.pci_address(text)
  local domain, rest = text:match("^(%x%x%x%x+):(%x%x:%x%x%.[0-7])$")
  if not domain then
    domain, rest = "0000", text:match("^(%x%x:%x%x%.[0-7])$")
  end
  return rest and #domain <= 8 and (domain .. ":" .. rest):lower() or nil
end

-- Parsing

local function argument_named(kind, name)
  for _, arg in ipairs(kind.args) do
    if arg.name == name then return arg end
  end
end

local function argument_names(kind)
  local names = {}
  for _, arg in ipairs(kind.args) do names[#names + 1] = arg.name end
  return table.concat(names, ", ")
end

local function split(text, separator)
  local parts = {}
  for part in (text .. separator):gmatch("(.-)%" .. separator) do
    parts[#parts + 1] = part
  end
  return parts
end

-- The canonical text: defaults left out, the first argument without its name.
local function format(port)
  local kind, parts = kinds.by_name[port.kind], {}
  for i, arg in ipairs(kind.args) do
    local value = port[arg.name]
    if value ~= nil and value ~= arg.default then
      local shown = type(value) == "number" and ("%.0f"):format(value) or value
      local bare = i == 1 and kind.positional
      parts[#parts + 1] = bare and shown or arg.name .. "=" .. shown
    end
  end
  local arguments = table.concat(parts, ",")
  return port.kind .. (arguments == "" and "" or ":" .. arguments)
end

local function read_argument(port, kind, text, part, place)
  local name, value = part:match("^([%w_%-]+)=(.*)$")
  if kind.positional and place == 1 and not (name and argument_named(kind, name)) then
    name, value = kind.args[1].name, part
  end
  local arg = name and argument_named(kind, name)
  if not name then
    failure.usage("port '%s': '%s' isn't NAME=VALUE; %s is written %s and"
      .. " values can't contain commas", text, part, port.kind, M.form(port.kind))
  elseif not arg then
    failure.usage("port '%s': %s has no argument '%s'; it takes %s", text, port.kind,
      name, argument_names(kind))
  elseif port[name] ~= nil then
    failure.usage("port '%s': argument '%s' is given twice", text, name)
  end
  port[name] = arg.type.read(value)
  if port[name] == nil then
    failure.usage("port '%s': %s must be %s, not '%s'", text, name, arg.type.wanted,
      value)
  end
end

local function complete(port, kind, text)
  if kind.one_of then
    local any = false
    for _, name in ipairs(kind.one_of) do any = any or port[name] ~= nil end
    if not any then
      failure.usage("port '%s' needs %s: it is written %s", text,
        table.concat(kind.one_of, " or "), M.form(port.kind))
    end
  end
  for i, arg in ipairs(kind.args) do
    if port[arg.name] == nil then port[arg.name] = arg.default end
    if port[arg.name] == nil and i == 1 and kind.positional then
      failure.usage("port '%s' needs its %s: it is written %s", text, arg.name,
        M.form(port.kind))
    end
  end
end

local function parse_kind(name, kind, text, rest)
  local port = {kind = name, driver = kind.driver}
  if rest and rest ~= "" then
    for place, part in ipairs(split(rest, ",")) do
      read_argument(port, kind, text, part, place)
    end
  end
  complete(port, kind, text)
  port.text = format(port)
  return port
end

-- A port string up to the first comma, and what comes behind that.
local function split_first(text)
  local first, comma, rest = text:match("^([^,]*)(,?)(.*)$")
  return first, comma ~= "" and rest or nil
end

-- A PCI address or a number, with its arguments; nil if it is neither.
local function parse_device(text)
  local first, rest = split_first(text)
  local number = first:match("^%d+$") and tonumber(first)
  local address = M.pci_address(first)
  local port
  if number and number <= 65534 then
    port = {kind = "number", number = number, text = ("%d"):format(number)}
  elseif address then
    port = {kind = "pci", address = address, text = address}
  else
    return nil
  end
  local kind = kinds.devices[port.kind]
  for _, part in ipairs(rest and split(rest, ",") or {}) do
    read_argument(port, kind, text, part)
  end
  complete(port, kind, text)
  if port.offload == 1 then port.text = port.text .. ",offload=1" end
  return port
end

-- A port string that isn't a replaced address.
local function parse_text(text)
  local device = parse_device(text)
  if device then return device end
  local name, colon, rest = text:match("^([%w%-]+)(:?)(.*)$")
  local kind = name and kinds.by_name[name]
  if not kind or (colon == "" and rest ~= "") then
    failure.usage("'%s' isn't a port; a port is %s", text, forms())
  end
  return parse_kind(name, kind, text, rest)
end

local replacements = {}

--- The port named by `what` (a string, or the number of a DPDK port) as a table of
--- plain data: `kind` ("null", "pcap", "ring", "packet", "xdp", "tap", "memif",
--- "vhost", "virtio-user", "pci" or "number"), `text` (the canonical port string),
--- `driver` (DPDK's vdev driver, if it has one) and the kind's arguments by name, with
--- defaults filled in; `address` for "pci", `number` for "number". A replaced PCI
--- address gives the other port with `replaces` = the address; its arguments go.
--- Whatever else is written is a usage error.
function M.parse(what)
  local text = type(what) == "number" and ("%.15g"):format(what) or what
  if type(text) ~= "string" then
    failure.usage("a port is named by a string or a number, not by a %s", type(what))
  end
  local port = parse_text(text)
  local address = port.address
  local replacement = address and replacements[address]
  if replacement then port = parse_text(replacement) end
  port.replaces = replacement and address
  return port
end

-- Replaced devices

--- Put the port `text` in the place of the PCI device `address`, for every later
--- `parse`; nil takes the replacement away. Either may be wrong: a usage error.
function M.replace(address, text)
  local full = M.pci_address(address)
  if not full then
    failure.usage("'%s' isn't a PCI address such as 0000:01:00.0 or 01:00.0, and only"
      .. " PCI addresses can be replaced", address)
  end
  if text ~= nil then parse_text(text) end
  replacements[full] = text
end

--- `replace` as written on a command line: "0000:01:00.0=pcap:rx=a.pcap".
function M.replace_option(option)
  local address, text = option:match("^([^=]*)=(.*)$")
  if not address then
    failure.usage("--port '%s' isn't ADDRESS=PORT, such as"
      .. " 0000:01:00.0=pcap:rx=a.pcap", option)
  end
  M.replace(address, text)
end

--- The replaced devices: a new table from full PCI addresses to port strings.
function M.replacements()
  local copy = {}
  for address, text in pairs(replacements) do copy[address] = text end
  return copy
end

--- DPDK's device string for a parsed port: for a vdev
--- "net_null_pg7,size=60,copy=0", where `id` (a number or word) makes the name unique
--- in the process; for a PCI device its address. Nil for "ring" (made from rings) and
--- "number" (it is there already).
function M.devargs(port, id)
  if port.kind == "pci" then return port.address end
  local kind = kinds.by_name[port.kind]
  if not kind or not kind.driver then return nil end
  local list = kind.devargs(port)
  table.insert(list, 1, ("%s_pg%s"):format(kind.driver, id))
  return table.concat(list, ",")
end

return M
