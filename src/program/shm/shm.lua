-- SPDX-License-Identifier: Apache-2.0
-- `perigee shm`: what processes have in shared memory.

local cjson = require("cjson")
local cli = require("lib.cli")
local failure = require("core.failure")
local instances = require("lib.observe.instances")
local objects = require("lib.observe.objects")
local stat = require("posix.sys.stat")

local M = {summary = "print the counters, histograms, ... that a process shares"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

-- `dtime` is when something was made, in seconds since 1970.
local ERA_S = 1e9

local function date(seconds)
  return os.date("%c", seconds)
end

--- The value of the object `name` (without extension) as text.
function M.value_text(name, value, kind)
  local seconds = kind == "counter" and name:match("dtime$") and tonumber(value)
  if seconds and seconds > ERA_S then return date(seconds) end
  return objects.text(value, kind)
end

--- Lines "NAME: VALUE" for all objects below `directory`; those of unknown types too.
function M.text(directory)
  local lines = {}
  objects.each(directory, function (file, path)
    local value, kind = objects.read(path)
    local name = file:match("^(.*)%.[^.]*$") or file
    if value ~= nil then
      lines[#lines + 1] = ("%s: %s\n"):format(name, M.value_text(name, value, kind))
    elseif kind then
      lines[#lines + 1] = ("%s: (a %s)\n"):format(name, kind)
    end
  end)
  return table.concat(lines)
end

local function plain(object)
  if object.kind == "histogram" then
    local least, average, greatest = object.value:summarize()
    return {total = tonumber(object.value.total), min = least, avg = average,
            max = greatest}
  end
  return type(object.value) == "cdata" and tonumber(object.value) or object.value
end

local function json(directory)
  local result = {}
  for name, object in pairs(objects.all(directory)) do result[name] = plain(object) end
  return (next(result) and cjson.encode(result) or "{}") .. "\n"
end

-- The directory that the argument means: a path, or an instance with a path in it
-- ("1234/engine", "router/links").
local function directory_of(text)
  local found = stat.stat(text)
  if found and stat.S_ISDIR(found.st_mode) ~= 0 and text:find("/") then return text end
  local who, rest = text:match("^([^/]+)(.*)$")
  if not who then
    failure.usage("there is no directory %s", text)
  end
  local directory = instances.find(instances.list(), who).directory .. rest
  if not stat.stat(directory) then
    failure.usage("the instance '%s' has no %s in shared memory", who, rest:sub(2))
  end
  return directory
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("shm", "Print the objects that a process of Perigee or "
    .. "Snabb has in shared memory.")
  parser:argument("path", "A directory (/var/run/snabb/1234/engine), an instance by "
    .. "process id or name, or a directory of an instance (1234/engine).")
  parser:flag("--json", "Print JSON.")
  local options = cli.parse(parser, args)
  local directory = directory_of(options.path)
  io.write(options.json and json(directory) or M.text(directory))
end

return M
