-- SPDX-License-Identifier: Apache-2.0
-- The process and what it was started with: options, environment, modules, privileges.

local ffi = require("ffi")
local unistd = require("posix.unistd")
local failure = require("core.lib.failure")
local getopt = require("core.lib.getopt")

local C = ffi.C
ffi.cdef "int abs(int n);"

local process = {}

--- Read the options at the start of `args`, as core.lib.getopt's get_ordered_opts
--- understands `short` ("hD:") and `long` ({help = "h", duration = "D"}), and call
--- handlers[name](value) for each, in order. Returns the other arguments.
function process.dogetopt(args, handlers, short, long)
  local names, first, option_values = getopt.get_ordered_opts(args, short, long or {})
  for i, name in ipairs(names) do
    local handler = handlers[name]
      or error(("option '%s' has no handler"):format(name), 2)
    handler(option_values[i])
  end
  local rest = {}
  for i = first, #args do rest[#rest + 1] = args[i] end
  return rest
end

--- Could `name` be required? It is found, but not run.
function process.have_module(name)
  if package.loaded[name] then return true end
  for _, searcher in ipairs(package.loaders) do
    local loader = searcher(name)
    if type(loader) == "function" then
      package.preload[name] = loader
      return true
    end
  end
  return false
end

--- Raise a failure, `message` if given, unless this process runs as root.
function process.root_check(message)
  if unistd.geteuid() ~= 0 then
    failure.raise("%s", message or "this needs root: run it with sudo")
  end
end

--- The environment variable's value, or nil if it is unset or empty.
function process.getenv(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

--- Replace this process by the program `path`, with this environment and `argv`
--- (whose first element is the name it is given). Returns only if that fails: nil, the
--- reason, errno.
function process.execv(path, argv)
  argv = argv or {}
  local arguments = {[0] = argv[1] or path}
  for i = 2, #argv do arguments[i - 1] = argv[i] end
  return unistd.exec(path, arguments)
end

--- Exit statuses of a shell that can't run a command, and that finds none of that name
--- (POSIX.1-2017, XCU 2.8.2).
process.NOT_RUN, process.NO_COMMAND = 126, 127

-- The exit status in a status as waitpid() gives it; nil: a signal ended the process.
local function exit_status(status)
  return status % 128 == 0 and math.floor(status / 256) or nil
end

--- Does the shell's command end with exit status 0? And with which it ends; nil: a
--- signal ended it. (os.execute tells that in another way where programs expect Lua
--- 5.2's.)
function process.succeeds(command)
  local status, _, code = os.execute(command)
  if type(status) == "number" then code = exit_status(status) end
  return status == 0 or status == true, code
end

--- Close what io.popen() gave: does its command end with exit status 0? And with which
--- it ends; nil: a signal ended it.
function process.close(pipe)
  C.pg_closed_status()
  local ok, how, code = pipe:close()
  local status = C.pg_closed_status()
  if status == -1 then return ok == true, how == "exit" and code or nil end
  return status == 0, exit_status(status)
end

--- Keep LuaJIT from moving loads and stores across this call (any C call does that).
function process.compiler_barrier()
  C.abs(0)
end

return require("core.lib.arguments").guard(process, "lib", {
  have_module = "string", getenv = "string", execv = "string, table?",
  dogetopt = "table, table, string, table?",
})
