-- SPDX-License-Identifier: Apache-2.0
-- The process: what it was started with, which programs there are, running one, and
-- leaving nothing behind. What comes before a program on the command line is
-- command_line's. (Snabb's programs know this module as the global `main`.)

-- Long runs need room for code: 64 MB. Each change of a configuration makes some, and
-- none is freed by itself: core.engine.jit_reset throws all of it away when there is
-- much, and so does LuaJIT if there is no more room. Tail calls count as rounds of a
-- loop to it (loopunroll, 15 otherwise): a region in which apps emit is made of them,
-- and a packet that goes round a loop of links passes many.
jit.opt.start("sizemcode=512", "maxmcode=65536", "maxtrace=20000",
  "maxrecord=20000", "maxirconst=10000", "maxsnap=2000", "maxside=1000",
  "loopunroll=60")

local failure = require("core.failure")
local log = require("core.lib.log")
local luajit_errors = require("core.lib.luajit_errors")
local mode = require("core.check.mode")

local main = {}

--- The program's arguments, a list of strings.
main.parameters = {}

--- The options before the program, as given: for workers, which are to have the same.
main.options = {}

local trees = {} -- where programs are looked for, the first first
local prepare    -- makes a Lua state ready for programs; nil once that is done

--- What this process is: `root` holds src and the families' folders, `version` is
--- Perigee's (main.release), `front` is the module that makes Lua states what they are,
--- also those of workers (command_line); prepare_state() is called once, before the
--- first program is loaded.
function main.begin(root, version, front, prepare_state)
  main.root, main.release, main.front, prepare = root, version, front, prepare_state
  trees[1] = root .. "/src"
end

--- Look for programs in the folder `tree` (TREE/program/NAME/NAME.lua) too, before
--- those there are if `first`.
function main.add_tree(tree, first)
  table.insert(trees, first and 1 or #trees + 1, tree)
end

local published = false
local mimics = false

--- Is what others compare byte by byte to be as Snabb has it (a savefile's header, what
--- ps prints)? True once mimic_snabb() has been called.
function main.mimics_snabb() return mimics end

--- From now on it is.
function main.mimic_snabb() mimics = true end

--- Which modules come from a tree, though Perigee has some of the names: an array of
--- {what =, dir =}, a sentence's subject and the tree's folder.
main.origins = {}

-- Ending -----------------------------------------------------------------

-- The module, if it has been loaded; LuaJIT leaves a mark, a number to type(), in the
-- place of one that failed meanwhile.
local function loaded(name)
  local module = package.loaded[name]
  return type(module) ~= "number" and module or nil
end

main.SIGNALS = {[1] = "SIGHUP", [2] = "SIGINT", [15] = "SIGTERM"}

--- The number of the signal that has ended the program, or nil.
function main.ended_by()
  local native = loaded("core.native")
  local number = native and native.pg_ended_by() or 0
  return number ~= 0 and number or nil
end

local remark = function () return "" end

--- Let f(text) say what is to be said behind the sentence of an error that ends the
--- program.
function main.remark_by(f) remark = f end

--- Tell the user about the error `err`; the exit status. It is 128 and the signal's
--- number if that was a signal.
function main.status_of(err)
  local number = main.ended_by()
  if number then
    log.info("ended by %s", main.SIGNALS[number])
    return 128 + number
  end
  local text = luajit_errors.explained(tostring(err))
  log.error("%s%s", text, remark(text))
  return failure.is(err) and err.status or 1
end

-- What is wrong with packets at the end, above all with --check; the last is returned.
local function look_at_packets(failed)
  local account, list = loaded("core.engine.account"), {}
  if mode.on and loaded("core.packet") then
    list = require("core.check.held").at_end(failed)
  end
  if account and not failed then list[#list + 1] = account.at_end() end
  for i = 1, #list - 1 do log.error("%s", list[i]) end
  return pcall(function ()
    if #list > 0 then failure.raise("%s", list[#list]) end
  end)
end

--- Stop the apps, remove what shm left, end DPDK. True, or false and the error.
--- `failed`: has the program?
function main.tidy_up(failed)
  local native, engine, shm = loaded("core.native"), loaded("core.app"),
    loaded("core.shm")
  -- Not to be cut short by a signal, and not twice.
  if native then native.pg_catch_signals() end
  local results = loaded("core.engine.results")
  local ok, err = true, nil
  if results then ok, err = pcall(results.print) end
  local outside = loaded("core.outside.visitors")
  if outside then outside.leave() end
  if engine then
    local stopped, problem = pcall(engine.stop)
    if ok then ok, err = stopped, problem end
  end
  if ok then ok, err = look_at_packets(failed) end
  if shm then shm.cleanup() end
  if native then native.pg_eal_stop() end
  return ok, err
end

--- The same for a program that would end with this status; the status it ends with: 1
--- at least if something couldn't be done, here or while it ran (pg_note_failure).
function main.final_status(status)
  local ok, err = main.tidy_up(status ~= 0)
  if not ok then status = math.max(status, main.status_of(err)) end
  local native = loaded("core.native")
  return native and native.pg_has_failed() and math.max(status, 1) or status
end

--- End the process with this exit status, after stopping all apps.
function main.exit(status)
  status = main.final_status(status or 0)
  io.stdout:flush()
  local native = loaded("core.native")
  if native then native.pg_end_without_stuck(status) end
  os.exit(status)
end

local function is_ours(tree)
  return tree:sub(1, #main.root + 1) == main.root .. "/"
end

--- The folders that may hold specs: src, and the families.
function main.spec_folders()
  local folders = {}
  for _, tree in ipairs(trees) do
    if is_ours(tree) then folders[#folders + 1] = tree end
  end
  return folders
end

-- Programs ---------------------------------------------------------------
-- The one place of src/core that looks upwards: programs, found by their names.

local function readable(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- The file of a program in the tree, and its module; nil if there is none. One of ours
-- that has nothing else in its folder has none.
local function program_file(tree, name)
  local path = ("%s/program/%s/%s.lua"):format(tree, name, name)
  if readable(path) then return path, ("program.%s.%s"):format(name, name) end
  path = ("%s/program/%s.lua"):format(tree, name)
  if is_ours(tree) and readable(path) then return path, "program." .. name end
end

--- The program that `name`, that of a file or what the user typed, stands for:
--- "echo" for "echo", "/usr/bin/perigee-echo" and "snabb-echo-1.0".
function main.programname(name)
  return (name:gsub("^.*/", ""):gsub("%-[%d.]+[%-%w]*$", ""):gsub("%-", "_")
    :gsub("^perigee_", ""):gsub("^snabb_", ""))
end

--- The module of the program `name`, if there is one.
function main.find_program(name)
  if name:find("/") then return nil end
  name = main.programname(name)
  if not name:match("^[%w_]+$") then return nil end
  for _, tree in ipairs(trees) do
    local _, module = program_file(tree, name)
    if module then return module end
  end
end

-- As the file says it, which is not run: all programs together load a thousand modules.
-- A file that only returns another program has that one's.
local function summary_of(tree, name)
  if is_ours(tree) then
    local file = assert(io.open((program_file(tree, name))))
    local text = file:read("*a")
    file:close()
    local other = text:match('\nreturn require%("program%.([%w_]+)')
    if other then return summary_of(tree, other) end
    local summary = text:match('{summary = "([^"]+)"')
    if summary then return summary end
  end
  return "(in " .. tree .. ")"
end

--- The names of the programs there are, sorted, and the tree of each by its name.
function main.program_names()
  local dirent = require("posix.dirent")
  local tree_of, names = {}, {}
  for _, tree in ipairs(trees) do
    local ok, entries = pcall(dirent.dir, tree .. "/program")
    for _, name in ipairs(ok and entries or {}) do
      name = name:gsub("%.lua$", "")
      if not tree_of[name] and program_file(tree, name) then
        tree_of[name] = tree
        names[#names + 1] = name
      end
    end
  end
  table.sort(names)
  return names, tree_of
end

--- The programs there are: a sorted list of {name, summary}.
function main.programs()
  local names, tree_of = main.program_names()
  local list = {}
  for i, name in ipairs(names) do
    list[i] = {name = name, summary = summary_of(tree_of[name], name)}
  end
  return list
end

-- A field of a program's module; the fields of Snabb's modules may be globals.
local function own(program, field)
  return type(program) == "table" and rawget(program, field) or nil
end

-- `--cpus LIST` among a program's own arguments, unless it has such an option itself.
local function take_cpus(program, args)
  local placement = require("core.cpus.placement")
  for i, word in ipairs(own(program, "own_cpus") and {} or args) do
    local value = word:match("^%-%-cpus=(.*)$")
    if word == "--cpus" or value then
      table.remove(args, i)
      value = value or table.remove(args, i)
      if not value then failure.usage("option '--cpus' needs a value") end
      placement.use(value)
      break
    end
  end
  placement.copies(own(program, "replicable"))
  local why = placement.wanted() and own(program, "one_cpu")
  if why then
    failure.usage("%s runs on one CPU, so it takes no --cpus: %s", main.program_name,
      why)
  end
end

--- Why a program that runs no graph can't keep files from itself: a refusal of
--- --sandbox, which sets this; or nil.
main.sandboxed = false

local function check_sandbox(program)
  local why = main.sandboxed and own(program, "no_sandbox")
  if why then failure.usage("%s takes no --sandbox: %s", main.program_name, why) end
end

local hint = function () return "" end

--- Let f(name) say which program may be meant by a name that is none's.
function main.hint_by(f) hint = f end

--- Make this Lua state ready for programs, once.
function main.prepare()
  local once = prepare
  prepare = nil
  if once then once() end
end

--- Tell other processes (lib.observe.process) what this one runs: `text`, in its
--- directory in shared memory, which the engine has made. What is told first counts:
--- programs may launch others.
function main.publish(text)
  if published then return end
  published = true
  local path = require("core.shm").path("program")
  local file = io.open(path, "w")
  if file then
    require("core.shm.tree").protect(path)
    file:write(text, "\n")
    file:close()
  end
end

--- Run the program `name` with its arguments, a list of strings. Its module may have a
--- function `title` from the arguments to what `perigee ps` is to call it.
function main.launch(name, args)
  local module = main.find_program(name)
  if not module then
    failure.usage("there is no program '%s'%s; `perigee` lists the programs", name,
      hint(main.programname(name)))
  end
  main.prepare()
  main.program_name = name
  main.parameters = args
  local program = require(module)
  take_cpus(program, args)
  check_sandbox(program)
  local title = own(program, "title")
  main.publish(title and title(args) or main.programname(name))
  if not program.run then
    failure.usage("%s has no run() function", module:gsub("%.", "/") .. ".lua")
  end
  program.run(args)
end

return main
