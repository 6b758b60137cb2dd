-- SPDX-License-Identifier: Apache-2.0
-- What handlers may do in a router that others can connect to (`is_open`: it has a
-- ControlSocket or an HTTPServer with LOCALHOST false). Whoever can connect may set
-- what scripts and counters do later. So the limits are the router's, not a
-- connection's: files only below the folder that --files names, no signals, no
-- hotconfig. Calls from connections of this user or root have no limits.

local beneath = require("lib.beneath")
local peer = require("lib.peer")

local trust = {}

--- May others cause what is done now?
function trust.is_limited(router) return router.is_open and not router.own_call end

--- Is a connection from the address (nil, or without `addr`: a Unix socket, or one that
--- was given) this user's or root's?
function trust.is_own(address)
  if not (address and address.addr) then return true end
  return address.addr:find("^127%.") ~= nil and peer.is_trusted(address)
end

--- What f(...) returns, called for a connection that is the own user's if `is_own`.
function trust.call(router, is_own, f, ...)
  local before = router.own_call
  router.own_call = is_own
  local ok, result, message = pcall(f, ...)
  router.own_call = before
  if not ok then error(result, 0) end
  return result, message
end

--- Open a file that a handler was told, with the mode "rb" or "wb"; or nil and why not.
function trust.open(router, name, mode)
  if not trust.is_limited(router) then return io.open(name, mode) end
  local folder = router.options.files
  if folder then return beneath.open(folder, name, mode) end
  return nil, ("'%s': others may connect to this router, and no folder is named by "
    .. "--files for files of handlers"):format(name)
end

return trust
