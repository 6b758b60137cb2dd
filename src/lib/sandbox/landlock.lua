-- SPDX-License-Identifier: Apache-2.0
-- Which files a process may still open, by the kernel's Landlock (landlock(7), Linux
-- 5.13): all is refused but what is below the paths of a list. The numbers are of
-- <linux/landlock.h>, which Debian 12 has of an older kernel than may run.

local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

ffi.cdef [[
  struct perigee_landlock_ruleset { uint64_t files, ports, scoped; };
  struct perigee_landlock_beneath { uint64_t files; int32_t folder; }
    __attribute__((packed));
  long perigee_landlock(long number, ...) __asm__("syscall");
]]

local landlock = {}

local CREATE_RULESET, ADD_RULE = 444, 445 -- on all CPUs
local ASK_VERSION, PATH_BENEATH = 1, 1
local O_PATH, O_CLOEXEC = 0x200000, 0x80000 -- of x86 and ARM

local WRITE_FILE, READ_FILE, READ_DIR = 2 ^ 1, 2 ^ 2, 2 ^ 3
local REMOVE_DIR, REMOVE_FILE = 2 ^ 4, 2 ^ 5
local MAKE_DIR, MAKE_REG, MAKE_SOCK = 2 ^ 7, 2 ^ 8, 2 ^ 9
local REFER, TRUNCATE = 2 ^ 13, 2 ^ 14

-- By version: the rights that are known, as a number.
local FIRST, WITH_REFER, WITH_TRUNCATE = 2 ^ 13 - 1, 2 ^ 14 - 1, 2 ^ 15 - 1
local OF_FILES = WRITE_FILE + READ_FILE + TRUNCATE

--- What a path may be opened for.
landlock.RIGHTS = {
  read = READ_FILE + READ_DIR,
  write = WRITE_FILE + READ_FILE + TRUNCATE,
  all = WRITE_FILE + READ_FILE + READ_DIR + REMOVE_DIR + REMOVE_FILE + MAKE_DIR
    + MAKE_REG + MAKE_SOCK + REFER + TRUNCATE,
  remove = REMOVE_FILE + MAKE_SOCK,
  remove_folder = REMOVE_DIR,
}

local function call(number, ...)
  local result = tonumber(ffi.C.perigee_landlock(number, ...))
  if result >= 0 then return result end
  return nil, (errno.errno(ffi.errno()))
end

--- The version of Landlock that the kernel has, from 1 on; or nil and why it has none.
function landlock.version()
  local version = call(CREATE_RULESET, ffi.cast("void *", 0), ffi.cast("size_t", 0),
    ffi.cast("unsigned", ASK_VERSION))
  if version then return version end
  local number = ffi.errno()
  if number == errno.EOPNOTSUPP then return nil, "Landlock is switched off" end
  return nil, number == errno.ENOSYS and "this kernel has no Landlock (Linux 5.13 has)"
    or "Landlock can't be used: " .. errno.errno(number)
end

--- What the version can't refuse, as a list of words; empty for 3 and later.
function landlock.lacks(version)
  if version >= 3 then return {} end
  return {"emptying files that its user may write (truncate(2))"}
end

--- The rights that are refused unless a path has them, in that version.
function landlock.known(version)
  return version >= 3 and WITH_TRUNCATE or version == 2 and WITH_REFER or FIRST
end

-- The rights of `wanted` that are among those of `known`: both are sums of powers of 2.
local function both(wanted, known)
  local sum, bit = 0, 1
  while bit <= known do
    if wanted % (2 * bit) >= bit and known % (2 * bit) >= bit then sum = sum + bit end
    bit = 2 * bit
  end
  return sum
end

local function add_path(ruleset, path, wanted, known)
  local fd = fcntl.open(path, O_PATH + O_CLOEXEC)
  if not fd then return end -- what isn't there can't be opened
  local is_folder = stat.S_ISDIR(stat.stat(path).st_mode) ~= 0
  local rights = both(both(wanted, known), is_folder and known or OF_FILES)
  local rule = ffi.new("struct perigee_landlock_beneath", rights, fd)
  local ok, problem = call(ADD_RULE, ffi.cast("long", ruleset),
    ffi.cast("long", PATH_BENEATH), rule, ffi.cast("long", 0))
  unistd.close(fd)
  return ok or nil, problem and ("%s: %s"):format(path, problem)
end

--- A descriptor of rules for `list`, an array of {PATH, rights = one of RIGHTS}, in
--- that version; or nil and what is wrong. Paths that aren't there are left out.
function landlock.rules(version, list)
  local known = landlock.known(version)
  local ruleset, problem = call(CREATE_RULESET,
    ffi.new("struct perigee_landlock_ruleset", known), ffi.cast("size_t", 8),
    ffi.cast("long", 0))
  if not ruleset then return nil, problem end
  for _, entry in ipairs(list) do
    local _, why = add_path(ruleset, entry[1], entry.rights, known)
    if why then
      unistd.close(ruleset)
      return nil, why
    end
  end
  return ruleset
end

return landlock
