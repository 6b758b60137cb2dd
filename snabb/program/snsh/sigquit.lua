-- SPDX-License-Identifier: Apache-2.0
-- SIGQUIT, read from a descriptor by a timer: what it calls isn't in a signal handler.

local failure = require("core.failure")
local ffi = require("ffi")
local timer = require("core.timer")

ffi.cdef[[
int perigee_sigmask(int how, const uint64_t *set, uint64_t *old)
  __asm__("pthread_sigmask");
int perigee_signalfd(int fd, const uint64_t *set, int flags) __asm__("signalfd");
]]

local SIGQUIT, SIG_BLOCK = 3, 0
local SFD_NONBLOCK, SFD_CLOEXEC = 0x800, 0x80000
local SIGNAL_INFO = 128 -- bytes, of struct signalfd_siginfo
local SET_WORDS = 16 -- of glibc's sigset_t
local EVERY_NS = 1e7

local sigquit = {}

--- Call f() when SIGQUIT has come, between breaths of engine.main.
function sigquit.call(f)
  local set = ffi.new("uint64_t[?]", SET_WORDS)
  set[0] = 2 ^ (SIGQUIT - 1)
  ffi.C.perigee_sigmask(SIG_BLOCK, set, nil)
  local fd = ffi.C.perigee_signalfd(-1, set, SFD_NONBLOCK + SFD_CLOEXEC)
  if fd < 0 then failure.raise("can't wait for SIGQUIT (errno %d)", ffi.errno()) end
  local info = ffi.new("uint8_t[?]", SIGNAL_INFO)
  timer.activate(timer.new("SIGQUIT", function ()
    if ffi.C.read(fd, info, SIGNAL_INFO) == SIGNAL_INFO then f() end
  end, EVERY_NS, "repeating"))
end

return sigquit
