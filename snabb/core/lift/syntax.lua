-- SPDX-License-Identifier: Apache-2.0
-- The syntax tree of a function that has been loaded, by the parser of luacheck
-- (Debian: lua-check), and the text it was made of. A file that has changed since isn't
-- taken for what was loaded: the function's bytecode is compared.

local bytecode = require("core.lift.bytecode")
local stat = require("posix.sys.stat")

local syntax = {}

-- Loaded when it is needed: by each worker, and not by programs without such apps.
local function parse(text)
  local parser, decoder = require("luacheck.parser"), require("luacheck.decoder")
  return parser.parse(decoder.decode(text), {}, {})
end

local function can_parse()
  return (pcall(require, "luacheck.parser"))
end

local files = {} -- by source, as debug.getinfo has it: what read() returned

local function text_of(source)
  if source:sub(1, 1) == "=" then return nil, "its source isn't known" end
  if source:sub(1, 1) ~= "@" then return source end
  local found, why = stat.stat(source:sub(2))
  if not found then return nil, why end
  if stat.S_ISREG(found.st_mode) == 0 then -- a pipe doesn't say the same twice
    return nil, "its source isn't a file"
  end
  local file
  file, why = io.open(source:sub(2), "rb")
  if not file then return nil, why end
  local text = file:read("*a")
  file:close()
  return text and text:gsub("^#[^\n]*", "")
end

-- The functions that begin in each line, by its number.
local function note(node, by_line)
  if type(node) ~= "table" then return end
  if node.tag == "Function" then
    by_line[node.line] = by_line[node.line] or {}
    table.insert(by_line[node.line], node)
  end
  for _, child in ipairs(node) do note(child, by_line) end
end

local function read(source)
  if not can_parse() then
    return nil, "luacheck isn't installed (apt install lua-check)"
  end
  local text, why = text_of(source)
  if not text then return nil, why end
  -- Offsets count characters, and luacheck's are those of UTF-8.
  local ok, tree = pcall(parse, (text:gsub("[\128-\255]", "?")))
  if not ok then return nil, "its source can't be parsed" end
  local by_line = {}
  note(tree, by_line)
  return {text = text, by_line = by_line}
end

local function file_of(source)
  local known = files[source]
  if not known then
    known = {read(source)}
    files[source] = known
  end
  return known[1], known[2]
end

--- Forget what was read: files may have changed.
function syntax.forget() files = {} end

--- The names of the function's upvalues, in order.
function syntax.upvalues(f)
  local names = {}
  for i = 1, math.huge do
    local name = debug.getupvalue(f, i)
    if not name then return names end
    names[i] = name
  end
end

-- Nodes of blocks have no tag, and may have no place.
local function first_statement(node) return node[2][1] end

-- Load what the tree says the function is, with upvalues of the same names.
local function load_again(f, node, text)
  local parameters = {}
  for i, id in ipairs(node[1]) do parameters[i] = id[1] or "..." end
  local names = syntax.upvalues(f)
  local chunk = loadstring(("%s return function (%s) %s"):format(
    #names > 0 and "local " .. table.concat(names, ", ") or "",
    table.concat(parameters, ", "),
    text:sub(first_statement(node).offset, node.end_offset)))
  return chunk and chunk()
end

--- The Lua function `f`: {node = its tree, of luacheck's parser, text = all of its
--- source, source = that's name as debug.getinfo has it}. Or nil and why there is none.
function syntax.of(f)
  local info = debug.getinfo(f, "S")
  if info.what == "C" then return nil, "it isn't written in Lua" end
  local file, why = file_of(info.source)
  if not file then return nil, why end
  local nodes = file.by_line[info.linedefined]
  if not nodes then return nil, "its source has changed" end
  if #nodes > 1 then return nil, "several functions begin in its line" end
  local node = nodes[1]
  if not first_statement(node) then return nil, "it is empty" end
  local again = load_again(f, node, file.text)
  if not (again and bytecode.same(f, again)) then
    return nil, "its source has changed"
  end
  return {node = node, text = file.text, source = info.source}
end

local function index_of(t, name) return t[name] end

--- The field of the table; nil where it may not be asked for.
function syntax.field(t, name)
  local ok, value = pcall(index_of, t, name)
  return ok and value or nil
end

--- The value that an expression has outside the function `f` that it is in: of names
--- that are upvalues or globals, and their fields; nil for any other. `locals` are
--- those within f by name, {value =}.
function syntax.value(f, node, locals)
  if node.tag == "Id" then
    local name = node[1]
    if locals[name] then return locals[name].value end
    for i, upvalue in ipairs(syntax.upvalues(f)) do
      if upvalue == name then return (select(2, debug.getupvalue(f, i))) end
    end
    return syntax.field(getfenv(f), name)
  elseif node.tag == "Index" and node[2].tag == "String" then
    local base = syntax.value(f, node[1], locals)
    return type(base) == "table" and syntax.field(base, node[2][1]) or nil
  end
end

--- Call visit(node) for the node and all below it, those above first. Where it returns
--- false, what is below is left out.
function syntax.walk(node, visit)
  if type(node) ~= "table" then return end
  if node.tag and visit(node) == false then return end
  for _, child in ipairs(node) do syntax.walk(child, visit) end
end

return syntax
