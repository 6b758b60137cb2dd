-- SPDX-License-Identifier: Apache-2.0
-- `perigee ports`: list what can be a port on this machine. Changes nothing.

local cjson = require("cjson")
local cli = require("lib.cli")
local inventory = require("program.ports.inventory")
local spec = require("lib.port.spec")

local M = {summary = "list the network devices and interfaces that can be ports"}

local function link_text(entry)
  local state = entry.state or "-"
  if not entry.speed then return state end
  if entry.speed < 1000 then return ("%s %g Mbit/s"):format(state, entry.speed) end
  return ("%s %g Gbit/s"):format(state, entry.speed / 1000)
end

local function owner_text(entry)
  local parts = {}
  if entry.driver then parts[1] = entry.driver end
  for _, process in ipairs(entry.processes) do
    parts[#parts + 1] = ("%s (%d)"):format(process.name, process.pid)
  end
  return #parts > 0 and table.concat(parts, ", ") or "kernel"
end

local function row(entry)
  return {entry.port, entry.description, link_text(entry), tostring(entry.mtu or "-"),
    tostring(entry.numa or "-"), owner_text(entry)}
end

local HEADINGS = {"PORT", "DEVICE", "LINK", "MTU", "NUMA", "OWNER"}

-- The rows as lines, each column as wide as its widest text.
local function aligned(rows)
  local widths = {}
  for _, texts in ipairs(rows) do
    for i, text in ipairs(texts) do widths[i] = math.max(widths[i] or 0, #text) end
  end
  local lines = {}
  for r, texts in ipairs(rows) do
    local cells = {}
    for i, text in ipairs(texts) do cells[i] = text .. (" "):rep(widths[i] - #text) end
    lines[r] = table.concat(cells, "  "):gsub("%s+$", "")
  end
  return lines
end

local function remark(entry)
  if entry.replacement then return "replaced by " .. entry.replacement end
  if entry.problem then return "not usable: " .. entry.problem end
  return entry.other_port and "also as " .. entry.other_port
end

local function add_part(lines, title, entries)
  local rows = {HEADINGS}
  for _, entry in ipairs(entries) do rows[#rows + 1] = row(entry) end
  local texts = aligned(rows)
  lines[#lines + 1] = title .. (#entries == 0 and ": none" or "")
  if #entries > 0 then lines[#lines + 1] = "  " .. texts[1] end
  for i, entry in ipairs(entries) do
    lines[#lines + 1] = "  " .. texts[i + 1]
    local text = remark(entry)
    if text then lines[#lines + 1] = "      " .. text end
  end
  lines[#lines + 1] = ""
end

--- The inventory `found` as text: a table for each of its two parts, with a remark
--- below an entry that can't be used.
function M.format(found)
  local lines = {}
  add_part(lines, "PCI network devices", found.pci)
  add_part(lines, "Kernel interfaces", found.interfaces)
  lines[#lines + 1] = "Other ports: `perigee ports --kinds` lists every kind."
  return table.concat(lines, "\n") .. "\n"
end

-- cjson makes objects of empty tables, so empty lists are left out, or written here.
local function json_array(entries)
  local texts = {}
  for i, entry in ipairs(entries) do
    local copy = {usable = entry.problem == nil or entry.replacement ~= nil}
    for key, value in pairs(entry) do
      if type(value) ~= "table" or #value > 0 then copy[key] = value end
    end
    texts[i] = cjson.encode(copy)
  end
  return "[" .. table.concat(texts, ",") .. "]"
end

--- The inventory `found` as JSON text: its entries with `usable` added, without the
--- lists that are empty.
function M.to_json(found)
  return ('{"pci":%s,"interfaces":%s}')
    :format(json_array(found.pci), json_array(found.interfaces))
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("ports",
    "List the PCI network devices and kernel interfaces of this machine: the port"
    .. " string of each, its link, who owns it, and why it can't be used and what to"
    .. " do. Changes nothing.")
  parser:flag("--json", "Print JSON.")
  parser:flag("--kinds", "Print every kind of port and its arguments instead.")
  local options = cli.parse(parser, args)
  if options.kinds then
    io.write(spec.help())
  elseif options.json then
    io.write(M.to_json(inventory.read()), "\n")
  else
    io.write(M.format(inventory.read()))
  end
end

return M
