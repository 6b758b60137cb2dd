-- SPDX-License-Identifier: Apache-2.0
-- What all programs take, from where --help has it: the list of general options, and
-- the argparse parsers that programs make. A program without one has only its text.

local command_line = require("command_line")
local cli = require("lib.cli")
local main = require("core.main")

local tables = {}

local STOP = {} -- raised where a program would go on

-- Call f() with what it prints, and the parsers it makes, taken.
local function listen(f)
  local parsers, printed = {}, {}
  local make, parse = cli.parser, cli.parse
  local exit, say, out = os.exit, print, io.stdout
  local sink = {write = function (_, ...)
    for _, text in ipairs{...} do printed[#printed + 1] = text end
  end, flush = function () end}
  local write = io.write
  function cli.parser(...)
    parsers[#parsers + 1] = make(...)
    return parsers[#parsers]
  end
  function cli.parse() error(STOP) end
  os.exit = function () error(STOP) end -- luacheck: ignore 122
  print = function (...) -- luacheck: ignore 121
    sink:write(table.concat({...}, "\t"), "\n")
  end
  io.write = function (...) sink:write(...) end -- luacheck: ignore 122
  io.stdout = sink -- luacheck: ignore 122
  local ok, err = pcall(f)
  cli.parser, cli.parse = make, parse
  os.exit, print = exit, say -- luacheck: ignore 121 122
  io.write, io.stdout = write, out -- luacheck: ignore 122
  if not ok and err ~= STOP then error(err, 0) end
  return parsers[#parsers], table.concat(printed)
end

local function entry(name, program, words)
  local parser, help
  words[#words + 1] = "--help"
  parser, help = listen(function () program.run(words) end)
  return {name = name, parser = parser, help = parser and parser:get_help() or help,
    summary = program.summary}
end

-- What the first argument of the parser may be, if that is a program's own command.
local function commands(parser)
  local first = parser and parser._arguments[1]
  return first and first._name == "subprogram" and first._choices or {}
end

--- {general = options (command_line.options), programs = {{name =, summary =, help =
--- text, parser = argparse's or nil, commands = {the same, by "NAME COMMAND"}}}}.
function tables.read()
  local list = {}
  for i, name in ipairs((main.program_names())) do
    local program = require(main.find_program(name))
    list[i] = entry(name, program, {})
    list[i].commands = {}
    for j, command in ipairs(commands(list[i].parser)) do
      local e = entry(name .. " " .. command, program, {command})
      e.summary = e.parser and e.parser._description or list[i].summary
      list[i].commands[j] = e
    end
  end
  return {general = command_line.options(), programs = list}
end

--- The options of an entry: {names = {"-D", "--duration"}, value = "TIME" or nil,
--- choices =, text =}.
function tables.options(e)
  local list = {}
  for _, option in ipairs(e.parser and e.parser._options or {}) do
    local takes = option._minargs ~= 0 or option._maxargs ~= 0
    list[#list + 1] = {names = option._public_aliases, text = option:_get_description(),
      value = takes and (option._choices and table.concat(option._choices, "|")
        or option:_get_argname(1):gsub("[<>]", "")) or nil,
      choices = option._choices}
  end
  return list
end

--- The arguments of an entry: {name =, text =, choices =}.
function tables.arguments(e)
  local list = {}
  for _, argument in ipairs(e.parser and e.parser._arguments or {}) do
    list[#list + 1] = {name = argument._name, text = argument:_get_description(),
      choices = argument._choices}
  end
  return list
end

return tables
