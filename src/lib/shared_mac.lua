-- SPDX-License-Identifier: Apache-2.0
-- The next hop's MAC address, told by the process that has heard it to the others that
-- work on the same link: with several queues an answer comes to only one of them.

local ffi = require("ffi")
local shm = require("core.shm")

local shared_mac = {}

local mac_t = ffi.typeof("uint8_t[6]")
local number_t = ffi.typeof("union { uint64_t number; uint8_t bytes[8]; }")

--- Put the address at `mac` where others look for it; `who` is for a warning.
function shared_mac.share(who, key, mac)
  local ok, shared = pcall(shm.create, key, mac_t)
  if not ok then ok, shared = pcall(shm.open, key, mac_t) end
  if not ok then
    print(("warning: %s: failed to update shared next MAC key!"):format(who))
    return
  end
  ffi.copy(shared, mac, 6)
  shm.unmap(shared)
end

--- The address that a process has told, or nil. It is mapped, not copied: it will be
--- what that process makes it.
function shared_mac.find(key)
  local ok, mac = pcall(shm.open, key, mac_t)
  return ok and mac or nil
end

--- The address as a counter holds it.
function shared_mac.number(mac)
  local n = number_t()
  ffi.copy(n.bytes, mac, 6)
  return n.number
end

return shared_mac
