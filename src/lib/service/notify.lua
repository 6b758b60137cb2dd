-- SPDX-License-Identifier: Apache-2.0
-- What a process reports to the service manager that started it, by sd_notify(3)'s
-- protocol: a datagram of lines NAME=VALUE to the Unix socket $NOTIFY_SOCKET ("@NAME":
-- an abstract one). Nothing is reported where there is none.

local ffi = require("ffi")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

local notify = {}

ffi.cdef[[
struct notify_address { uint16_t family; char path[108]; }; /* struct sockaddr_un */
int socket(int domain, int type, int protocol);
ssize_t sendto(int fd, const void *text, size_t n, int flags, const void *to,
               uint32_t size);
]]
local AF_UNIX, SOCK_DGRAM, SOCK_CLOEXEC = 1, 2, 0x80000 -- <bits/socket.h>
local MSG_DONTWAIT, MSG_NOSIGNAL = 0x40, 0x4000
local LONGEST_PATH = 107

local path = os.getenv("NOTIFY_SOCKET")
local fd

-- Processes that this one starts are others.
if path then stdlib.setenv("NOTIFY_SOCKET", nil) end

--- Is there somebody to tell?
function notify.wanted() return path ~= nil end

--- Make the socket, where none can be made later (--sandbox).
function notify.prepare()
  fd = fd or path and ffi.C.socket(AF_UNIX, SOCK_DGRAM + SOCK_CLOEXEC, 0)
end

--- Tell it `text`, such as "READY=1\nSTATUS=on 2 CPUs". What can't be told isn't worth
--- failing for; nor waiting for, unless it `matters`.
function notify.tell(text, matters)
  if not path or #path > LONGEST_PATH then return end
  local name = path:gsub("^@", "\0")
  local to = ffi.new("struct notify_address", AF_UNIX, name)
  notify.prepare()
  ffi.C.sendto(fd, text, #text, MSG_NOSIGNAL + (matters and 0 or MSG_DONTWAIT), to,
    2 + #name)
end

--- Every how many seconds WATCHDOG=1 is to be told: half of what the manager waits
--- (sd_watchdog_enabled(3)), or nil.
function notify.period()
  local us, pid = tonumber(os.getenv("WATCHDOG_USEC")), os.getenv("WATCHDOG_PID")
  if not path or not us or us <= 0 then return nil end
  if pid and tonumber(pid) ~= unistd.getpid() then return nil end
  return us / 1e6 / 2
end

return notify
