-- SPDX-License-Identifier: Apache-2.0
-- Writing a flat configuration as Click writes it: requirements, declarations, and
-- connections in chains as long as can be.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local text_of = require("click.language.text")

local flatfile = {}

local function requirements(flat, out)
  local list = {}
  for i, requirement in ipairs(flat.requirements or {}) do
    local kind, value = requirement[1], requirement[2]
    list[i] = value == "" and kind or kind .. " " .. text_of.quote(value)
  end
  if #list > 0 then out("require(", table.concat(list, ", "), ");\n\n") end
end

local function defines(flat, out)
  local list = {}
  for i, define in ipairs(flat.defines or {}) do
    list[i] = "$" .. define.name .. " " .. define.value
  end
  if #list > 0 then out("define(", table.concat(list, ", "), ");\n\n") end
end

-- "file:12" as `# 12 "file"`.
local function line_directive(landmark)
  local file, line = landmark:match("^(.*):(%d+)$")
  return ('# %s "%s"\n'):format(line or "0", file or landmark)
end

local function declarations(flat, out, with_lines)
  for _, element in ipairs(flat.elements) do
    if with_lines then out(line_directive(element.landmark)) end
    out(element.name, " :: ", element.class)
    if element.config ~= "" then out("(", element.config, ")") end
    out(";\n")
  end
end

-- Chains ---------------------------------------------------------------------------

local function key(element, port) return element * 65536 + port end

-- Of the connections from where this one ends, that to go on with: the first to an
-- input 0, or the last.
local function follower(connection, from)
  if connection.input ~= 0 then return nil end
  local found
  for _, c in ipairs(from[key(connection.to, 0)] or {}) do
    if c ~= connection then
      found = c
      if c.input == 0 then break end
    end
  end
  return found
end

local function write_chain(flat, connection, after, used, out)
  out(flat.elements[connection.from].name)
  if connection.output > 0 then out(" [", connection.output, "]") end
  local separator = " -> "
  while connection and not used[connection] do
    used[connection] = true
    out(separator)
    if connection.input > 0 then out("[", connection.input, "] ") end
    out(flat.elements[connection.to].name)
    connection, separator = after[connection], "\n    -> "
  end
  out(";\n")
end

local function connections(flat, out)
  local from, after, follows, used = {}, {}, {}, {}
  for _, c in ipairs(flat.connections) do
    local k = key(c.from, c.output)
    from[k] = from[k] or {}
    table.insert(from[k], c)
  end
  for _, c in ipairs(flat.connections) do
    local d = follower(c, from)
    if d then after[c], follows[d] = d, true end
  end
  for _, c in ipairs(flat.connections) do
    if not follows[c] and not used[c] then write_chain(flat, c, after, used, out) end
  end
  -- What is left are circles.
  for _, c in ipairs(flat.connections) do
    if not used[c] then write_chain(flat, c, after, used, out) end
  end
end

--- The flat configuration as text. `options`: lines, to say in `#` lines where elements
--- come from; defines, to write the file's variables.
function flatfile.text(flat, options)
  options = options or {}
  local parts = {}
  local function out(...)
    for i = 1, select("#", ...) do parts[#parts + 1] = tostring((select(i, ...))) end
  end
  requirements(flat, out)
  if options.defines then defines(flat, out) end
  declarations(flat, out, options.lines)
  if options.lines and #flat.connections > 0 then
    local _, lines = table.concat(parts):gsub("\n", "")
    out(('# %d ""\n'):format(lines + 2))
  elseif not options.lines and #flat.elements > 0 then
    out("\n")
  end
  connections(flat, out)
  return table.concat(parts)
end

return flatfile
