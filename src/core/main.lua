-- SPDX-License-Identifier: Apache-2.0
-- The command line: options for all programs, then a program and its arguments.
-- Sets the globals that Snabb's programs expect, runs the program, explains
-- what went wrong, and leaves nothing behind.

-- Long runs need room for code; traces are never thrown away for want of it.
jit.opt.start("sizemcode=512", "maxmcode=65536", "maxtrace=20000",
  "maxrecord=20000", "maxirconst=10000", "maxsnap=2000", "maxside=1000")

local failure = require("core.failure")

local main = {}

--- The program's arguments, a list of strings.
main.parameters = {}

--- The options before the program, as given: for workers, which are to have the same.
main.options = {}

local trees = {} -- where programs are looked for, the first first

local USAGE = [[
Usage: perigee [OPTIONS] PROGRAM [ARGUMENTS]
       perigee PROGRAM --help

Options:
  -p DIR               look for programs and modules in DIR first
                       (DIR/program/NAME/NAME.lua, DIR/apps/..., as in Snabb)
  --snabb DIR          take programs and modules that Perigee hasn't from DIR,
                       the src folder of a Snabb checkout
  --port PCI=PORT      use another port in the place of a PCI address
                       (--port 0000:01:00.0=pcap:rx=a.pcap)
  --packets N          let the packet pool grow to N packets (default 262144)
  --cpus LIST          run the program's apps on these CPUs (1-4 or 0,2), also
                       written behind the program: perigee PROGRAM --cpus 1-4
  --eal "ARGUMENTS"    pass these on to DPDK
  -h, --help           show this
  --version            show the versions of Perigee, DPDK and LuaJIT
]]

-- Tell the user about the error; the exit status.
local function status_of(err)
  io.stdout:flush()
  io.stderr:write("perigee: ", tostring(err), "\n")
  return failure.is(err) and err.status or 1
end

-- Ending -----------------------------------------------------------------

-- Stop the apps, remove what shm left, end DPDK.
local function tidy_up()
  local loaded = package.loaded
  -- Not to be cut short by a signal, and not twice.
  if loaded["core.native"] then loaded["core.native"].pg_catch_signals() end
  local ok, err = true, nil
  if loaded["core.app"] then ok, err = pcall(loaded["core.app"].stop) end
  if loaded["core.shm"] then loaded["core.shm"].cleanup() end
  if loaded["core.native"] then loaded["core.native"].pg_eal_stop() end
  return ok, err
end

--- End the process with this exit status, after stopping all apps.
function main.exit(status)
  local ok, err = tidy_up()
  if not ok then status = math.max(status or 0, status_of(err)) end
  io.stdout:flush()
  os.exit(status or 0)
end

-- Programs ---------------------------------------------------------------

local function readable(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function program_file(tree, name)
  return ("%s/program/%s/%s.lua"):format(tree, name, name)
end

--- The program that `name`, that of a file or what the user typed, stands for:
--- "echo" for "echo", "/usr/bin/perigee-echo" and "snabb-echo-1.0".
function main.programname(name)
  return (name:gsub("^.*/", ""):gsub("%-[%d.]+[%-%w]*$", ""):gsub("%-", "_")
    :gsub("^perigee_", ""):gsub("^snabb_", ""))
end

--- The module of the program `name`.
function main.modulename(name)
  name = main.programname(name)
  return ("program.%s.%s"):format(name, name)
end

local function find_program(name)
  if name:find("/") then return nil end
  name = main.programname(name)
  for _, tree in ipairs(trees) do
    if name:match("^[%w_]+$") and readable(program_file(tree, name)) then
      return main.modulename(name)
    end
  end
end

-- The program that this process was called as: a link to perigee that is named after
-- one of its programs runs that.
local function called_as(command)
  local name = main.programname(command or "perigee")
  if name ~= "perigee" and name ~= "snabb" and find_program(name) then return name end
end

--- The programs there are: a sorted list of {name, summary}.
function main.programs()
  local dirent = require("posix.dirent")
  local found, names = {}, {}
  for _, tree in ipairs(trees) do
    local ok, entries = pcall(dirent.dir, tree .. "/program")
    for _, name in ipairs(ok and entries or {}) do
      if not found[name] and readable(program_file(tree, name)) then
        found[name] = tree
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  local list = {}
  for _, name in ipairs(names) do
    local ok, program = true, {}
    if found[name] == main.root then
      ok, program = pcall(require, ("program.%s.%s"):format(name, name))
    end
    list[#list + 1] = {name = name,
      summary = ok and program.summary or "(in " .. found[name] .. ")"}
  end
  return list
end

local function show_help()
  io.write(USAGE, "\nPrograms:\n")
  for _, program in ipairs(main.programs()) do
    print(("  %-18s %s"):format(program.name, program.summary))
  end
end

local function show_version()
  local ffi, C = require("ffi"), require("core.native")
  print(("perigee %s (%s, %s)"):format(main.version,
    ffi.string(C.pg_dpdk_version()), jit.version))
end

-- The command line -------------------------------------------------------

local function add_tree(dir)
  if not require("posix.sys.stat").stat(dir) then
    failure.usage("-p %s: there is no such directory", dir)
  end
  package.path = dir .. "/?.lua;" .. package.path
  table.insert(trees, 1, dir)
end

local function add_upstream(dir)
  require("core.upstream").add(dir)
  table.insert(trees, dir)
end

local function replace_port(text)
  require("lib.port.spec").replace_option(text)
end

local function limit_packets(text)
  local n, max = tonumber(text), 2 ^ 24
  if not n or n < 1024 or n > max or n % 1 ~= 0 then
    failure.usage("--packets %s: give a number from 1024 to %d", text, max)
  end
  local pool = require("core.pool")
  pool.max, pool.initial = n, math.min(n, pool.initial)
end

local function pass_to_eal(text)
  local eal = require("core.eal")
  for word in text:gmatch("%S+") do table.insert(eal.arguments, word) end
end

local function use_cpus(text)
  require("core.cores.auto").cpus = require("core.cores.affinity").list(text)
end

local with_value = {
  ["--cpus"] = use_cpus,
  ["-p"] = add_tree, ["--snabb"] = add_upstream, ["--port"] = replace_port,
  ["--packets"] = limit_packets, ["--eal"] = pass_to_eal,
}
local alone = {
  ["-h"] = show_help, ["--help"] = show_help, ["--version"] = show_version,
}

-- Takes the options off the front of `args`; true if one of them was all.
local function parse_options(args)
  while args[1] and args[1]:match("^%-") do
    local option = table.remove(args, 1)
    local long, value = option:match("^(%-%-%w+)=(.*)$")
    option = long or option
    if alone[option] then
      alone[option]()
      return true
    elseif not with_value[option] then
      failure.usage("unknown option '%s'; `perigee --help` lists them", option)
    end
    value = value or table.remove(args, 1)
    if not value then failure.usage("option '%s' needs a value", option) end
    with_value[option](value)
    table.insert(main.options, option)
    table.insert(main.options, value)
  end
end

local function set_globals()
  local global = {
    config = "core.config", engine = "core.app", memory = "core.memory",
    link = "core.link", packet = "core.packet", timer = "core.timer",
    timeline = "core.timeline",
  }
  for name, module in pairs(global) do rawset(_G, name, require(module)) end
  rawset(_G, "main", main)
  rawset(_G, "developer_debug", os.getenv("SNABB_DEBUG") ~= nil)
  require("lib.lua.class") -- the global subClass
  require("core.clib_h")
  require("core.lib_h")
  local plain_assert = assert
  rawset(_G, "assert", function (value, message, ...)
    if value then return value, message, ... end
    if message == nil then return plain_assert(value) end
    if type(message) ~= "string" and not failure.is(message) then
      message = tostring(message)
    end
    return plain_assert(value, message, ...)
  end)
  require("lib.lua.strict").enable()
end

-- Done once, before the first program is loaded.
local function prepare()
  set_globals()
  require("core.shm").sweep()
  local lib = require("core.lib")
  lib.randomseed(lib.getenv("SNABB_RANDOM_SEED"))
end

-- A field of a program's module; the fields of Snabb's modules may be globals.
local function own(program, field)
  return type(program) == "table" and rawget(program, field) or nil
end

-- `--cpus LIST` among a program's own arguments, unless it has such an option itself.
local function take_cpus(program, args)
  for i, word in ipairs(own(program, "own_cpus") and {} or args) do
    local value = word:match("^%-%-cpus=(.*)$")
    if word == "--cpus" or value then
      table.remove(args, i)
      value = value or table.remove(args, i)
      if not value then failure.usage("option '--cpus' needs a value") end
      use_cpus(value)
      break
    end
  end
  local auto = package.loaded["core.cores.auto"]
  if not auto then return end
  auto.replicable = own(program, "replicable")
  local why = auto.cpus and own(program, "one_cpu")
  if why then
    failure.usage("%s runs on one CPU, so it takes no --cpus: %s", main.program_name,
      why)
  end
end

--- Run the program `name` with its arguments, a list of strings.
function main.launch(name, args)
  local module = find_program(name)
  if not module then
    failure.usage("there is no program '%s'; `perigee` lists the programs", name)
  end
  if not main.program_name then prepare() end
  main.program_name = name
  main.parameters = args
  local program = require(module)
  take_cpus(program, args)
  if not program.run then
    failure.usage("%s has no run() function", module:gsub("%.", "/") .. ".lua")
  end
  program.run(args)
end

--- Make this Lua state, a worker's (core.cores.inside), like that of the main thread:
--- `parent` has its root, version, options, program_name and parameters.
function main.within_worker(parent)
  main.root, main.version = parent.root, parent.version
  package.loaded["core.main"] = main
  trees[1] = parent.root
  parse_options(parent.options)
  set_globals()
  main.program_name, main.parameters = parent.program_name, parent.parameters
  local lib = require("core.lib")
  lib.randomseed(parent.seed)
end

-- What core.worker starts: the code, instead of a program.
local function run_code(code)
  require("posix.stdlib").setenv("SNABB_PROGRAM_LUACODE", nil)
  prepare()
  main.program_name = "worker"
  local chunk, err = loadstring(code, "=worker")
  if not chunk then failure.raise("can't run a worker's code: %s", err) end
  chunk()
end

--- Run the command line `argv` (with fields root, the Lua tree, and version);
--- the exit status.
function main.start(argv)
  main.root, main.version = argv.root, argv.version
  package.loaded["core.main"] = main
  trees[1] = argv.root
  local args = {}
  for i = 1, #argv do args[i] = argv[i] end
  local status = 0
  local ok, err = xpcall(function ()
    local code, name = os.getenv("SNABB_PROGRAM_LUACODE"), called_as(argv[0])
    if name and not code then return main.launch(name, args) end
    if parse_options(args) then return end
    if code then return run_code(code) end
    if not args[1] then return show_help() end
    main.launch(table.remove(args, 1), args)
  end, failure.explain)
  if not ok then status = status_of(err) end
  ok, err = tidy_up()
  if not ok then status = math.max(status, status_of(err)) end
  return status
end

return main
