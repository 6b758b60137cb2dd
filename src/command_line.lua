-- SPDX-License-Identifier: Apache-2.0
-- The command line: options for all programs, then a program and its arguments. The
-- host (native/dpdk/main.c) calls start(). Everything may be used here; nothing else
-- uses this, but workers, whose Lua states are to be alike.
--
-- A family (snabb/, ...) is a folder next to src whose family.lua returns a table with
-- `options`, like those of command_line.options, and their `title` in --help;
-- globals(), which sets the globals that programs of that world expect; and `types`,
-- the modules that register types of objects in shared memory (core.shm), by type; and
-- `filters`, the set of its programs that only read and write text. Each may be left
-- out.

local luajit = require("core.luajit")
local failure = require("core.failure")
local log = require("core.lib.log")
local main = require("core.main")
local spelling = require("core.lib.spelling")
local options = require("command_line.options")

local command_line = {}

-- Names that modules had before, and that programs may require.
local MOVED = {["lib.stack.ready_casts"] = "lib.stack.packet.ready_casts"}
for before, now in pairs(MOVED) do
  package.preload[before] = function () return require(now) end
end

-- Families ---------------------------------------------------------------

local families = {}

-- The names of the folders beside src that hold a family, sorted.
local function names_of_families(root)
  local names = {}
  for _, name in ipairs(require("posix.dirent").dir(root)) do
    local file = io.open(("%s/%s/family.lua"):format(root, name))
    if file then
      file:close()
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

-- Their modules come behind src's own. (A worker's state has their paths already.)
local function join_families(root)
  local own = ("%s/src/?.lua"):format(root)
  local paths = {own}
  for _, name in ipairs(names_of_families(root)) do
    local tree = ("%s/%s"):format(root, name)
    paths[#paths + 1] = tree .. "/?.lua"
    main.add_tree(tree)
    families[#families + 1] = assert(loadfile(tree .. "/family.lua"))()
  end
  local all = table.concat(paths, ";")
  if not package.path:find(all, 1, true) then
    local first, last = package.path:find(own, 1, true)
    package.path = package.path:sub(1, first - 1) .. all .. package.path:sub(last + 1)
  end
end

--- The options for all programs (command_line.options), families' last.
function command_line.options()
  local list = {}
  for _, option in ipairs(options.list) do list[#list + 1] = option end
  for _, family in ipairs(families) do
    for _, option in ipairs(family.options or {}) do list[#list + 1] = option end
  end
  return list
end

-- Help -------------------------------------------------------------------

local COLUMN = 21

local function show_options(title, list)
  io.write("\n", title, ":\n")
  for _, option in ipairs(list) do
    local left = ("%s%s%s"):format(option[1], option[2] and ", " .. option[2] or "",
      option.value and " " .. option.value or "")
    if #left >= COLUMN then io.write("  ", left, "\n") end
    for i, line in ipairs(option.help) do
      io.write(("  %-" .. COLUMN .. "s%s\n"):format(
        i == 1 and #left < COLUMN and left or "", line))
    end
  end
end

local function show_help()
  io.write("Usage: perigee [OPTIONS] PROGRAM [ARGUMENTS]\n",
    "       perigee PROGRAM --help\n")
  show_options("Options", options.list)
  for _, family in ipairs(families) do
    if family.options then show_options(family.title, family.options) end
  end
  io.write("\nPrograms:\n")
  for _, program in ipairs(main.programs()) do
    print(("  %-20s  %s"):format(program.name, program.summary))
  end
end

local function show_version()
  local ffi, C = require("ffi"), require("core.native")
  local dpdk = ffi.string(C.pg_dpdk_version())
  print(("perigee %s (%s, %s)"):format(main.release, dpdk, jit.version))
  local faults = require("command_line.known_faults").lines(dpdk, jit.version)
  print(table.concat(faults, "\n"))
end

local SHOWS = {help = show_help, version = show_version}

-- Starting ---------------------------------------------------------------

local function options_by_name()
  local by_name = {}
  for _, option in ipairs(command_line.options()) do
    for _, name in ipairs(option) do by_name[name] = option end
  end
  return by_name
end

local function names_of(known)
  local list = {}
  for name in pairs(known) do list[#list + 1] = name end
  return list
end

-- The name of an option that `word` is, and its value, if it is written into it.
local function parts_of(word)
  local name, value = word:match("^(%-%-[%w-]+)=(.*)$")
  return name or word, value
end

-- Move the option called `name`, with its value, from place `at` of `args` to the list
-- `chosen`.
local function choose(chosen, option, name, value, args, at)
  if option.value then
    value = value or table.remove(args, at)
    if not value then failure.usage("option '%s' needs a value", name) end
  elseif value then
    failure.usage("option '%s' takes no value: '%s'", name, value)
  end
  table.insert(chosen, {option = option, name = name, value = value})
end

-- Those at the front of `args`.
local function choose_front(chosen, args)
  local known = options_by_name()
  while args[1] and args[1]:match("^%-") do
    local name, value = parts_of(table.remove(args, 1))
    local option = known[name]
    if not option then
      failure.usage("unknown option '%s'%s; `perigee --help` lists them", name,
        spelling.hint(name, names_of(known)))
    end
    choose(chosen, option, name, value, args, 1)
    if not option.value and not option.early then return end
  end
end

-- Is it a program of a family's that only reads and writes text? Options that may be
-- anywhere are about a graph that runs: it has no use for them, and refuses them.
local function is_filter(program)
  local name = (program or ""):gsub("-", "_")
  for _, family in ipairs(families) do
    if family.filters and family.filters[name] then return true end
  end
  return false
end

-- The option of a family's program behind which, up to "--", words are others'.
local function passing_on(program)
  for _, family in ipairs(families) do
    local option = (family.passes_on or {})[program or ""]
    if option then return option end
  end
end

-- Where a place of `args` is behind words that are for others, if it is at such words.
local function behind_others(args, at, option)
  if not option or args[at] ~= option then return at end
  repeat at = at + 1 until not args[at] or args[at] == "--"
  return at + 1
end

-- Those among the program's own that may be anywhere, up to "--".
local function choose_anywhere(chosen, args, program)
  if is_filter(program) then return end
  local known, passes_on, at = options_by_name(), passing_on(program), 1
  while true do
    at = behind_others(args, at, passes_on)
    if not args[at] or args[at] == "--" then return end
    local name, value = parts_of(args[at])
    local option = known[name]
    local own = option and option.is_own and option.is_own(program, args)
    if option and option.anywhere and not own then
      table.remove(args, at)
      choose(chosen, option, name, value, args, at)
    else
      at = at + 1
    end
  end
end

-- Those that environment variables give, unless the command line does.
local function choose_environment(chosen)
  local left = options_by_name()
  for _, c in ipairs(chosen) do left[c.name] = nil end
  for name, option in pairs(left) do
    local value = os.getenv(option.environment or "") or ""
    if value ~= "" then choose(chosen, option, name, value) end
  end
end

local function take(list, early)
  for _, c in ipairs(list) do
    if (c.option.early or false) == early then
      (c.option.take or SHOWS[c.option.shows])(c.value)
      if not (c.value or early) then return true end
      table.insert(main.options, c.name)
      table.insert(main.options, c.value)
    end
  end
end

-- Take the options off the front of `args`, and those that may be anywhere from behind
-- the program's name; true if one of them was all. If it is the `program` that is
-- called, without its name, all but these are its own.
local function take_options(args, program)
  local chosen, name = {}, nil
  if not program then
    choose_front(chosen, args)
    name = table.remove(args, 1)
  end
  choose_anywhere(chosen, args, name or program)
  choose_environment(chosen)
  if name then table.insert(args, 1, name) end
  return take(chosen, true) or take(chosen, false)
end

-- What families add to a Lua state.
local function add_families()
  local shm = require("core.shm")
  for _, family in ipairs(families) do
    if family.globals then family.globals() end
    for name, module in pairs(family.types or {}) do shm.provide(name, module) end
  end
end

-- Before the first program is loaded.
local function prepare()
  if luajit.miscompiles_all(jit.version, jit.arch) then
    log.warning("this LuaJIT makes wrong machine code for %s (doc/advisories.md), so "
      .. "Lua is interpreted, many times slower: use one of 2024 or later", jit.arch)
  end
  if options.replicate then require("lib.replica.child").begin() end
  if options.standby and not options.may_be_named then
    require("net.keep.standby").check()
  end
  add_families()
  require("core.shm").sweep()
  local lib = require("core.lib")
  lib.randomseed(lib.getenv("SNABB_RANDOM_SEED"))
  if options.control then require("lib.control.server").start() end
  local metrics = options.metrics
  if metrics then
    require("core.outside.standby").after(function ()
      require("lib.control.metrics").start(metrics)
    end)
  end
  if options.keep then require("lib.replica.shown").begin(options.keep) end
  require("lib.service.service").start()
end

--- Make this Lua state, a worker's (core.cpus.worker_main), like that of the main
--- thread: `parent` has its root, version, options, program_name and parameters.
function command_line.within_worker(parent)
  main.begin(parent.root, parent.version, parent.front)
  join_families(parent.root)
  take_options(parent.options)
  add_families()
  main.program_name, main.parameters = parent.program_name, parent.parameters
  require("core.lib").randomseed(parent.seed)
end

-- The program that this process was called as: a link to perigee that is named after
-- one of its programs runs that.
local function called_as(command)
  local name = main.programname(command or "perigee")
  if name ~= "perigee" and name ~= "snabb" and main.find_program(name) then
    return name
  end
end

-- What core.worker starts: the code, instead of a program.
local function run_code(code)
  require("posix.stdlib").setenv("SNABB_PROGRAM_LUACODE", nil)
  main.prepare()
  main.program_name = "worker"
  main.publish("worker")
  local chunk, err = loadstring(code, "=worker")
  if not chunk then failure.raise("can't run a worker's code: %s", err) end
  chunk()
end

local function run(argv)
  local args = {}
  for i = 1, #argv do args[i] = argv[i] end
  local code, name = os.getenv("SNABB_PROGRAM_LUACODE"), called_as(argv[0])
  if name and not code then
    take_options(args, name)
    return main.launch(name, args)
  end
  if take_options(args) then return end
  if code then return run_code(code) end
  if not args[1] then return show_help() end
  options.may_be_named = args[1] == "run" -- by a graph file's `keep`
  main.launch(table.remove(args, 1), args)
  if main.sandboxed then require("lib.sandbox.sandbox").ended() end
end

--- Run the command line `argv` (with fields root, the folder that holds src, and
--- version); the exit status.
function command_line.start(argv)
  main.begin(argv.root, argv.version, "command_line", prepare)
  main.hint_by(function (name) return spelling.hint(name, main.program_names()) end)
  local status = 0
  local ok, err = xpcall(function ()
    if log.is_of_journal() then log.begin("journal") end
    join_families(argv.root)
    run(argv)
  end, failure.explain)
  if not ok then status = main.status_of(err) end
  return main.final_status(status)
end

return command_line
