-- SPDX-License-Identifier: Apache-2.0
-- What the entries of kinds share whose ports C drives: how its failures are reported,
-- the descriptors that its peers write to, and what some drivers can't know.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local log = require("core.lib.log")

local driver = {}

--- What a call for the parsed `port` returned; below 0 it raises what pg_error() says.
function driver.check(port, result)
  if result < 0 then
    failure.raise("port '%s': %s", port.text, ffi.string(C.pg_error()))
  end
  return result
end

--- A kind's `wake_fds`: the eventfds that read(device_port, fds, most) writes into an
--- array of `most`; it returns how many there are.
function driver.eventfds(most, read)
  local fds = ffi.new("int32_t[?]", most)
  return function (device_port)
    local list = {counts = true}
    for i = 1, read(device_port, fds, most) do list[i] = fds[i - 1] end
    return list
  end
end

--- Warn once if what comes from the interface may have no checksums yet, which `api`
--- doesn't say. `instead`: what else the user may do, with a comma behind it, or nil.
function driver.warn_of_checksums(port, iface, api, instead)
  if port.told_of_checksums then return end -- while it waited for its interface
  if C.pg_iface_leaves_checksums(iface) then
    port.told_of_checksums = true
    log.warning("port '%s': what local programs send over a veth pair has no checksums "
      .. "yet, and %s doesn't say so; %sturn that off at both ends with: ethtool -K %s "
      .. "tx off", port.text, api, instead or "", iface)
  end
end

return driver
