-- SPDX-License-Identifier: Apache-2.0
-- Which system calls a process may no longer make, by libseccomp's filter for all its
-- threads (seccomp(2)). It names what is refused: what starts programs, leaves the
-- sandbox, looks into other processes or changes the machine. Ports' drivers need too
-- many others for a list of what is allowed.

local errno = require("posix.errno")
local ffi = require("ffi")
local unistd = require("posix.unistd")

ffi.cdef [[
  struct scmp_arg_cmp { unsigned arg; int op; uint64_t a, b; };
  void *seccomp_init(uint32_t action);
  void seccomp_release(void *filter);
  int seccomp_attr_set(void *filter, int attribute, uint32_t value);
  int seccomp_syscall_resolve_name(const char *name);
  int seccomp_rule_add_array(void *filter, uint32_t action, int call, unsigned n,
                             const struct scmp_arg_cmp *arguments);
  int seccomp_load(const void *filter);
]]

local system_calls = {}

-- <seccomp.h>
local ALLOW, ERRNO = 0x7fff0000, 0x00050000
local ALL_THREADS, SPECULATION, OPTIMIZE = 4, 7, 8 -- SCMP_FLTATR_CTL_TSYNC, _SSB
local BINARY_TREE = 2
local NOT_EQUAL, EQUAL, MASKED_EQUAL = 1, 4, 7
local LOW_WORD = 0xffffffff

local AF_UNIX, SOCK_STREAM, SOCK_SEQPACKET, KINDS = 1, 1, 5, 0xf

-- Refused whatever the arguments are.
local REFUSED = [[
  execve execveat
  unshare setns ptrace process_vm_readv process_vm_writev process_madvise kcmp
  pidfd_getfd perf_event_open userfaultfd
  io_uring_setup io_uring_enter io_uring_register
  mount umount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen
  fsconfig fsmount fspick mount_setattr
  open_by_handle_at name_to_handle_at fanotify_init mknod mknodat
  setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr
  removexattrat
  init_module finit_module delete_module kexec_load kexec_file_load reboot
  swapon swapoff acct quotactl quotactl_fd sethostname setdomainname vhangup syslog
  settimeofday clock_settime clock_adjtime adjtimex stime
  iopl ioperm modify_ldt vm86 vm86old uselib
  add_key request_key keyctl
  shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
  mq_open mq_unlink
]]

-- What writes into a terminal as if its user had typed it: the shell would run that.
local TYPES = {0x5412, 0x541c} -- TIOCSTI, TIOCLINUX

-- Namespaces' flags of clone(2). Of clone3(2), whose flags a filter doesn't see, libc
-- does without where it isn't there.
local NAMESPACES = {0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000,
                    0x40000000}

-- Which argument has the mode, the user, of those that have one.
local MODE = {chmod = 1, fchmod = 1, fchmodat = 2, fchmodat2 = 2, creat = 1, open = 2,
              openat = 3}
local USER = {chown = 1, lchown = 1, fchown = 1, fchownat = 2}
local AS_ANOTHER = {tonumber("4000", 8), tonumber("2000", 8)} -- S_ISUID, S_ISGID

local Filter = {}
Filter.__index = Filter

-- Answer that call with the error, if its arguments compare so: {argument, op, a, b}.
function Filter:refuse(name, number, ...)
  local call = self.library.seccomp_syscall_resolve_name(name)
  if call == -1 then return end -- this CPU, or this libseccomp, has none
  local n = select("#", ...)
  local status = self.library.seccomp_rule_add_array(self.filter, ERRNO + number, call,
    n, ffi.new("struct scmp_arg_cmp[?]", n, {...}))
  if status ~= 0 and not self.problem then
    self.problem = ("%s: %s"):format(name, (errno.errno(-status)))
  end
end

local function refuse_all(filter, needs)
  local eperm = errno.EPERM
  for name in REFUSED:gmatch("%S+") do filter:refuse(name, eperm) end
  if not needs.bpf then filter:refuse("bpf", eperm) end
  if not needs.unix_sockets then
    -- libc asks for interfaces by one of datagrams.
    for _, kind in ipairs{SOCK_STREAM, SOCK_SEQPACKET} do
      filter:refuse("socket", eperm, {0, EQUAL, AF_UNIX},
        {1, MASKED_EQUAL, KINDS, kind})
    end
  end
  for _, request in ipairs(TYPES) do
    filter:refuse("ioctl", eperm, {1, MASKED_EQUAL, LOW_WORD, request})
  end
  filter:refuse("prlimit64", eperm, {0, NOT_EQUAL, 0}) -- of another process
  filter:refuse("clone3", errno.ENOSYS)
  for _, flag in ipairs(NAMESPACES) do
    filter:refuse("clone", eperm, {0, MASKED_EQUAL, flag, flag})
  end
  for name, argument in pairs(MODE) do
    for _, bit in ipairs(AS_ANOTHER) do
      filter:refuse(name, eperm, {argument, MASKED_EQUAL, bit, bit})
    end
  end
  for name, argument in pairs(USER) do
    filter:refuse(name, eperm, {argument, NOT_EQUAL, unistd.geteuid()})
  end
end

--- libseccomp, or nil.
function system_calls.library()
  local ok, library = pcall(ffi.load, "libseccomp.so.2")
  return ok and library or nil
end

--- Refuse such calls to all threads of this process from now on. `needs` = {bpf = may
--- bpf(2) be called?, unix_sockets = may Unix sockets connect?}. True, or nil and what
--- is wrong.
function system_calls.refuse(needs)
  local library = system_calls.library()
  local handle = library.seccomp_init(ALLOW)
  if handle == nil then return nil, "no memory for a filter" end
  local filter = setmetatable({library = library, filter = handle}, Filter)
  library.seccomp_attr_set(handle, ALL_THREADS, 1)
  library.seccomp_attr_set(handle, SPECULATION, 1) -- else Linux < 5.16 slows all down
  library.seccomp_attr_set(handle, OPTIMIZE, BINARY_TREE)
  refuse_all(filter, needs)
  local status = filter.problem and 0 or library.seccomp_load(handle)
  library.seccomp_release(handle)
  if status ~= 0 then return nil, (errno.errno(-status)) end
  return filter.problem == nil or nil, filter.problem
end

return system_calls
