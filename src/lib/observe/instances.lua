-- SPDX-License-Identifier: Apache-2.0
-- The running processes that have a directory in shared memory: Perigee's and Snabb's.
-- Both keep <root>/<pid>, and names as links <root>/by-name/<name>. Those of other pid
-- namespaces (core.shm.process_folders) are seen, but /proc doesn't report them here.

local failure = require("core.failure")
local folders = require("core.shm.process_folders")
local owner = require("core.shm.owner")
local shm = require("core.shm")
local objects = require("lib.observe.objects")
local process = require("lib.observe.process")
local shown = require("lib.replica.shown")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

local instances = {}

local SYSTEM_ROOT = "/var/run/snabb" -- Snabb's, also where Perigee's is elsewhere

-- Where processes may have their directories, each place once. SNABB_SHM_ROOT says
-- that there is one.
local function default_roots()
  local roots, seen = {}, {}
  local chosen = (os.getenv("SNABB_SHM_ROOT") or "") ~= ""
  for _, root in ipairs(chosen and {shm.root} or {shm.root, SYSTEM_ROOT}) do
    local real = stdlib.realpath(root)
    if real and not seen[real] then
      seen[real] = true
      roots[#roots + 1] = real
    end
  end
  return roots
end

-- The name of each process's directory that has a name -> that.
local function names_in(root)
  local names = {}
  for _, name in ipairs(objects.entries(root .. "/by-name")) do
    local folder = folders.led_to(root .. "/by-name/" .. name)
    if folder then names[folder] = name end
  end
  return names
end

-- A worker's `group` is a link to its manager's.
local function leader_of(directory)
  local target = unistd.readlink(directory .. "/group") or ""
  return folders.pid_of(target:match("([^/]+)/group/*$") or "")
end

-- Does the process of the directory run, in this pid namespace or another?
local function runs_here(directory, pid, proc)
  return owner.is_near(directory) and process.exists(pid, proc)
    and (owner.of(directory) == nil or not owner.is_gone(directory, pid))
end

local function runs_elsewhere(directory, pid)
  return not owner.is_near(directory) and not owner.is_gone(directory, pid)
end

local function add(list, root, proc)
  local names, own = names_in(root), unistd.getpid()
  for _, entry in ipairs(objects.entries(root)) do
    local pid, directory = folders.pid_of(entry), root .. "/" .. entry
    if pid and runs_elsewhere(directory, pid) then
      table.insert(list.elsewhere, {pid = pid, name = names[entry]})
    elseif pid and pid ~= own and runs_here(directory, pid, proc) then
      local keeps, replication = shown.of(directory)
      list[#list + 1] = {pid = pid, name = names[entry], directory = directory,
        program = process.program(pid, directory, proc), leader = leader_of(directory),
        standby = objects.line(directory .. "/standby") or nil,
        in_charge = objects.line(directory .. "/in-charge") or nil,
        last_good = objects.line(directory .. "/last-good") or nil,
        keeps = keeps, replication = replication}
    end
  end
end

--- The running instances but for this process, in order of their process ids: a list
--- of {pid, name (or nil), program, directory, leader = the pid of the process it
--- works for (or nil), standby = the name (--keep) that it waits to take over (or
--- nil), in_charge = the name that it has taken over (or nil), last_good = why it runs
--- the last good configuration, not the newest one (or nil), keeps = the name under
--- which it keeps its state, or replicates (or nil), replication =
--- lib.replica.shown.of_name of that}. Its field `elsewhere` lists those of other pid
--- namespaces: {pid = there, name (or nil)}. `roots` and `proc` are for tests.
function instances.list(roots, proc)
  local list = {elsewhere = {}}
  for _, root in ipairs(roots or default_roots()) do add(list, root, proc) end
  table.sort(list, function (a, b) return a.pid < b.pid end)
  return list
end

-- "run" and "graph.lua" both mean a process that runs "run graph.lua".
local function runs(instance, text)
  local program = instance.program
  return text == program or text == program:match("^%S+")
    or text == program:match("^run (.*)$")
end

--- The one of the `list` that `text` means: its process id, its name, or the program
--- it runs, if only one runs it. Raises a failure if there is none, or if there are
--- several of the program.
function instances.find(list, text)
  local running = {}
  for _, instance in ipairs(list) do
    if tonumber(text) == instance.pid or text == instance.name then
      return instance
    elseif runs(instance, text) then
      running[#running + 1] = instance
    end
  end
  if #running == 1 then return running[1] end
  if #running > 1 then
    local pids = {}
    for i, instance in ipairs(running) do pids[i] = tostring(instance.pid) end
    failure.usage("'%s' runs %d times; give one of the process ids %s", text, #running,
      table.concat(pids, ", "))
  end
  for _, instance in ipairs(list.elsewhere or {}) do
    if tonumber(text) == instance.pid or text == instance.name then
      failure.usage("'%s' runs in another pid namespace, such as a container's: look "
        .. "into it from there", text)
    end
  end
  failure.usage("there is no running instance '%s'; `perigee ps` lists those there are",
    text)
end

return instances
