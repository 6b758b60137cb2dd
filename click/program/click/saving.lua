-- SPDX-License-Identifier: Apache-2.0
-- What `click` does with its configuration beyond the process (lib.saved.saving): the
-- text that runs, of the command line or of the handler `hotconfig`.

local chatter = require("click.chatter")
local errors = require("click.errors")
local failure = require("core.failure")
local general = require("lib.saved.saving")
local offer = require("lib.saved.offer")
local placement = require("core.cpus.placement")
local tables = require("core.lib.tables")

local saving = {}

local REMEMBERED = "router.click" -- in the folder of --last-good

-- What several lines about a configuration are as one sentence.
local function joined(text)
  return (text:gsub("%s+$", ""):gsub(":\n%s*", ": "):gsub("\n%s*", "; "))
end

-- A collector of errors that passes lines on once it is told to: release().
local function held_back(quiet)
  local released = false
  local reporter = errors.new(function (line)
    if released then chatter.say(line) end
  end)
  reporter.quiet = quiet
  return reporter, function ()
    for _, line in ipairs(reporter.lines) do chatter.say(line) end
    released = true
  end
end

-- The command line's options, with the file at the path in the place of what they name.
local function with_file(o, path)
  if path == nil or path == o.file and not o.expression then return o end
  local other = tables.copy(o)
  other.file, other.expression = path, nil
  return other
end

-- A function that calls start(OPTIONS, REPORTER) so that what is wrong is an error, on
-- the CPUs that were asked for.
local function attempt(o, reporter, start)
  local cpus = placement.wanted()
  return function (path)
    if cpus then placement.use(table.concat(cpus, ",")) end
    local own, release = held_back(reporter.quiet)
    local result = start(with_file(o, path), own)
    if not result then failure.raise("%s", joined(own:text())) end
    release()
    return result
  end
end

--- What is wrong with the options of the command line, or nil.
function saving.problem(o)
  if not o.save_config then return nil end
  if not o.allow_reconfigure then
    return "--save-config saves what 'hotconfig' changes: give -R, too"
  end
  local _, problem = general.writable(o.save_config)
  return problem and "--save-config: " .. problem
end

--- Start what the options name, what was saved, or else the last that worked.
--- start(OPTIONS, REPORTER) returns what runs, and its text in the field `text`; or nil
--- if it can't be, which the reporter was told. Returns the same, and a function to be
--- told of the text that runs instead.
function saving.start(o, reporter, start)
  local text
  local given = not o.expression and o.file ~= "-" and o.file or nil
  local saved = general.new{given = given, save_config = o.save_config,
    last_good = o.last_good, name = REMEMBERED,
    reload = "write that to the handler 'hotconfig'",
    pieces = function (put) put(text) end}
  offer.let_in(function () return text end)
  local function begin(path) return start(with_file(o, path), reporter) end
  local result = saved:start(o.last_good and attempt(o, reporter, start) or begin)
  if not result then return nil end
  text = result.text
  saved:let_in()
  return result, function (new)
    text = new
    saved:changed()
  end
end

return saving
