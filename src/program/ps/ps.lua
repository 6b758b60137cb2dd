-- SPDX-License-Identifier: Apache-2.0
-- `perigee ps`: the running instances of Perigee and Snabb.

local cjson = require("cjson")
local cli = require("lib.cli")
local client = require("lib.control.client")
local config_client = require("lib.leader.client")
local engine = require("core.app")
local main = require("core.main")
local instances = require("lib.observe.instances")
local objects = require("lib.observe.objects")
local process = require("lib.observe.process")
local quantity = require("lib.quantity")
local shm = require("core.shm")
local shown = require("lib.replica.shown")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local M = {summary = "list the running instances of Perigee and Snabb"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

-- Numbered in the order in which they began (lib.observe.tasks).
local function task_names(directory)
  local names = {}
  for i, name in ipairs(objects.entries(directory .. "/tasks")) do
    names[i] = shm.name_of_part(name)
  end
  table.sort(names, function (a, b)
    return (tonumber(a:match("^%d+")) or 0) < (tonumber(b:match("^%d+")) or 0)
  end)
  return names[1] and names or nil
end

--- The `list` (lib.observe.instances) with the times of each process: `cpu` and
--- `uptime`, in seconds, `load`, CPU time a second since it began, and `tasks`, the
--- names of those it has, or nil. Those that have ended meanwhile are left out.
function M.with_times(list, proc)
  local result = {}
  for _, instance in ipairs(list) do
    local cpu, uptime = process.times(instance.pid, proc)
    if cpu then
      instance.cpu, instance.uptime = cpu, uptime
      instance.load = uptime > 0 and cpu / uptime or 0
      instance.control = client.path(instance)
      instance.tasks = task_names(instance.directory)
      result[#result + 1] = instance
    end
  end
  return result
end

local FORMAT = "%%-8s %%-%ds %%-20s %%6s %%8s  %%s\n"
local NARROW, WIDE = 16, 99 -- the column of programs (string.format takes no wider one)

--- The list as a table for people; workers say whose they are, and tasks stand below
--- their process.
function M.text(list)
  local width = NARROW
  for _, instance in ipairs(list) do width = math.max(width, #instance.program) end
  local row = FORMAT:format(math.min(width, WIDE))
  local lines = {row:format("PID", "PROGRAM", "NAME", "CPU", "UPTIME", "CONTROL")}
  for _, instance in ipairs(list) do
    local name = instance.standby and "(standby of " .. instance.standby .. ")"
      or instance.name
      or instance.leader and "(worker of " .. instance.leader .. ")" or "-"
    lines[#lines + 1] = row:format(instance.pid, instance.program, name,
      ("%.0f%%"):format(100 * instance.load), quantity.duration_text(instance.uptime),
      instance.control or "-")
    if instance.last_good then
      lines[#lines + 1] = ("         runs the last good configuration: %s\n"):format(
        instance.last_good)
    end
    if instance.replication then
      lines[#lines + 1] = ("         replication of %s: %s\n"):format(instance.keeps,
        shown.text(instance.replication))
    end
    for _, task in ipairs(instance.tasks or {}) do
      lines[#lines + 1] = ("         task %s\n"):format(task)
    end
  end
  return table.concat(lines)
end

local PATIENCE_MS = 1000 -- with an instance that is asked for its schema

-- Behind an instance that `snabb config` can ask: a star, and its schema.
local function configured(instance)
  if not stat.stat(instance.directory .. "/config-leader-socket") then return "" end
  local found, connection = pcall(config_client.of, instance)
  if not found then return "" end
  local ok, schema = pcall(connection.native_schema, connection, PATIENCE_MS)
  connection:close()
  return ok and schema and (" * [schema: %s]"):format(schema) or " *"
end

--- The list as Snabb prints it, which scripts read: workers below their managers,
--- and a star behind those that `snabb config` can ask, with their schema.
function M.snabb_text(list)
  local lines = {}
  for i, instance in ipairs(list) do
    local line = instance.leader
      and ("  \\- %d   worker for %d"):format(instance.pid, instance.leader)
      or instance.pid .. (instance.name and "\t[" .. instance.name .. "]" or "")
    lines[i] = line .. configured(instance) .. "\n"
  end
  return table.concat(lines)
end

local function json(list)
  local texts = {}
  for i, instance in ipairs(list) do texts[i] = cjson.encode(instance) end
  return "[" .. table.concat(texts, ",") .. "]\n"
end

-- What programs of Snabb ask ps. --------------------------------------------

--- The process that `pid` is a worker of, or nil.
function M.get_manager_pid(pid)
  local group = unistd.readlink(shm.path(("/%d/group"):format(pid)))
  return group and tonumber(group:match("(%d+)/group/*$"))
end

--- Is the process a worker?
function M.is_worker(pid)
  return M.get_manager_pid(pid) ~= nil
end

--- A function from a process id to the name that it has claimed, or nil.
function M.appname_resolver()
  local names = {}
  for name, pid in pairs(engine.enumerate_named_programs()) do names[pid] = name end
  return function (pid) return names[pid] end
end

-- What the table doesn't show.
local function text_of_others(n)
  return n == 0 and "" or ("%d more %s in other pid namespaces (containers): look from "
    .. "there\n"):format(n, n == 1 and "runs" or "run")
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("ps", "List the running instances of Perigee and Snabb on "
    .. "this machine: process id, program, the name it has claimed, CPU time a second "
    .. "and time since it began.")
  parser:flag("--json", "Print JSON.")
  local options = cli.parse(parser, args)
  local found = instances.list()
  local list, others = M.with_times(found), text_of_others(#found.elsewhere)
  if options.json then
    io.write(json(list))
  elseif main.mimics_snabb() then
    io.write(M.snabb_text(list))
  elseif #list == 0 then
    io.write("no instance of Perigee or Snabb is running\n", others)
  else
    io.write(M.text(list), others)
  end
end

return M
