-- SPDX-License-Identifier: Apache-2.0
-- The instructions of a Script, read from its arguments into a list of tables:
--
--     {op = "set", variable = "x", text = "$(add 1 2)"}
--
-- `op` names a function of click.script.machine. Words that end in q become `unquoted`
-- instructions; what several words mean (pause, wait_step, loop) becomes one op.

local text = require("click.language.text")
local numbers = require("click.script.numbers")

local program = {}

local MOST_STEPS = 2 ^ 32 - 1

-- The words, and what they make of the rest of the instruction: the instruction's
-- fields, or nil if that is wrong.
local WORDS = {}

local function with_text(op, fields)
  return function (rest)
    local instruction = {op = op, text = rest}
    for name, value in pairs(fields or {}) do instruction[name] = value end
    return instruction
  end
end

local function alone(op)
  return function (rest) return rest == "" and {op = op} or nil end
end

local function with_variable(op, unquoted, needs_text)
  return function (rest)
    local variable
    variable, rest = text.first_word(rest)
    if variable == "" or needs_text and rest == "" then return nil end
    return {op = op, variable = variable, text = rest, unquoted = unquoted}
  end
end

-- An instruction, and with a q behind its name the one that takes quotes away.
local function pair(name, make, ...)
  WORDS[name], WORDS[name .. "q"] = make(name, false, ...), make(name, true, ...)
end

local function quotable(name, unquoted)
  return with_text(name, {unquoted = unquoted})
end

pair("read", quotable)
pair("write", quotable)
pair("error", quotable)
pair("return", quotable)
pair("init", with_variable)
pair("export", with_variable)
pair("set", with_variable, true)

WORDS.print = with_text("print", {newline = true})
WORDS.printq = with_text("print", {newline = true, unquoted = true})
WORDS.printn = with_text("print")
WORDS.printnq = with_text("print", {unquoted = true})

-- save HANDLER [FILE] is print >FILE HANDLER.
local function saving(mark)
  return function (rest)
    local handler, file = text.first_word(rest)
    return {op = "print", newline = true,
      text = ("%s%s %s"):format(mark, file == "" and "-" or file, handler)}
  end
end

WORDS.save, WORDS.append = saving(">"), saving(">>")

function WORDS.pause(rest)
  local count = rest == "" and 1 or numbers.small(rest, 0, MOST_STEPS)
  return count and {op = "wait_step", count = count, done = 0}
end

WORDS.wait_step, WORDS.wait_stop = WORDS.pause, WORDS.pause
WORDS.wait_time, WORDS.wait_for = with_text("wait_time"), with_text("wait_time")

function WORDS.wait(rest)
  return (rest == "" and WORDS.pause or WORDS.wait_time)(rest)
end

function WORDS.label(rest)
  local label, more = text.first_word(rest)
  if label == "" or more ~= "" then return nil end
  return {op = "label", label = label}
end

local function jump(op)
  return function (rest)
    local label, condition = text.first_word(rest)
    return {op = op, label = label ~= "" and label or "begin", text = condition}
  end
end

WORDS["goto"], WORDS.gotoa = jump("goto"), jump("gotoa")

function WORDS.loop(rest)
  return rest == "" and {op = "goto", label = "begin", text = ""} or nil
end

for _, word in ipairs {"end", "exit", "stop", "please_stop"} do
  WORDS[word] = alone(word)
end

-- Labels that end a script as the instruction of that name does.
local ENDS = {["end"] = "end", exit = "exit", stop = "stop", error = "error",
  errorq = "error"}

--- Where `label` is: the index of an instruction, or the name of one that ends the
--- script; or nil.
function program.find(instructions, label)
  for i, instruction in ipairs(instructions) do
    if instruction.op == "label" and instruction.label == label then return i end
  end
  if ENDS[label] then return ENDS[label] end
  if label == "begin" or label == "loop" then return 1 end
end

local BLOCKING = {wait_step = true, wait_time = true}

--- The instructions in the texts of `list`. What is wrong goes to report(message). A
--- `driver` script ends by stopping.
function program.parse(list, driver, report)
  local instructions = {}
  local function add(instruction)
    if #instructions == 0 and not BLOCKING[instruction.op] then
      instructions[1] = {op = "initial"}
    end
    instructions[#instructions + 1] = instruction
  end
  for _, argument in ipairs(list) do
    local word, rest = text.first_word(argument)
    local instruction = word ~= "" and WORDS[word] and WORDS[word](rest)
    if instruction then
      add(instruction)
    elseif word ~= "" then
      report(("syntax error at '%s'"):format(word))
    end
  end
  if #instructions == 0 and driver then add(WORDS.pause("")) end
  add{op = driver and "stop" or "end"}
  for _, instruction in ipairs(instructions) do
    if instruction.op == "goto" or instruction.op == "gotoa" then
      instruction.target = program.find(instructions, instruction.label)
      if not instruction.target then
        report(("no such label '%s'"):format(instruction.label))
      end
    end
  end
  return instructions
end

return program
