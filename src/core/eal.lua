-- SPDX-License-Identifier: Apache-2.0
-- Starting DPDK's EAL, with arguments that fit where it runs: hugepages where
-- enough are free, CPUs of the process's own affinity, nothing on disk that
-- another process could meet. It starts with the first packet or port.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local errno = require("posix.errno")
local file_lock = require("core.lib.file_lock")
local limits = require("core.lib.limits")
local log = require("core.lib.log")
local resource = require("posix.sys.resource")
local run_folder = require("core.run_folder")
local unistd = require("posix.unistd")

local eal = {}

local passed = {} -- more arguments

--- Start EAL with the words of `text` as further arguments (the command line's --eal).
function eal.pass(text)
  for word in text:gmatch("%S+") do passed[#passed + 1] = word end
end

local needs_physical = true -- may a card ask for physical addresses?

--- Let DPDK do with virtual addresses, unless --eal says otherwise: who has none of
--- root's rights can't ask for the physical ones of memory that is added (pagemap in
--- proc(5)), and DPDK adds none without (eal_memalloc.c, alloc_seg()).
function eal.use_virtual_addresses() needs_physical = false end

local ENOUGH_HUGE_MB = 128

-- Address space: of it only what is touched is used. But DPDK keeps 48 bytes a page of
-- 4 KB for it (struct rte_memseg): 12 MB for each GB.
local plain_memory_mb = 832

--- Where there are no hugepages, let DPDK use so many MB at least. To be called before
--- it starts.
function eal.need_plain_memory(mb) plain_memory_mb = math.max(plain_memory_mb, mb) end

local function read_line(path)
  local file = io.open(path)
  if not file then return nil end
  local line = file:read("*l")
  file:close()
  return line
end

--- Free memory in hugepages of 2 MB and 1 GB that this process may use, in MB.
function eal.free_huge_mb()
  local mb = 0
  for _, size_kb in ipairs{2048, 1048576} do
    local free = read_line(
      ("/sys/kernel/mm/hugepages/hugepages-%dkB/free_hugepages"):format(size_kb))
    local allowed = limits.hugepages(size_kb) or math.huge
    mb = mb + math.min((tonumber(free) or 0) * size_kb / 1024, allowed / 2 ^ 20)
  end
  return mb
end

--- Can so many MB of hugepages be had? Those that are free may be promised to others.
function eal.huge_can_be_had(mb) return C.pg_hugepages_can_be_had(mb * 2 ^ 20) end

-- The path of a hugetlbfs that can't be entered, and why; nil if there is none. DPDK
-- doesn't start beside one.
local function closed_hugetlbfs()
  for line in io.lines("/proc/self/mounts") do
    local path, kind = line:match("^%S+ (%S+) (%S+)")
    path = path:gsub("\\(%d%d%d)", function (octal)
      return string.char(tonumber(octal, 8))
    end)
    if kind == "hugetlbfs" and unistd.access(path, "rwx") ~= 0 then
      local _, _, code = unistd.access(path, "f")
      return path, code == errno.ENOENT and "hidden by another mount"
        or "closed to this user"
    end
  end
end

-- What this process may use.
local function total_memory_mb()
  local kb = tonumber(read_line("/proc/meminfo"):match("MemTotal:%s*(%d+)"))
  return math.floor(math.min(kb / 1024, (limits.memory() or math.huge) / 2 ^ 20))
end

-- The limit (getrlimit(2); below 0: none) that keeps hugepages from this process,
-- or nil: DPDK reserves addresses for all there may ever be (512 GB), and has files as
-- large as what it uses.
local function limit_on_hugepages()
  local least = {RLIMIT_AS = 2 ^ 20, RLIMIT_FSIZE = total_memory_mb()}
  for name, mb in pairs(least) do
    local most = resource.getrlimit(resource[name]).rlim_cur
    if most >= 0 and most < mb * 2 ^ 20 then return name end -- below 0: none
  end
end

-- Why hugepages that are there can't be used; nil: they can, or there are none.
local function why_not_huge(free_mb)
  local limit = free_mb > 0 and limit_on_hugepages()
  if limit then return ("%s keeps hugepages from this process"):format(limit) end
  local closed, how = closed_hugetlbfs()
  if closed then return ("the hugetlbfs at %s is %s"):format(closed, how) end
  local reserved = tonumber(read_line("/proc/sys/vm/nr_hugepages")) or 0
  if reserved > 0 then
    return ("%d MB of hugepages can't be had (%d MB are free)"):format(ENOUGH_HUGE_MB,
      free_mb)
  end
end

local function can_use_hugepages()
  local free = eal.free_huge_mb()
  local enough = free >= ENOUGH_HUGE_MB and not closed_hugetlbfs()
    and eal.huge_can_be_had(ENOUGH_HUGE_MB) and not limit_on_hugepages()
  local why = not enough and why_not_huge(free)
  if why then
    log.detail("%s, so plain memory is used", why)
  end
  return enough
end

-- Of processes that start at once each would find enough hugepages free, and then too
-- few: one looks and takes at a time, holding a lock on the folder that tells how many
-- there are. One that stands still meanwhile isn't waited for for ever.
local HUGEPAGES = "/sys/kernel/mm/hugepages"
local PATIENCE_S = 10

local alone = false

--- Call f(), which takes memory for the first time, while no other process does.
function eal.alone(f)
  if alone then return f() end
  local fd = eal.free_huge_mb() > 0 and file_lock.take(HUGEPAGES, PATIENCE_S)
  alone = true
  local ok, err = pcall(f)
  alone = false
  if fd then unistd.close(fd) end
  if not ok then error(err, 0) end
end

--- The CPUs this process may use, as the kernel writes them ("0-3,8").
function eal.cpus()
  for line in io.lines("/proc/self/status") do
    local list = line:match("^Cpus_allowed_list:%s*(%S+)")
    if list then return list end
  end
  return "0"
end

--- The arguments EAL is started with; `user` may override any of them.
function eal.plan(user)
  local given = " " .. table.concat(user, " ") .. " "
  local function has(...)
    for _, option in ipairs{...} do
      local long = option:match("^%-%-")
      local pattern = " " .. option:gsub("%-", "%%-") .. (long and "[ =]" or "")
      if given:find(pattern) then return true end -- "-l0" is "-l 0"
    end
    return false
  end
  local args = {"perigee", "--no-telemetry"}
  local function add(...)
    for _, arg in ipairs{...} do args[#args + 1] = arg end
  end
  -- One lcore that may run on every CPU of the affinity: EAL pins otherwise.
  if not has("-l", "-c", "--lcores") then
    add("--lcores", "0@(" .. eal.cpus() .. ")")
  end
  if not has("--log-level") then
    -- net_tap calls it an error that the kernel lacks what rte_flow would need.
    add("--log-level", "error", "--log-level", "pmd.net.tap:critical")
  end
  local plain = has("--no-huge")
  if not has("--no-huge", "--in-memory", "--huge-dir", "--legacy-mem", "-m",
             "--socket-mem") then
    plain = not can_use_hugepages()
    add(unpack(plain and {"--no-huge"} or {"--in-memory", "--single-file-segments"}))
  end
  if not (needs_physical or has("--iova-mode")) then add("--iova-mode", "va") end
  if plain and not has("-m") then
    add("-m", tostring(math.min(plain_memory_mb, math.floor(total_memory_mb() / 2))))
  end
  if not has("--file-prefix", "--in-memory") then
    add("--file-prefix", run_folder.name())
  end
  if not has("--no-shconf", "--in-memory") then add("--no-shconf") end
  -- PCI devices are opened by name, each when a port asks for it.
  if not has("-a", "-b", "--no-pci") then add("-a", "0000:00:00.0") end
  add(unpack(user))
  return args
end

local function has_word(words, wanted)
  for _, word in ipairs(words) do
    if word == wanted then return true end
  end
  return false
end

local broken = false -- EAL failed to start, and tries only once a process

local function fail(args)
  local hint = ""
  if not table.concat(args, " "):find("--no-huge", 1, true) then
    hint = "; if its hugepages were taken meanwhile, run it again, or with "
      .. "--eal --no-huge"
  end
  broken = ("DPDK doesn't start with '%s': %s%s"):format(
    table.concat(args, " ", 2), ffi.string(C.pg_error()), hint)
  failure.raise("%s", broken)
end

-- DPDK says of each in lines of its own that something wasn't found, or goes on
-- with devices missing.
local CPUS = "/sys/devices/system/cpu"
local FILES, SPARE_MB = 10, 32 -- that it opens; beyond the memory that it is to have

-- How many more files this process may open, of `wanted`.
local function free_descriptors(wanted)
  local open = {}
  for i = 1, wanted do open[i] = unistd.dup(0) end
  for _, fd in ipairs(open) do unistd.close(fd) end
  return #open
end

-- Refuse to start where DPDK can't, for a reason that is known.
local function check_surroundings(args)
  if not unistd.access(CPUS, "x") then
    failure.raise("DPDK finds CPUs in %s, which can't be read; /sys has to be mounted "
      .. "(mount -t sysfs sysfs /sys)", CPUS)
  end
  local free = free_descriptors(FILES)
  if free < FILES then
    failure.raise("DPDK opens %d files, and this process may open %d more; raise the "
      .. "limit (ulimit -n)", FILES, free)
  end
  if not C.pg_thread_can_be_had() then
    failure.raise("DPDK starts threads, and this user may start no more; raise the "
      .. "limit (ulimit -u, or of a container)")
  end
  local mb = tonumber((" " .. table.concat(args, " ")):match(" %-m ?(%d+)"))
  if mb and not C.pg_addresses_can_be_had((mb + SPARE_MB) * 2 ^ 20) then
    failure.raise("DPDK needs %d MB of address space, which this process can't have; "
      .. "raise the limit (ulimit -v)", mb + SPARE_MB)
  end
end

local function start()
  local args = eal.plan(passed)
  check_surroundings(args)
  run_folder.prepare(has_word(args, run_folder.name()))
  local argv = ffi.new("char *[?]", #args + 1)
  local anchors = {} -- EAL keeps pointers into argv for as long as it runs
  for i, arg in ipairs(args) do
    anchors[i] = ffi.new("char[?]", #arg + 1, arg)
    argv[i - 1] = anchors[i]
  end
  eal.anchors = {argv, anchors}
  if C.pg_eal_start(#args, argv) < 0 then fail(args) end
end

--- Start EAL unless it runs. Raises a failure with DPDK's reason.
function eal.start()
  if C.pg_eal_started() then return end
  if broken then failure.raise("%s", broken) end
  eal.alone(start)
end

return eal
