-- SPDX-License-Identifier: Apache-2.0
-- What is set in the packets of a stack: the fields that LABEL=VALUE texts name, where
-- they are, and how their values take turns.

local failure = require("core.failure")
local spelling = require("core.lib.spelling")
local values = require("lib.traffic.values")

local M = {}

--- The field of the shape (lib.stack.packet.shapes) that `label` names, and its item;
--- nil if there is none.
function M.find(shape, label)
  for _, item in ipairs(shape.items) do
    if label:sub(1, #item.label) == item.label then
      local field = item.layout.by_label[label:sub(#item.label + 1)]
      if field then return field, item end
    end
  end
end

local function all_labels(shape)
  local labels = {}
  for _, item in ipairs(shape.items) do
    for suffix in pairs(item.layout.by_label) do
      labels[#labels + 1] = item.label .. suffix
    end
  end
  table.sort(labels)
  return labels
end

local function new_setting(shape, text, taken)
  local label, value = text:match("^(%a%w*)=(.*)$")
  if not label then
    failure.usage("'%s' isn't of the form LABEL=VALUE, such as udpDst=53", text)
  elseif taken[label] then
    failure.usage("%s is set twice", label)
  end
  taken[label] = true
  local field, item = M.find(shape, label)
  if not field then
    local labels = all_labels(shape)
    local hint = spelling.hint(label, labels)
    failure.usage("no header of the stack has a field '%s'%s", label,
      hint ~= "" and hint or "; there are " .. table.concat(labels, ", "))
  end
  local spec, problem = values.parse(value, field)
  if not spec then failure.usage("%s: %s", label, problem) end
  return {label = label, field = field, item = item, spec = spec,
          offset = item.offset + field.offset / 8, bytes = field.bits / 8}
end

--- The settings that `texts` (an array of LABEL=VALUE) ask for, in their order: tables
--- of `label`, `field`, `item`, `spec` (lib.traffic.values), `offset` and `bytes` (of
--- the field in the packet; not whole for bit fields). Raises a sentence.
function M.parse(shape, texts)
  local settings, taken = {}, {}
  for i, text in ipairs(texts) do settings[i] = new_setting(shape, text, taken) end
  return settings
end

--- How many different combinations the settings make in their turns; nil if one of
--- them is random.
function M.turns(settings)
  local product = 1
  for _, setting in ipairs(settings) do
    if setting.spec.kind == "random" then return nil end
    product = product * setting.spec.count
  end
  return product
end

--- The number of flows, which is `wanted` if there is one: after so many packets the
--- values come again. Raises a sentence if there aren't as many combinations.
function M.flows(settings, wanted)
  local most = M.turns(settings) or math.huge
  if wanted and wanted > most then
    failure.usage("the values set make %.0f different packets, not %.0f flows;"
      .. " a wider range or a random field makes more", most, wanted)
  end
  return wanted or most
end

return M
