-- SPDX-License-Identifier: Apache-2.0
-- Command lines as Click's programs have them: short options in one word (`-qo-`), long
-- ones with `=` or a word behind, as short as they are unambiguous, VAR=value among the
-- words, and the file last or anywhere.

local options = {}

-- A wrong command line; caught by options.parse.
local Wrong = {}

local function wrong(format, ...)
  error(setmetatable({message = format:format(...)}, Wrong), 0)
end

-- Looking options up ---------------------------------------------------------------

local function by_letter(specs, letter)
  for _, spec in ipairs(specs) do
    if spec.letter == letter then return spec end
  end
  wrong("unrecognized option '-%s'", letter)
end

-- Whether `word` says no to a switch that may be told so ("no-warnings").
local function by_word(specs, word)
  local found = {}
  for _, spec in ipairs(specs) do
    for _, name in ipairs(spec.names) do
      if name == word then return spec end
      if name:sub(1, #word) == word then found[#found + 1] = spec end
    end
  end
  if #found > 1 and found[1] ~= found[2] then
    wrong("option '--%s' is ambiguous", word)
  end
  return found[1] or wrong("unrecognized option '--%s'", word)
end

-- Reading --------------------------------------------------------------------------

local function set(result, spec, value, shown)
  if spec.kind and type(value) == "string" then
    value = {kind = spec.kind, value = value}
  end
  if spec.list then
    result[spec.field] = result[spec.field] or {}
    table.insert(result[spec.field], value)
  elseif spec.once and result[spec.field] ~= nil then
    wrong("%s specified twice", spec.once)
  elseif spec.number and value ~= true then
    result[spec.field] = tonumber(value) or wrong("'%s' expects a number, not '%s'",
      shown, value)
  else
    result[spec.field] = value
  end
  if spec.also then result[spec.also] = true end
end

local function needed(args, i, shown)
  return args[i + 1] or wrong("'%s' requires an argument", shown)
end

-- The words behind an option, up to the one that ends them.
local function read_words(result, spec, args, i)
  local words = {}
  for k = i + 1, #args do
    if args[k] == spec.up_to then break end
    words[#words + 1] = args[k]
  end
  result[spec.field] = words
  return i + #words + 1
end

local function read_long(result, specs, args, i)
  local word, value = args[i]:match("^%-%-([^=]+)=(.*)$")
  word = word or args[i]:sub(3)
  local spec, shown = by_word(specs, word), "--" .. word
  if spec.up_to then return read_words(result, spec, args, i) end
  if value and not spec.value then wrong("'%s' can't have an argument", shown) end
  if spec.value and not spec.optional and not value then
    value, i = needed(args, i, shown), i + 1
  end
  set(result, spec, value or (spec.off == nil and true or not spec.off), shown)
  return i
end

local function read_short(result, specs, args, i)
  local word, k = args[i], 2
  while k <= #word do
    local letter = word:sub(k, k)
    local spec, rest, shown = by_letter(specs, letter), word:sub(k + 1), "-" .. letter
    if not spec.value then
      set(result, spec, spec.off == nil and true or not spec.off, shown)
    else
      local value = rest ~= "" and rest or spec.optional and true
      if not value then value, i = needed(args, i, shown), i + 1 end
      set(result, spec, value, shown)
      break
    end
    k = k + 1
  end
  return i
end

local function read_word(result, word, file)
  if file.kind then return set(result, file, {kind = "word", value = word}, word) end
  local name, value = word:match("^([%w_]+)=(.*)$")
  if not name then return set(result, file, word, word) end
  if result.variables[name] then wrong("parameter '%s' multiply defined", name) end
  result.variables[name] = value
end

local function read(result, specs, args)
  local file = by_word(specs, "file")
  local i, only_words = 1, false
  while args[i] do
    local word = args[i]
    if only_words or word == "-" or word:sub(1, 1) ~= "-" then
      read_word(result, word, file)
    elseif word == "--" then
      only_words = true
    elseif word:sub(1, 2) == "--" then
      i = read_long(result, specs, args, i)
    else
      i = read_short(result, specs, args, i)
    end
    i = i + 1
  end
end

--- Read `args` by `specs`, one of which is called `file`: a list of {names = {"long"},
--- letter = "l", field =, help = a line}, and what the option is like: value (what it
--- takes, if anything), optional, list, number, once (what can't be given twice), also
--- (a field that is set to true with it), kind (its values are {kind =, value =}, those
--- of words {kind = "word", value =}: for several options with one list), off (a switch
--- that turns off), up_to (what ends a list of words behind it). Returns the fields,
--- and `variables`; or nil and what is wrong.
function options.parse(specs, args)
  local result = {variables = {}}
  local ok, err = pcall(read, result, specs, args)
  if ok then return result end
  if getmetatable(err) ~= Wrong then error(err, 0) end
  return nil, err.message
end

--- The help on these options, as text.
function options.help(specs)
  local lines = {}
  for _, spec in ipairs(specs) do
    local letter = spec.letter and "-" .. spec.letter .. ", " or "    "
    local value = spec.value and (spec.optional and "[=%s]" or " %s"):format(spec.value)
    lines[#lines + 1] = ("  %-28s %s"):format(
      letter .. "--" .. spec.names[1] .. (value or ""), spec.help)
  end
  return table.concat(lines, "\n") .. "\n"
end

return options
