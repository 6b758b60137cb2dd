-- SPDX-License-Identifier: Apache-2.0
-- The option --sandbox: once packets flow, this process starts no program and opens no
-- file but those that are named here: what the user has it write, its shared memory,
-- huge pages, and to be read Perigee's own tree and the system's libraries. The kernel
-- refuses the rest to all threads (doc/security.md).

local C = require("core.native")
local eal = require("core.eal")
local failure = require("core.failure")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local folders = require("core.shm.process_folders")
local keep = require("net.keep.keep")
local landlock = require("lib.sandbox.landlock")
local log = require("core.lib.log")
local main = require("core.main")
local named = require("lib.sandbox.named")
local notify = require("lib.service.notify")
local opened = require("lib.port.opened")
local outside = require("core.outside.visitors")
local run_folder = require("core.run_folder")
local shm = require("core.shm")
local sysfs = require("lib.hardware.sysfs")
local system_calls = require("lib.sandbox.system_calls")
local this_engine = require("core.this_engine")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local sandbox = {}

local RIGHTS = landlock.RIGHTS
local PERMISSIONS = 438 -- rw-rw-rw-, less the umask

--- Enter the sandbox as soon as packets flow. A usage failure where that can't be.
function sandbox.want()
  if not system_calls.library() then
    failure.usage("--sandbox needs libseccomp: install libseccomp2")
  end
  if named.wanted then return end
  named.wanted, main.sandboxed = true, true
  main.remark_by(sandbox.hint)
  eal.use_virtual_addresses()
  outside.let_in{begun = function () sandbox.enter() end}
end

--- Is this process in it? Then what isn't named can't be opened any more.
function sandbox.entered() return C.pg_sandboxed() end

-- The paths -----------------------------------------------------------------------

local READ = {"/usr", "/lib", "/lib32", "/lib64", "/proc", "/sys", "/dev/urandom",
  "/dev/random", "/dev/zero", "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd",
  "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf",
  "/etc/resolv.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols"}
local WRITE = {"/dev/null", "/dev/tty", "/dev/net/tun"}

local function adder(list)
  return function (path, rights) list[#list + 1] = {path, rights = rights} end
end

-- Where modules are looked for; not the working directory.
local function add_modules(add)
  add(main.root, RIGHTS.read)
  for entry in (package.path .. ";" .. package.cpath):gmatch("[^;]+") do
    local folder = entry:match("^(/[^?]*)/[^/?]*%?")
    if folder then add(folder, RIGHTS.read) end
  end
end

-- This process's, and what several processes share: not other processes'.
local function add_shared_memory(add)
  add(shm.root, RIGHTS.remove_folder)
  if keep.name() then add(keep.folder(keep.name()), RIGHTS.all) end
  add(shm.root .. "/" .. folders.own_name(shm.root), RIGHTS.all)
  for _, name in ipairs(tree.names(shm.root)) do
    if not folders.pid_of(name) then add(shm.root .. "/" .. name, RIGHTS.all) end
  end
end

local function add_run_folders(add)
  local base = run_folder.base()
  add(base .. "/dpdk", RIGHTS.remove_folder)
  add(("%s/dpdk/%s"):format(base, run_folder.name()), RIGHTS.all)
  add(base .. "/perigee-brought-up", RIGHTS.all)
end

local function add_huge_pages(add)
  for line in io.lines("/proc/self/mounts") do
    local path, kind = line:match("^%S+ (%S+) (%S+)")
    if kind == "hugetlbfs" then add(path, RIGHTS.all) end
  end
end

-- The numbers of the sockets that this process has.
local function own_sockets()
  local own = {}
  for _, fd in ipairs(tree.names("/proc/self/fd")) do
    local target = sysfs.readlink("/proc/self/fd/" .. fd) or ""
    local number = target:match("^socket:%[(%d+)")
    if number then own[number] = true end
  end
  return own
end

-- A Unix socket is removed at the end, which a folder allows or doesn't.
local function add_sockets(add)
  local own = own_sockets()
  for line in io.lines("/proc/net/unix") do
    local number, path = line:match("^%S+ %S+ %S+ %S+ %S+ %S+ +(%d+) (/.*)/[^/]*$")
    if number and own[number] then add(path, RIGHTS.remove) end
  end
end

-- What isn't there yet is made: rules are for files that are.
local function add_outputs(add)
  for _, path in ipairs(named.outputs) do
    local fd, problem = fcntl.open(path, fcntl.O_WRONLY + fcntl.O_CREAT, PERMISSIONS)
    if not fd then failure.raise("can't write %s", problem) end
    unistd.close(fd)
    add(path, RIGHTS.write)
  end
end

--- What may be opened from now on: a list for landlock.rules.
function sandbox.paths()
  local list = {}
  local add = adder(list)
  for _, path in ipairs(READ) do add(path, RIGHTS.read) end
  for _, path in ipairs(WRITE) do add(path, RIGHTS.write) end
  for _, path in ipairs(named.paths) do add(path, RIGHTS.all) end
  add_modules(add)
  add_shared_memory(add)
  add_run_folders(add)
  add_huge_pages(add)
  add_sockets(add)
  add_outputs(add)
  return list
end

-- Entering ------------------------------------------------------------------------

-- Does the port connect to its socket, again once the other end has gone?
local function connects(port)
  return port.role == "client" or port.client == 1 or port.server == 0
end

-- What makes sockets later; and an XDP program is loaded anew for an interface that
-- comes again.
local function needs_of_ports()
  local needs = {}
  for port in opened.each() do
    if port.socket and connects(port) then needs.unix_sockets = true end
    if port.driver == "net_af_xdp" then needs.bpf = true end
  end
  return needs
end

-- The kernel's rules, or -1 where it has none: that is told.
local function rules()
  local version, why = landlock.version()
  if not version then
    log.warning("--sandbox: %s, so files aren't kept from this process; it only can't "
      .. "start programs, nor change the system", why)
    return -1
  end
  for _, what in ipairs(landlock.lacks(version)) do
    log.warning("--sandbox: this kernel's Landlock (version %d; 3 does) doesn't keep "
      .. "this process from %s", version, what)
  end
  local fd, problem = landlock.rules(version, sandbox.paths())
  if not fd then failure.raise("--sandbox: no rules for files: %s", problem) end
  return fd
end

--- Enter the sandbox now, if it is wanted and this process isn't in it; the main thread
--- does it for all. Raises a failure if that can't be.
function sandbox.enter()
  if not named.wanted or sandbox.entered() or this_engine.worker() then return end
  eal.start() -- it couldn't later
  notify.prepare()
  local fd = rules()
  local status = C.pg_sandbox_files(fd)
  if fd >= 0 then unistd.close(fd) end
  if status ~= 0 then
    failure.raise("--sandbox: files can't be kept from all threads: %s",
      ffi.string(C.pg_error()))
  end
  local ok, problem = system_calls.refuse(needs_of_ports())
  if not ok then
    failure.raise("--sandbox: no filter of system calls: %s", problem)
  end
  C.pg_note_sandbox()
end

--- The program has come to its end: was it ever in the sandbox that was wanted?
function sandbox.ended()
  if named.wanted and not sandbox.entered() then
    log.warning("--sandbox: no packets flowed, so nothing was kept from this process")
  end
end

local HINT = "; --sandbox lets this process open only files that are named before: see "
  .. "--sandbox-path in `perigee --help`"

--- What to say behind the sentence `text`, if it may be the sandbox that has refused
--- something; else "".
function sandbox.hint(text)
  if not sandbox.entered() or text:find("--sandbox", 1, true) then return "" end
  local refused = text:find("Permission denied", 1, true)
    or text:find("Operation not permitted", 1, true)
  return refused and HINT or ""
end

--- f() in the sandbox's absence; in it a sentence says why `what` can't be.
function sandbox.unless_entered(what, f)
  return function ()
    if not sandbox.entered() then return f() end
    log.warning("%s: nothing is read again, as --sandbox lets no more files be opened; "
      .. "start the program again", what)
  end
end

return sandbox
