-- SPDX-License-Identifier: Apache-2.0
-- What copies of a program have of a port: a queue each; or each opens the port for
-- itself, and receives what is for it alone, if its kind `divides` (README.md).

local arguments = require("core.lib.arguments")
local balancer = require("core.cpus.balancer")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")

local share = {}

local MOST_QUEUES = 64

-- The queues that cards have filled by their tables agree with the hash of what a copy
-- makes of packets for these numbers of copies.
local function divides_tables(n) return bit.band(n, n - 1) == 0 end

-- Do `n` queues lead to each copy what has to come to it?
local function queues_meet(port, n, meets)
  local kind = kinds.of(port)
  if meets == "nothing" or kind.name == "null" then return true end
  return meets == "flow" and kind.by_flow == true and divides_tables(n)
end

--- How `n` copies can have the parsed port, if `meets` (core.cpus.dividable; nil:
--- "nothing") has to come to one: "queue"; "own", where each opens it for itself, which
--- only who names `meets` can; or nil. (What moves between copies is handed out in
--- software.)
function share.kind(port, n, meets)
  if meets and not balancer.wanted() and kinds.divides(port, meets) then
    return "own"
  end
  return kinds.has_queues(port) and queues_meet(port, n, meets or "nothing")
    and "queue" or nil
end

local function check_queue(port, queues, queue)
  arguments.whole(("port '%s': queues"):format(port.text), queues, 1, MOST_QUEUES)
  arguments.whole(("port '%s': queue"):format(port.text), queue, 0, queues - 1)
end

--- Note in the parsed port that it is queue number `queue` (from 0) of so many; with
--- `meets`, if it can be divided, that copy's share. Returns it. Raises a failure.
function share.note(port, queues, queue, meets)
  local own = meets ~= nil and kinds.divides(port, meets)
  if not own and not kinds.has_queues(port) then
    failure.usage("port '%s' has one queue only; config.replicate hands its packets "
      .. "out itself", port.text)
  end
  check_queue(port, queues, queue)
  if own then
    port.share = {copies = queues, copy = queue, meets = meets}
  else
    port.split = {of = queues, number = queue, device = port.text}
  end
  return port
end

return share
