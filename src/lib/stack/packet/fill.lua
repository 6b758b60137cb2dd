-- SPDX-License-Identifier: Apache-2.0
-- Filling a stack's headers from a table of labels (slow code: once a packet at most).

local ffi = require("ffi")
local lengths = require("lib.stack.layout.lengths")
local spelling = require("core.lib.spelling")
local put = require("lib.stack.packet.set_field")
local template = require("lib.stack.packet.template")
local C = require("core.native")

local fill = {}

local MAX_LENGTH = tonumber(C.PACKET_MAX_PAYLOAD)

-- What `fill` needs to know of a shape: made at its first call.
local function plan(shape)
  local targets = {}
  for _, item in ipairs(shape.items) do
    for label, field in pairs(item.layout.by_label) do
      targets[item.label .. label] = {item = item, field = field,
        offset = item.offset, pointer = item.layout.slow_pointer}
    end
    local variable = item.layout.variable
    if variable then
      local offset = item.offset + item.layout.size
      targets[item.label .. variable.label] = {item = item, offset = offset,
        bytes = item.variable}
    end
  end
  local dynamic = {}
  for i, entry in ipairs(lengths.dynamic(shape, true)) do
    dynamic[i] = {field = entry.field, item = entry.item, offset = entry.item.offset,
      pointer = entry.item.layout.slow_pointer,
      set = entry.item.layout.slow["set" .. entry.field.name],
      target = targets[entry.item.label .. entry.field.label]}
  end
  shape.plan = {bytes = template.bytes(shape), targets = targets, dynamic = dynamic}
  return shape.plan
end

local function fault(fmt, ...)
  error("fill: " .. fmt:format(...), 0)
end

local function unknown(label, targets)
  local names = {"pktLength"}
  for name in pairs(targets) do names[#names + 1] = name end
  fault("there is no field '%s'%s", tostring(label),
    spelling.hint(tostring(label), names))
end

local function new_length(shape, p, wanted)
  if wanted == nil then return math.max(p.length, shape.size) end
  if type(wanted) ~= "number" or not (wanted >= shape.size and wanted <= MAX_LENGTH)
    or wanted % 1 ~= 0 then
    fault("pktLength is '%s'; with these headers it may be %d to %d",
      tostring(wanted), shape.size, MAX_LENGTH)
  end
  return wanted
end

local function put_variable(target, data, value, label)
  if type(value) ~= "string" or #value ~= target.bytes then
    fault("%s takes a string of %d bytes, as createStack declared it, not %s", label,
      target.bytes, type(value) == "string" and #value or "'" .. tostring(value) .. "'")
  end
  ffi.copy(data + target.offset, value, #value)
end

-- Put those labels whose fields are views, or the others; true if it left some out.
local function put_labels(targets, data, args, views)
  local left_out = false
  for label, value in pairs(args) do
    local target = targets[label]
    local field = target and target.field
    if not target then
      if label ~= "pktLength" then unknown(label, targets) end
    elseif (field and field.at ~= nil or false) ~= views then
      left_out = true
    elseif field then
      put(target.item.layout, field, ffi.cast(target.pointer, data + target.offset),
        value, label)
    else
      put_variable(target, data, value, label)
    end
  end
  return left_out
end

-- Fields named beside a view of the same bits have the last word.
local function put_all(targets, data, args)
  if put_labels(targets, data, args, false) then
    put_labels(targets, data, args, true)
    put_labels(targets, data, args, false)
  end
end

local function is_given(args, entry)
  for _, label in ipairs(entry.field.labels) do
    if args[entry.item.label .. label] ~= nil then return true end
  end
  return false
end

--- Set all headers of the packet: to `args` (label to value) and else to defaults;
--- and its length. Raises a sentence if a label is unknown or a value doesn't fit;
--- the packet's headers are undefined then.
function fill.fill(shape, p, args)
  if args ~= nil and type(args) ~= "table" then
    fault("it takes a table of labels, such as {ip4Src = \"10.0.0.1\"}, not a %s",
      type(args))
  end
  args = args or {}
  local todo = shape.plan or plan(shape)
  local length = new_length(shape, p, args.pktLength)
  local data = p.buf_addr + p.data_off
  ffi.copy(data, todo.bytes, shape.size)
  put_all(todo.targets, data, args)
  p.length = length
  for _, entry in ipairs(todo.dynamic) do
    if not is_given(args, entry) then
      entry.set(ffi.cast(entry.pointer, data + entry.offset),
        lengths.value(entry.item, entry.field, length))
    end
  end
end

return fill
