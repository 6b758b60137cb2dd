-- SPDX-License-Identifier: Apache-2.0
-- What of the packets lost in a trial (program.loadtest.tester) may be the fault of the
-- machine that tests, and what is said then. Pure.

local doubt = {}

--- The packets of all streams, of those lost, that may not be the device's loss; and
--- those that the receiving ports dropped.
function doubt.packets(result)
  local doubtful, drops = 0, 0
  for _, s in ipairs(result.streams or {}) do
    doubtful, drops = doubtful + (s.doubtful or 0), drops + (s.drops or 0)
  end
  return doubtful, drops
end

--- Is more than the share `loss` of the stream's packets lost by the device, however
--- late this machine was?
function doubt.is_certain(result, stream, loss)
  return result.fair and stream.lost - (stream.doubtful or 0) > loss * stream.tx
end

-- What this machine did.
local function cause(result, burst)
  local doubtful, drops = doubt.packets(result)
  if (result.blind or 0) > 0 then
    return ("took nothing from the ports for %.1f ms"):format(1e3 * result.blind)
  elseif drops > 0 then
    return ("dropped %d packets in its receiving ports"):format(drops)
  elseif doubtful > 0 then
    return ("was late, and sent up to %d packets at once: a device that holds fewer "
      .. "may have lost %d by that (--burst N: it holds N)")
      :format(result.burst, doubtful)
  end
  return ("was %.1f ms behind, and makes up for a burst of %d packets or 1 ms")
    :format(1e3 * result.late, burst)
end

--- Why the trial with this result tells nothing of the device. `burst`: the packets
--- that may be sent at once.
function doubt.not_measurable(result, burst)
  return "not measurable at this rate here, because this machine "
    .. cause(result, burst)
end

return doubt
