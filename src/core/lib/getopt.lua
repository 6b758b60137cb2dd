-- SPDX-License-Identifier: Apache-2.0
-- getopt_long for Lua, with the interface of Lua's alt-getopt. Reading stops at the
-- first argument that isn't an option, at "-", and after "--".

local failure = require("core.lib.failure")

local getopt = {}

-- Name of each option -> 0 (a flag), 1 (takes a value) or the name it stands for.
local function option_table(short, long)
  local options = {}
  for name, colon in short:gmatch("(%w)(:?)") do options[name] = #colon end
  for name, meaning in pairs(long) do options[name] = meaning end
  return options
end

local function written(name)
  return (#name > 1 and "--" or "-") .. name
end

-- The option's first name, and whether it takes a value.
local function look_up(options, name)
  local canonical = name
  while type(options[canonical]) == "string" do canonical = options[canonical] end
  if not options[canonical] then
    failure.usage("unknown option '%s'", written(name))
  end
  return canonical, options[canonical] ~= 0
end

-- Calls add(name, value) for the long option args[i]. Returns the index after it.
local function read_long(args, i, options, add)
  local text, value = args[i]:match("^%-%-([^=]*)=(.*)$")
  if not text then text = args[i]:sub(3) end
  local name, takes_value = look_up(options, text)
  if not takes_value then
    if value then
      failure.usage("option '--%s' takes no value, but got '%s'", text, value)
    end
    add(name)
    return i + 1
  elseif value then
    add(name, value)
    return i + 1
  elseif i == #args then
    failure.usage("option '--%s' needs a value", text)
  end
  add(name, args[i + 1])
  return i + 2
end

-- The same for the short options in args[i]: -a, -abc, -ovalue, -o value.
local function read_short(args, i, options, add)
  local text = args[i]
  for position = 2, #text do
    local letter = text:sub(position, position)
    local name, takes_value = look_up(options, letter)
    if not takes_value then
      add(name)
    elseif position < #text then
      add(name, text:sub(position + 1))
      return i + 1
    elseif i == #args then
      failure.usage("option '-%s' needs a value", letter)
    else
      add(name, args[i + 1])
      return i + 2
    end
  end
  return i + 1
end

--- Read the options of the array `args`. `short` is getopt's "ab:" (a colon after a
--- letter that takes a value), `long` maps names to 0 (a flag), 1 (takes a value) or to
--- another name. Returns the options' names in order, the index of the first argument
--- that isn't one, and their values (under the same indices; a flag has none).
--- Unknown options and missing values raise a usage failure.
function getopt.get_ordered_opts(args, short, long)
  local options = option_table(short, long)
  local names, option_values = {}, {}
  local function add(name, value)
    names[#names + 1] = name
    option_values[#names] = value
  end
  local i = 1
  while i <= #args do
    local text = args[i]
    if text == "--" then return names, i + 1, option_values end
    if text == "-" or text:sub(1, 1) ~= "-" then break end
    local read = text:sub(1, 2) == "--" and read_long or read_short
    i = read(args, i, options, add)
  end
  return names, i, option_values
end

--- The same as a table, name -> value (1 for a flag; the last one wins), and the index.
function getopt.get_opts(args, short, long)
  local names, first, option_values = getopt.get_ordered_opts(args, short, long)
  local result = {}
  for i, name in ipairs(names) do result[name] = option_values[i] or 1 end
  return result, first
end

return require("core.lib.arguments").guard(getopt, "getopt", {
  get_ordered_opts = "table string table", get_opts = "table string table"})
