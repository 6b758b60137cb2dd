-- SPDX-License-Identifier: Apache-2.0
-- The page of an element class, as `perigee click --explain Strip` prints it, from
-- what the class says of itself.

local dividable = require("core.cpus.dividable")
local examples = require("click.pages.examples")
local handlers_of = require("click.element").handlers
local usage = require("click.pages.usage")
local wire = require("click.net.wire")

local page = {}

-- Arguments ------------------------------------------------------------------------

local SHOWN = { -- defaults that aren't written as they are in Lua
  ip = function (value)
    return type(value) == "number" and wire.ip_text(value) or nil
  end,
  eth = function (value)
    return #value == 6 and (value:gsub(".", function (byte)
      return ("%02X-"):format(byte:byte())
    end):sub(1, -2)) or nil
  end,
}

local LONGEST = 24 -- characters of a default

-- The default as a configuration would have it, or nil if that can't be said.
local function default_text(spec)
  local value = spec.default
  if value == nil or value == "" then return nil end
  if SHOWN[spec[2]] then return SHOWN[spec[2]](value) end
  if type(value) == "table" or type(value) == "function" then return nil end
  if value == math.huge then return nil end
  if type(value) == "number" then return ("%.14g"):format(value) end
  value = tostring(value)
  return #value <= LONGEST and value or value:sub(1, LONGEST - 3) .. "..."
end

local BOUNDS = {
  {"min", "at least %.14g"}, {"max", "at most %.14g"}, {"size", "of %d bytes"},
  {"class", "a %s"},
}

local function remarks(spec)
  local list = {}
  if spec.required then list[1] = "required" end
  local default = default_text(spec)
  if default then list[#list + 1] = "default " .. default end
  for _, bound in ipairs(BOUNDS) do
    local value = spec[bound[1]]
    if value then list[#list + 1] = bound[2]:format(value) end
  end
  if spec.keyword then list[#list + 1] = "by keyword only" end
  if spec.list then list[#list + 1] = "several, with spaces between" end
  if spec.meaning then list[#list + 1] = spec.meaning end
  return table.concat(list, ", ")
end

--- How it is written: "Strip(LENGTH)", "Counter([keywords])".
function page.call(class)
  local own = usage.of(class, "usage")
  if own then return ("%s(%s)"):format(class.name, own) end
  local words, optional, keywords = {}, "", false
  for _, spec in ipairs(class.arguments) do
    if spec.keyword then
      keywords = true
    else
      local comma = #words > 0 and ", " or ""
      if spec.required then words[#words + 1] = comma .. spec[1]
      else words[#words + 1], optional = " [" .. comma .. spec[1], optional .. "]" end
    end
  end
  local text = table.concat(words) .. optional
  if keywords then text = text .. (text == "" and "" or " ") .. "[, keywords]" end
  text = text:gsub("^ ", ""):gsub("%[, ", "[", text:find("^%[") and 1 or 0)
  return class.name .. (text == "" and "" or "(" .. text .. ")")
end

-- Ports ----------------------------------------------------------------------------

local LETTERS = {h = "push", l = "pull", a = "push or pull"}

local function side(count, letters, word)
  if count == "0" then return "no " .. word .. "s" end
  local kinds = {}
  for letter in letters:gmatch(".") do kinds[#kinds + 1] = LETTERS[letter] or letter end
  local range = count == "-" and "any number of" or count == "=" and "as many"
    or count:gsub("^(%d+)%-$", "%1 or more"):gsub("^(%d+)%-(%d+)$", "%1 to %2")
  local plural = count == "1" and "" or "s"
  return ("%s %s%s (%s)"):format(range, word, plural,
    table.concat(kinds, ", then "))
end

local function halves(code)
  local left, right = code:match("^([^/]*)/?(.*)$")
  return left, right == "" and left or right
end

--- The ports in words, or nil if they depend on the configuration.
function page.ports(class)
  if type(class.ports) ~= "string" or type(class.processing) ~= "string" then
    return nil
  end
  local inputs, outputs = halves(class.ports)
  if inputs == "0" and outputs == "0" then return "none" end
  local input_letters, output_letters = halves(class.processing)
  return side(inputs, input_letters, "input") .. ", "
    .. side(outputs, output_letters, "output")
end

local function code(value)
  return type(value) == "string" and value or "by the configuration"
end

--- The three codes as text, "1/1 a/a x/x".
function page.codes(class)
  return ("%s, processing %s, flow %s"):format(code(class.ports),
    code(class.processing), code(class.flow))
end

-- Handlers -------------------------------------------------------------------------

--- A list of {name, what may be done ("read", "write", "read and write")}, sorted.
function page.handlers(class)
  local all, list = handlers_of(class), {}
  for name, handler in pairs(all) do
    if not handler.hidden then
      local can = handler.read and handler.write and "read and write"
        or handler.read and "read" or "write"
      list[#list + 1] = {name, can .. (handler.param and ", with arguments" or "")}
    end
  end
  if class.task and not all.scheduled then
    for _, name in ipairs{"scheduled", "tickets"} do
      list[#list + 1] = {name, "read and write"}
    end
  end
  table.sort(list, function (a, b) return a[1] < b[1] end)
  return list
end

-- The page -------------------------------------------------------------------------

local function rows(say, heading, list)
  if #list == 0 then return end
  say("\n%s", heading)
  local width = 0
  for _, row in ipairs(list) do width = math.max(width, #row[1]) end
  for _, row in ipairs(list) do
    local rest = table.concat(row, "  ", 2)
    say("%s", (("  %-" .. width .. "s  %s"):format(row[1], rest):gsub("%s+$", "")))
  end
end

-- What it takes: `arguments`, and the `keywords` of classes that read theirs in a way
-- of their own.
local function all_specs(class)
  local list = {}
  for _, specs in ipairs{class.arguments, class.keywords or {}} do
    for _, spec in ipairs(specs) do list[#list + 1] = spec end
  end
  return list
end

local function argument_rows(class)
  local list, width = {}, 0
  local specs = all_specs(class)
  for _, spec in ipairs(specs) do width = math.max(width, #spec[2]) end
  for _, spec in ipairs(specs) do
    list[#list + 1] = {spec[1], ("%-" .. width .. "s"):format(spec[2]), remarks(spec)}
  end
  return list
end

local function say_example(say, example)
  if not example then return end
  local function block(text) return (text:gsub("[^\n]+", "    %0"):gsub("\n$", "")) end
  say("\nExample\n%s", block(example.text))
  if example.prints then say("  prints\n%s", block(example.prints)) end
end

--- The page of the class as text.
function page.text(class)
  local lines = {}
  local function say(fmt, ...) lines[#lines + 1] = fmt:format(...) end
  say("%s: %s", class.name, class.summary)
  say("\n    %s", page.call(class))
  local aliases = rawget(class, "aliases")
  if aliases then say("\nAlso called %s", table.concat(aliases, ", ")) end
  rows(say, "Arguments", argument_rows(class))
  if class.notes then say("\n%s", (class.notes:gsub("%f[^\n%z]", "  "))) end
  say("\nPorts\n  %s", page.ports(class) or "by the configuration")
  say("  %s", page.codes(class))
  rows(say, "Handlers", page.handlers(class))
  local drops = {}
  for _, name in ipairs(class.drops or {}) do drops[#drops + 1] = {name} end
  rows(say, "Drops", drops)
  say("\nOn several CPUs\n  %s", dividable.is(class) and dividable.text(class.division)
    or "not divided: " .. dividable.why_not(class))
  say_example(say, examples.of(class))
  local differs = usage.of(class, "differs")
  if differs then say("\nDiffers from Click\n  %s", differs) end
  return table.concat(lines, "\n") .. "\n"
end

return page
