-- SPDX-License-Identifier: Apache-2.0
-- Runs the instructions of a script (click.script.program). A run ends at the script's
-- end, or where an instruction waits: for a step (somebody calls the handler `step`)
-- or for a time, whichever comes first.
--
-- The script is the element, with these fields: instructions; position, of the next;
-- steps, taken so far; variables; arguments, handler_name and writing, of the call that
-- runs it; status, of the last write; timer; driver, whether it manages stops.

local C = require("core.native")
local calls = require("click.script.calls")
local errors = require("click.errors")
local numbers = require("click.script.numbers")
local output = require("click.script.output")
local program = require("click.script.program")
local seconds = require("click.arguments.numbers").seconds
local text = require("click.language.text")
local variables = require("click.language.variables")

local machine = {}

local MOST_JUMPS = 1000 -- without waiting in between

-- What an instruction says besides "go on" (nil).
local BLOCK, DONE, FINISH = "it waits here", "this run is over", "the script ends here"

-- Text with variables ---------------------------------------------------------------

local function argument(script, n)
  return text.words(script.arguments)[n] or ""
end

local BUILT_IN = {
  ["?"] = function (script) return tostring(script.status) end,
  ["$"] = function () return tostring(require("posix.unistd").getpid()) end,
  ["0"] = function (script) return script.handler_name end,
  ["#"] = function (script) return tostring(#text.words(script.arguments)) end,
  args = function (script) return script.arguments end,
  write = function (script) return tostring(script.writing) end,
}

local function variable(script, name)
  local value = script.variables[name]
  if value then return value end
  if BUILT_IN[name] then return BUILT_IN[name](script) end
  local number = name:find("^[1-9]") and numbers.small(name, 1, 2 ^ 31)
  return number and argument(script, number)
end

-- What a handler gives as text: "" after an error, nil if there is no such handler.
local function handler_text(script, call_text, reporter)
  local call, problem = calls.parse(call_text, script, "read")
  if call then return calls.read(call, reporter) or "" end
  reporter:error("%s", problem)
end

--- `s` with the script's variables and handlers replaced. `options` as those of
--- variables.expand.
function machine.expand(script, s, reporter, options)
  return variables.expand(s, function (name, kind)
    if kind == "(" then return handler_text(script, name, reporter) end
    return variable(script, name)
  end, options)
end

-- Instructions: functions of the script, the instruction and the run -----------------

local OPS = {}

local function expanded(script, instruction, run)
  local s = machine.expand(script, instruction.text, run.reporter)
  return instruction.unquoted and text.unquote(s) or s
end

local function nothing() end

OPS.label, OPS.init, OPS.export = nothing, nothing, nothing

function OPS.initial(script, instruction)
  if not instruction.pending then return end
  instruction.pending = false
  script.steps = script.steps + 1
end

function OPS.wait_step(script, instruction, run)
  local n = math.min(run.target - script.steps, instruction.count - instruction.done)
  instruction.done = instruction.done + n
  script.steps = script.steps + n
  if instruction.done < instruction.count then return BLOCK end
end

function OPS.wait_time(script, instruction, run)
  if script.steps < run.target then
    script.steps = script.steps + 1
    script.timer:unschedule()
    return
  end
  local time = seconds(machine.expand(script, instruction.text, run.reporter), {})
  if not time then
    run.reporter:error("syntax error at 'wait'")
    return DONE
  end
  script.timer:after(time)
  return BLOCK
end

-- The handler that the instruction names, ready to be called; or nil after an error.
local function call_of(script, s, instruction, run, kind)
  local call, problem = calls.parse(machine.expand(script, s, run.reporter), script,
    kind, instruction.unquoted)
  if not call then return run.reporter:error("%s", problem) end
  return call, run.reporter:context("While calling '%s':", calls.text(call))
end

local IN_QUOTES = {quote_words = true}

function OPS.print(script, instruction, run)
  local file, s, problem = output.open(instruction.text)
  if not file then
    C.pg_note_failure()
    return run.reporter:error("%s", problem)
  end
  local collector = run.reporter.collector
  local before = collector.count
  local result
  if s:find("^[%a@_]") then
    local call, reporter = call_of(script, s, instruction, run, "read")
    result = call and calls.read(call, reporter) or ""
  else
    result = text.unquote(machine.expand(script, s, run.reporter, IN_QUOTES))
  end
  if collector.count == before and instruction.newline and result:sub(-1) ~= "\n" then
    result = result .. "\n"
  end
  problem = output.write(file, result)
  if problem then
    C.pg_note_failure()
    run.reporter:error("can't write: %s", problem)
  end
end

function OPS.read(script, instruction, run)
  local call, reporter = call_of(script, instruction.text, instruction, run, "read")
  if not call then return end
  local result = calls.read(call, reporter) or ""
  run.console:message("%s:", calls.name(call))
  -- The text, then a newline: lines of it that end have an empty one behind.
  run.console:message("%s", result:sub(-1) == "\n" and result .. "\n" or result)
end

function OPS.write(script, instruction, run)
  local call, reporter = call_of(script, instruction.text, instruction, run, "write")
  if call then script.status = calls.write(call, reporter) end
end

function OPS.set(script, instruction, run)
  script.variables[instruction.variable] = expanded(script, instruction, run)
end

OPS["return"] = function (script, instruction, run)
  local position = script.position
  script.variables._ = expanded(script, instruction, run)
  -- A handler that was called for the value may have moved the script.
  if script.position == position then return BLOCK end
end

OPS["goto"] = function (script, instruction, run)
  local condition = machine.expand(script, instruction.text, run.reporter)
  local jumps = condition == "" or numbers.bool(condition)
  if jumps == nil then
    return run.reporter:error("bad condition '%s'", condition)
  elseif not jumps then
    return
  elseif type(instruction.target) == "string" then
    if instruction.target == "stop" then return OPS.stop(script, instruction, run) end
    return FINISH
  end
  for i = instruction.target, script.position - 2 do
    script.instructions[i].done = script.instructions[i].done and 0
  end
  script.position = instruction.target
end

function OPS.gotoa(script, instruction, run)
  if script.router.runcount <= 0 then return DONE end
  return OPS["goto"](script, instruction, run)
end

function OPS.please_stop(script) script.router:adjust_runcount(-1) end

function OPS.stop(script, _, run)
  script.steps = script.steps + 1
  if not run.by_router then script.router:adjust_runcount(-1) end
  return FINISH
end

function OPS.error(script, instruction, run)
  local message = expanded(script, instruction, run)
  if message ~= "" then run.reporter:error("%s", message) end
  return FINISH
end

OPS["end"] = function () return FINISH end
OPS.exit = OPS["end"]

-- Running ---------------------------------------------------------------------------

-- Execute until an instruction says otherwise, or there were too many jumps; what the
-- last one said.
local function execute(script, run)
  while script.steps <= run.target and run.jumps < MOST_JUMPS do
    local position = script.position
    local instruction = script.instructions[position]
    if not instruction then return DONE end
    script.position = position + 1
    local said = OPS[instruction.op](script, instruction, run)
    if said == BLOCK or said == FINISH then script.position = position end
    if said then return said end
    if script.position ~= position + 1 then run.jumps = run.jumps + 1 end
  end
  return DONE
end

-- `run`: target, so many steps in all; jumps so far; by_router, whether it asks because
-- somebody wants to stop; reporter, of errors; console, for what is to be seen there.
local function step(script, run)
  local said = execute(script, run)
  if said ~= FINISH then
    if run.jumps >= MOST_JUMPS then
      run.console:error("%s :: %s: too many jumps, giving up", script.name,
        script.class.name)
      script.position = #script.instructions + 1
      script.timer:unschedule()
    end
    if run.by_router then script.router:adjust_runcount(1) end
  end
  run.jumps = run.jumps + 1
end

--- Take `n` steps: go on past so many instructions that wait. `options`: reporter, to
--- which errors go; by_router: the router asks because it is to stop; adds: these steps
--- are to come on top of those of a run that is under way.
function machine.step(script, n, options)
  if script.running then -- it is called by a handler that it calls itself
    if options.adds then script.running.more = (script.running.more or -1) + n end
    return
  end
  local run = {jumps = 0, by_router = options.by_router,
    reporter = options.reporter or errors.to_stderr(), console = errors.to_stderr()}
  script.running = run
  while n do
    run.target, run.more = script.steps + n, nil
    step(script, run)
    n, run.by_router = run.more, false
  end
  script.running = nil
end

--- Where the script has stopped: "return", "end", "exit", "stop", "error", or nil if it
--- waits or has been given up.
function machine.ended(script)
  local instruction = script.instructions[script.position]
  local op = instruction and instruction.op
  if op == "goto" then op = instruction.target end
  if op == "return" or op == "end" or op == "exit" or op == "stop" or op == "error" then
    return op
  end
end

--- Begin anew, at the label or at the beginning; nil if there is no such label.
function machine.rewind(script, label)
  local position = label and program.find(script.instructions, label) or not label and 1
  if type(position) ~= "number" then return nil end
  if label then
    for i = position, #script.instructions do
      script.instructions[i].done = script.instructions[i].done and 0
    end
  end
  script.position = position
  return true
end

--- Set the variables that `init` and `export` name.
function machine.set_initial(script, reporter)
  for _, instruction in ipairs(script.instructions) do
    if instruction.op == "init" or instruction.op == "export" then
      script.variables[instruction.variable] =
        expanded(script, instruction, {reporter = reporter})
    end
  end
end

return machine
