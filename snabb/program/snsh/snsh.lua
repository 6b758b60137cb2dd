-- SPDX-License-Identifier: Apache-2.0
-- `perigee snsh`: a Lua shell in the runtime, and what scripts and tests
-- of Snabb's are started with.

local cli = require("lib.cli")
local failure = require("core.failure")
local lines = require("program.snsh.lines")
local link_order = require("core.link_order")
local process = require("core.lib.process")

local M = {summary = "Lua shell; run expressions, scripts and selftests"}

local function parser()
  local p = cli.parser("snsh", "Carry out the options in order, then run FILE with "
    .. "ARGUMENTS. Without any of these, or with -i, read Lua from the terminal.")
  local steps = {}
  local function step(kind)
    return function (_, _, value) steps[#steps + 1] = {kind, value} end
  end
  p:option("-e --eval", "evaluate EXPR"):argname("EXPR"):count("*")
    :action(step("eval"))
  p:option("-l --load", "require MODULE into a global of its name")
    :argname("MODULE"):count("*"):action(step("load"))
  p:option("-t --test", "run MODULE's selftest(); exit status 43 means skipped")
    :argname("MODULE"):count("*"):action(step("test"))
  p:option("-p --program", "run PROGRAM with FILE and ARGUMENTS as its arguments")
    :argname("PROGRAM")
  p:flag("-d --debug", "set developer_debug, for modules that look at it")
  p:option("-q --sigquit", "'repl': SIGQUIT (Ctrl-\\) opens the shell while "
    .. "engine.main runs"):argname("ACTION")
  p:option("-P --package-path", "look for modules by this package.path first")
    :argname("PATH")
  p:flag("-i --interactive", "read Lua from the terminal afterwards")
  p:argument("file", "a Lua file"):args("?")
  p:argument("arguments", "its arguments"):args("*")
  return p, steps
end

local VALUED = {
  ["-e"] = true, ["--eval"] = true, ["-l"] = true, ["--load"] = true, ["-t"] = true,
  ["--test"] = true, ["-P"] = true, ["--package-path"] = true, ["-p"] = true,
  ["--program"] = true, ["-q"] = true, ["--sigquit"] = true,
}

-- The options in `args`; the file behind them; and what follows it, which is the
-- script's own.
local function split(args)
  local options, i = {}, 1
  while args[i] and args[i]:match("^%-.") and args[i] ~= "--" do
    local count = VALUED[args[i]] and 2 or 1
    for j = i, math.min(i + count - 1, #args) do options[#options + 1] = args[j] end
    i = i + count
  end
  if args[i] == "--" then i = i + 1 end
  return options, args[i], {unpack(args, i + 1)}
end

-- `text` as an expression or as statements; or nil and the error.
local function compile(text, name)
  local chunk = loadstring("return " .. text, name)
  if chunk then return chunk end
  return loadstring(text, name)
end

local actions = {}

function actions.eval(text)
  local chunk, err = loadstring(text, "=-e")
  chunk = chunk or loadstring("return " .. text, "=-e")
  if not chunk then failure.usage("can't evaluate '%s': %s", text, err) end
  chunk()
end

function actions.load(name)
  if not process.have_module(name) then
    failure.usage("can't load '%s': there is no module of that name", name)
  end
  rawset(_G, name:match("[^.]+$"), require(name))
end

function actions.test(name)
  local found, module = pcall(require, name)
  if not found then
    local why = tostring(module):gsub("^(module '.-' not found):.*", "%1")
    failure.usage("can't test '%s': %s", name, why)
  end
  local selftest = type(module) == "table" and rawget(module, "selftest")
    or require("core.upstream").selftest(name)
  if not selftest then failure.usage("can't test '%s': it has no selftest()", name) end
  selftest()
end

local function run_file(file, args)
  local chunk, err = loadfile(file)
  if not chunk then failure.usage("can't run %s: %s", file, err) end
  require("core.main").parameters = args
  rawset(_G, "arg", {[0] = file, unpack(args)})
  chunk(unpack(args))
end

-- The shell ----------------------------------------------------------------

local function is_incomplete(err)
  return err:match("'?<eof>'?$") ~= nil
end

-- Read lines until they make a chunk; nil at the end of input.
local function read_chunk()
  local text, prompt = "", "perigee> "
  while true do
    local line = lines.read(prompt)
    if not line then return nil end
    text = text .. line:gsub("^=", "return ") .. "\n"
    local chunk, err = compile(text, "=stdin")
    if chunk then return chunk end
    if not is_incomplete(err) then
      print(err)
      text, prompt = "", "perigee> "
    else
      prompt = "      >> "
    end
  end
end

local function show(ok, ...)
  if not ok then
    print(tostring((...)))
  elseif select("#", ...) > 0 then
    print(...)
  end
end

local function shell()
  print("Perigee " .. require("core.main").release .. ": Lua; end with Ctrl-D.")
  for chunk in read_chunk do
    show(xpcall(chunk, failure.explain))
  end
  lines.finish()
  print()
end

-- On SIGQUIT, while timers run.
local function open_shell_on_quit(action)
  if action ~= "repl" then
    failure.usage("--sigquit=%s: the one action there is is 'repl'", action)
  end
  require("program.snsh.sigquit").call(function ()
    print("[snsh: SIGQUIT: end the shell with Ctrl-D to go on]")
    local C = require("core.native")
    local watched = C.pg_watch(false) -- it may take its time
    shell()
    C.pg_watch(watched)
  end)
end

local function run_program(name, file, args)
  if file then table.insert(args, 1, file) end
  local main = require("core.main")
  local module = main.find_program(name)
  if not module then
    failure.usage("--program %s: there is no such program; `perigee` lists them", name)
  end
  main.parameters = args
  require(module).run(args)
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  link_order.like_snabb()
  local p, steps = parser()
  local own, file, arguments = split(args)
  local options = cli.parse(p, own)
  require("core.main").parameters = arguments
  if options.debug then rawset(_G, "developer_debug", true) end
  if options.sigquit then open_shell_on_quit(options.sigquit) end
  if options.package_path then
    package.path = options.package_path .. ";" .. package.path
  end
  for _, step in ipairs(steps) do actions[step[1]](step[2]) end
  if options.program then
    run_program(options.program, file, arguments)
  elseif file then
    run_file(file, arguments)
  end
  local nothing_done = #steps == 0 and not file and not options.program
  if options.interactive or nothing_done then shell() end
end

return M
