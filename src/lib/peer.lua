-- SPDX-License-Identifier: Apache-2.0
-- Whose process is at the other end of a TCP connection on this machine: the kernel
-- says it, of one connection (src/native/dpdk/peer.c), or of all (proc(5),
-- /proc/net/tcp). An end without an inode has been closed. The kernel calls it root's,
-- whoever had it.

local C = require("core.native")
local sysfs = require("lib.hardware.sysfs")
local unistd = require("posix.unistd")

local peer = {}

local ROOT = 0

-- "127.0.0.1" and a port, as the kernel writes them: each byte of the address in the
-- order of this machine's words, little-endian.
local function in_hex(address, port)
  local a, b, c, d = address:match("^(%d+)%.(%d+)%.(%d+)%.(%d+)$")
  if not a then return nil end
  return ("%02X%02X%02X%02X:%04X"):format(d, c, b, a, port)
end

-- The same from the table of all connections.
local function listed(address, table_path)
  local wanted = in_hex(address.addr or "", address.port or 0)
  local file = wanted and io.open(table_path or sysfs.roots.proc .. "/net/tcp")
  if not file then return nil end
  for line in file:lines() do
    local at, uid, inode = line:match(
      "^%s*%d+: (%x+:%x+) %x+:%x+ %x+ %S+ %S+ %x+%s+(%d+)%s+%d+%s+(%d+)")
    if at == wanted then
      file:close()
      return inode ~= "0" and tonumber(uid) or nil
    end
  end
  file:close()
end

--- The user id of the process whose end of a connection is {addr = an IPv4 address in
--- decimals, port =, fd = this end, if known}; nil if there is none on this machine,
--- or it has closed the connection. `table_path` is for tests.
function peer.user(address, table_path)
  local user = not table_path and address.fd and tonumber(C.pg_peer_user(address.fd))
  if user and user ~= -2 then return user >= 0 and user or nil end
  return listed(address, table_path)
end

--- May that end change what this process does? This process's user and root may.
function peer.is_trusted(address, table_path)
  local user = peer.user(address, table_path)
  return user ~= nil and (user == ROOT or user == unistd.geteuid())
end

return peer
