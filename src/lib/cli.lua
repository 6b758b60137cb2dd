-- SPDX-License-Identifier: Apache-2.0
-- Command lines of programs: argparse whose errors are Perigee's sentences (exit
-- status 2), and converters for arguments that are numbers.
-- A converter follows argparse: it returns the value, or nil and what is wrong.

local argparse = require("argparse")
local failure = require("core.failure")
local files = require("core.lib.files")
local lib = require("core.lib")
local main = require("core.main")
local named = require("lib.sandbox.named")
local quantity = require("lib.quantity")
local stat = require("posix.sys.stat")

local M = {}

-- Put the argument's own name in front of what its converter complains about.
local function name_in_errors(element)
  local convert = element._convert
  if type(convert) ~= "function" then return end
  local name = element._name or "argument"
  for _, alias in ipairs(element._aliases or {}) do
    if #alias > #name then name = alias end
  end
  element._convert = function(text)
    local value, problem = convert(text)
    if value == nil and problem then problem = name .. ": " .. problem end
    return value, problem
  end
end

-- "-D, --duration TIME" in one line of the help. (argparse makes a line of each name.)
local function label_lines(option)
  local values = option:_get_argument_list()
  table.insert(values, 1, table.concat(option._public_aliases, ", "))
  return {table.concat(values, " ")}
end

local function prepare(parser)
  if parser.is_prepared then return end
  parser.is_prepared = true
  for _, option in ipairs(parser._options) do
    name_in_errors(option)
    option._get_label_lines = label_lines
    -- argparse would say it again.
    if (option._description or ""):find("(default", 1, true) then
      option:show_default(false)
    end
  end
  for _, argument in ipairs(parser._arguments) do name_in_errors(argument) end
  for _, command in ipairs(parser._commands) do prepare(command) end
end

-- What Snabb's program of that name says of itself, where a checkout was given.
local function usage_of_tree(name)
  local module = ("program.%s.README_inc"):format(name:gsub(" ", "."))
  return main.mimics_snabb() and lib.have_module(module) and require(module)
end

--- An argparse parser for `perigee NAME`. `-h` and `--help` print the usage and
--- exit with status 0; any error is a `failure.usage` that ends with
--- "see `perigee NAME --help`". Parse with `cli.parse`.
function M.parser(name, description)
  local parser = argparse("perigee " .. name, description)
  parser:help_max_width(80)
  parser.error = function(_, message)
    failure.usage("%s; see `perigee %s --help`", message, name)
  end
  local get_help = parser.get_help
  parser.get_help = function (self)
    prepare(self)
    return usage_of_tree(name) or get_help(self)
  end
  return parser
end

--- The option of all programs that end after a number of packets; `old` is another name
--- that it has had in this one, if any.
function M.count_option(parser, text, old)
  local option = parser:option("-c --count", text):argname("N"):convert(quantity.count)
  return old and option:hidden_name(old) or option
end

--- The option of all programs that end after a time, in seconds.
function M.duration_option(parser, text)
  return parser:option("-D --duration",
    text or "Stop after this time: seconds, or 500ms, 2m, 1h.")
    :argname("TIME"):convert(quantity.duration)
end

--- The option of programs that write their results to a file; `what` they are.
function M.json_option(parser, what)
  return parser:option("--json", ("Write %s as JSON to FILE; -: to standard output, "
    .. "and everything else to standard error."):format(what or "the results"))
    :argname("FILE"):convert(M.result)
end

--- Where the text of such a program goes, whose option says `path` (or is nil).
function M.text_stream(path) return path == "-" and io.stderr or io.stdout end

-- The first word that the parser has no place for: argparse doesn't say which it is.
local function first_too_many(parse, args)
  for i = 1, #args do
    local _, problem = pcall(parse, {unpack(args, 1, i)})
    if tostring(problem):find("too many arguments", 1, true) then return args[i] end
  end
end

--- The results of `args` (an array of strings) as argparse's table of targets.
function M.parse(parser, args)
  prepare(parser)
  local function parse(words) return parser:parse(words) end
  local usage = parser.error
  parser.error = function (self, message)
    parser.error = usage
    if message == "too many arguments" then
      parser.error = function (_, text) error(text, 0) end
      local word = first_too_many(parse, args)
      parser.error = usage
      if word then message = ("%s: nothing takes '%s'"):format(message, word) end
    end
    return usage(self, message)
  end
  local found = parse(args)
  parser.error = usage
  return found
end

--- For a program that runs another: `args` in two lists, its own options and,
--- from the first word that isn't one on, the other program and its arguments.
--- `valued` is the set of options that take the word after them.
function M.split(args, valued)
  local own, rest = {}, {}
  local i = 1
  while args[i] and args[i]:match("^%-") do
    own[#own + 1] = args[i]
    if valued[args[i]] then own[#own + 1], i = args[i + 1], i + 1 end
    i = i + 1
  end
  for k = i, #args do rest[#rest + 1] = args[k] end
  return own, rest
end

--- Converter: a file for results, or "-", standard output. What can't be written is
--- told before the work, not behind it.
function M.output(path)
  if path == "-" then return path end
  return M.output_file(path)
end

--- Converter: a file for results, which can't go to standard output.
function M.output_file(path)
  if path == "-" then
    return nil, "'-' is standard output, to which this can't go: give a file"
  end
  if files.can_write(path) then
    named.output(path)
    return path
  end
  return nil, ("'%s' can't be written: give a file in a folder that is there, and that "
    .. "you may write to"):format(path)
end

--- The same as output() for what is written when the work is done: older results in it
--- go when the work begins (core.engine.results).
function M.result(path)
  if path == "-" then return path end
  return M.result_file(path)
end

--- The same as output_file() for such a file.
function M.result_file(path)
  local taken, problem = M.output_file(path)
  local found = taken and stat.stat(path)
  if found and stat.S_ISREG(found.st_mode) ~= 0 and found.st_size > 0 then
    require("core.engine.results").replaces(path)
  end
  return taken, problem
end

--- A converter: one of these words.
function M.one_of(...)
  local words, known = {...}, {}
  for _, word in ipairs(words) do known[word] = true end
  local all = table.concat(words, ", ", 1, #words - 1) .. " or " .. words[#words]
  return function (text)
    if known[text] then return text end
    return nil, ("'%s' isn't %s"):format(text, all)
  end
end

-- Numbers

local decimal = quantity.decimal

local function bounds(min, max)
  if min and max then return ("from %.15g to %.15g"):format(min, max) end
  if min then return ("of at least %.15g"):format(min) end
  if max then return ("of at most %.15g"):format(max) end
  return ""
end

local function in_bounds(value, min, max)
  return (not min or value >= min) and (not max or value <= max)
end

local function refusal(text, what, allowed, example)
  local wanted = what .. (allowed == "" and "" or " " .. allowed)
  return ("'%s' isn't %s%s"):format(text, wanted, example or "")
end

--- A converter to a number between `min` and `max` (inclusive; nil: no bound).
function M.number(min, max)
  return function(text)
    local value = decimal(text)
    if value and in_bounds(value, min, max) then return value end
    return nil, refusal(text, "a number", bounds(min, max))
  end
end

--- A converter to an integer between `min` and `max` (inclusive; nil: no bound).
function M.integer(min, max)
  return function(text)
    local value = decimal(text)
    if value and value % 1 == 0 and in_bounds(value, min, max) then return value end
    return nil, refusal(text, "a whole number", bounds(min, max))
  end
end

--- Converter: a number above 0.
function M.positive_number(text)
  local value = decimal(text)
  if value and value > 0 and value < math.huge then return value end
  return nil, refusal(text, "a number above 0", "")
end

--- Converters: how many (1500, 10k, 1.5M), bytes (64, 2MiB) and a time in seconds (10,
--- 0.5, 500ms, 2m, 1h), as lib.quantity has them.
M.count, M.bytes, M.duration = quantity.count, quantity.bytes, quantity.duration

--- Converter: bits a second, a number above 0: 10e9, 10G, 500Mbit/s.
function M.rate(text)
  local value, of = quantity.rate(text, "bits")
  if value and of == "bits" then return value end
  return nil, refusal(text, "a rate", "", " such as 1500, 10k or 1M, of bits a second")
end

return M
