-- SPDX-License-Identifier: Apache-2.0
-- The system calls behind lib.numa. Each returns a true value, or nil and the reason.
-- They act on the calling thread; threads made later inherit what it has.

local ffi = require("ffi")
local errno = require("posix.errno").errno

local C = ffi.C
ffi.cdef [[
  int sched_setaffinity(int pid, size_t size, const void *mask);
  int sched_setscheduler(int pid, int policy, const void *parameters);
  int sched_getcpu(void);
  long syscall(long number, ...);
]]

-- <asm/unistd.h>
local SYSCALLS = {
  x64 = {set_mempolicy = 238, get_mempolicy = 239, migrate_pages = 256},
  arm64 = {set_mempolicy = 237, get_mempolicy = 236, migrate_pages = 238},
}
local numbers = SYSCALLS[ffi.arch] or {}

-- <linux/mempolicy.h>
local POLICIES = {default = 0, preferred = 1, bind = 2, interleave = 3, ["local"] = 4}
local policy_names = {}
for name, mode in pairs(POLICIES) do policy_names[mode] = name end

local SCHED_FIFO = 1 -- <linux/sched.h>
local MAX_CPUS, MAX_NODES = 8192, 1024

local long, int_ptr = ffi.typeof("long"), ffi.typeof("int[1]")

local kernel = {}

local function result(value)
  if value >= 0 then return true end
  return nil, errno(ffi.errno())
end

-- A bit mask of `bits` bits with those of the array `set` set.
local function bit_mask(bits, set)
  local mask = ffi.new("uint8_t[?]", bits / 8)
  for _, n in ipairs(set) do
    if n < 0 or n >= bits or n ~= math.floor(n) then return nil end
    local byte = math.floor(n / 8)
    mask[byte] = bit.bor(mask[byte], bit.lshift(1, n % 8))
  end
  return mask
end

local function call(name, ...)
  if not numbers[name] then return nil, "not known for " .. ffi.arch end
  return result(tonumber(C.syscall(long(numbers[name]), ...)))
end

--- Run only on the CPUs of the array `cpus`.
function kernel.set_affinity(cpus)
  local mask = bit_mask(MAX_CPUS, cpus)
  if not mask then return nil, "no such CPU" end
  return result(C.sched_setaffinity(0, MAX_CPUS / 8, mask))
end

--- Run on any CPU.
function kernel.clear_affinity()
  local mask = ffi.new("uint8_t[?]", MAX_CPUS / 8)
  ffi.fill(mask, MAX_CPUS / 8, 0xff)
  return result(C.sched_setaffinity(0, MAX_CPUS / 8, mask))
end

--- The CPU that this runs on at the moment.
function kernel.current_cpu()
  return C.sched_getcpu()
end

--- Be preempted only by real-time threads of a higher priority than `priority` (1-99).
function kernel.set_fifo(priority)
  return result(C.sched_setscheduler(0, SCHED_FIFO, int_ptr(priority)))
end

-- The kernel takes the number of bits plus one (mm/mempolicy.c, get_nodes).
local MASK_LIMIT = long(MAX_NODES + 1)

--- Allocate memory by the policy ("default", "preferred", "bind"), on `node` if that
--- isn't "default".
function kernel.set_mempolicy(policy, node)
  local mode = POLICIES[policy] or error("no memory policy " .. tostring(policy), 2)
  local mask = bit_mask(MAX_NODES, {node})
  if not mask then return nil, "no such node" end
  return call("set_mempolicy", long(mode), node and mask or nil,
    node and MASK_LIMIT or long(0))
end

--- The name of the memory policy in effect, "other" for one without a name here; nil
--- and the reason if it can't be told.
function kernel.get_mempolicy()
  local mode = int_ptr()
  local ok, reason = call("get_mempolicy", mode, nil, long(0), nil, long(0))
  if not ok then return nil, reason end
  return policy_names[mode[0]] or "other"
end

--- Move this process's pages from the nodes of the array `from` to the node `to`.
function kernel.migrate_pages(from, to)
  return call("migrate_pages", long(0), MASK_LIMIT,
    bit_mask(MAX_NODES, from), bit_mask(MAX_NODES, {to}))
end

return kernel
