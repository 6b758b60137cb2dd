-- SPDX-License-Identifier: Apache-2.0
-- Port strings: what a user writes where a port is wanted, parsed to plain tables and
-- back to their canonical text. Nothing here looks at the machine; the table of
-- replaced devices (lib.hardware.replaced) is its only state. What each kind
-- takes is in its entry.

local failure = require("core.failure")
local kinds = require("lib.port.kinds")
local pci_device = require("lib.hardware.pci_device")
local replaced = require("lib.hardware.replaced")

local M = {}

--- The form of a kind's port strings, such as "xdp:IFACE[,queue=N]"; `kind` is its
--- entry.
function M.form(kind)
  local needed, optional = {}, {}
  for i, arg in ipairs(kind.args) do
    local bare = i == 1 and kind.positional
    local list = arg.default == nil and needed or optional
    list[#list + 1] = bare and arg.show or arg.name .. "=" .. arg.show
  end
  local form, name = table.concat(needed, ","), kind.name
  local options = table.concat(optional, ",")
  if kind.show then return kind.show .. "[," .. options .. "]" end
  if options == "" and form == "" then return name end
  if options == "" then return name .. ":" .. form end
  if form == "" then return name .. "[:" .. options .. "]" end
  return name .. ":" .. form .. "[," .. options .. "]"
end

-- Every kind's form, as the end of a sentence.
local function forms()
  local list = {}
  for i, kind in ipairs(kinds.list) do
    list[i] = (kind.phrase or "%s"):format(M.form(kind))
  end
  local last = table.remove(list)
  return table.concat(list, ", ") .. ", or " .. last
end

--- Every kind of port with its arguments, as text for a terminal.
function M.help()
  local lines = {"A port is one of"}
  local function line(form, text)
    lines[#lines + 1] = ("  %-38s %s"):format(form, text)
  end
  for i, kind in ipairs(kinds.list) do
    local following = kinds.list[i + 1]
    line(kind.written or M.form(kind), kind.summary)
    -- Those of two kinds that share them are listed once, below both.
    local shared = following and following.args == kind.args
    for _, arg in ipairs(shared and {} or kind.args) do
      local has_default = arg.default ~= nil and arg.default ~= ""
      local default = has_default and (" (default %s)"):format(arg.default) or ""
      line("    " .. arg.name, arg.help .. default)
    end
  end
  return table.concat(lines, "\n") .. "\n"
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

-- The canonical text: defaults left out, the first argument without its name. A device
-- has a text of its own.
local function format(port, kind)
  local parts = {port.text}
  for i, arg in ipairs(kind.args) do
    local value = port[arg.name]
    if value ~= nil and value ~= arg.default then
      local shown = type(value) == "number" and ("%.0f"):format(value) or value
      local bare = i == 1 and kind.positional
      parts[#parts + 1] = bare and shown or arg.name .. "=" .. shown
    end
  end
  local text = table.concat(parts, ",")
  if kind.device then return text end
  return kind.name .. (text == "" and "" or ":" .. text)
end

local function read_argument(port, kind, text, part, place)
  local name, value = part:match("^([%w_%-]+)=(.*)$")
  if kind.positional and place == 1 and not (name and argument_named(kind, name)) then
    name, value = kind.args[1].name, part
  end
  local arg = name and argument_named(kind, name)
  if not name then
    failure.usage("port '%s': '%s' isn't NAME=VALUE; %s is written %s and"
      .. " values can't contain commas", text, part, port.kind, M.form(kind))
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
        table.concat(kind.one_of, " or "), M.form(kind))
    end
  end
  for i, arg in ipairs(kind.args) do
    if port[arg.name] == nil then port[arg.name] = arg.default end
    if port[arg.name] == nil and i == 1 and kind.positional then
      failure.usage("port '%s' needs its %s: it is written %s", text, arg.name,
        M.form(kind))
    end
  end
end

-- The port of this kind whose arguments are `rest` (nil: none).
local function with_arguments(port, kind, text, rest)
  for place, part in ipairs(rest and split(rest, ",") or {}) do
    read_argument(port, kind, text, part, place)
  end
  complete(port, kind, text)
  port.text = format(port, kind)
  return port
end

-- A port string up to the first comma, and what comes behind that.
local function split_first(text)
  local first, comma, rest = text:match("^([^,]*)(,?)(.*)$")
  return first, comma ~= "" and rest or nil
end

-- A device that is there already (a PCI address, a number); nil if it is none.
local function parse_device(text)
  local first, rest = split_first(text)
  for _, kind in ipairs(kinds.list) do
    local port = kind.device and kind.device(first)
    if port then
      port.kind = kind.name
      return with_arguments(port, kind, text, rest)
    end
  end
end

--- As `parse`, of a string; but a replaced address stays what it is.
function M.parse_text(text)
  local device = parse_device(text)
  if device then return device end
  local name, colon, rest = text:match("^([%w%-]+)(:?)(.*)$")
  local kind = name and kinds.named(name)
  if not kind or (colon == "" and rest ~= "") then
    failure.usage("'%s' isn't a port; a port is %s", text, forms())
  end
  return with_arguments({kind = name, driver = kind.driver}, kind, text,
    rest ~= "" and rest or nil)
end
local parse_text = M.parse_text

--- The port named by `what` (a string, or the number of a DPDK port) as a table of
--- plain data: `kind` (its entry's name, lib.port.kinds), `text` (the canonical
--- string), `driver` (DPDK's vdev driver, if it has one) and the kind's arguments by
--- name, with defaults filled in; `address` for "pci", `number` for "number". A
--- replaced PCI address or number gives the other port with `replaces` = that; its
--- arguments go. Whatever else is written is a usage error.
function M.parse(what)
  local text = type(what) == "number" and ("%.15g"):format(what) or what
  if type(text) ~= "string" then
    failure.usage("a port is named by a string or a number, not by a %s", type(what))
  end
  local port = parse_text(text)
  local what_is_replaced = port.address or port.number
  local replacement = port.address and replaced.by(port.address)
    or port.number and replaced.number(port.number)
  if replacement then port = parse_text(replacement) end
  port.replaces = replacement and what_is_replaced
  return port
end

-- Replaced devices

-- A device's number and its full PCI address, as a user writes one of them.
local function named_device(text)
  return tonumber(text:match("^%d%d?%d?$")), pci_device.full_address(text)
end

--- Put the port `text` in the place of the PCI device `address`, or of the device of
--- that number (a string), for every later `parse`; nil takes the replacement away.
--- Either may be wrong: a usage error.
function M.replace(address, text)
  local number, full = named_device(address)
  if not full and not number then
    failure.usage("'%s' isn't a PCI address such as 0000:01:00.0 or 01:00.0, nor a"
      .. " device's number; only those can be replaced", address)
  end
  if text ~= nil then parse_text(text) end
  if number then replaced.set_number(number, text) else replaced.set(full, text) end
end

--- `replace` as written on a command line: "0000:01:00.0=pcap:rx=a.pcap", "0=null". A
--- usage error if that device is another port already.
function M.replace_option(option)
  local address, text = option:match("^([^=]*)=(.*)$")
  if not address then
    failure.usage("--port '%s' isn't ADDRESS=PORT or N=PORT, such as"
      .. " 0000:01:00.0=pcap:rx=a.pcap", option)
  end
  local number, full = named_device(address)
  local before = number and replaced.number(number) or full and replaced.by(full)
  if before and before ~= text then
    failure.usage("--port '%s': it is '%s' already; say once what each device is",
      option, before)
  end
  M.replace(address, text)
end

--- The replaced devices: a new table from full PCI addresses to port strings.
M.replacements = replaced.all

return M
