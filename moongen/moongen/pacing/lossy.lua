-- SPDX-License-Identifier: Apache-2.0
-- A link that loses packets: sendWithDelayLoss of brentondwalker/MoonGen
-- (crc-ratecontrol.lua), for link emulators. A packet is lost as a link loses it: the
-- time that it would have taken passes, so those behind it come when they would have.

local C = require("core.declare")("native/moongen.h")

local lossy = {}

local WIRE_BYTES = 24 -- CRC, preamble and gap

-- Bytes on the wire of packets that were lost behind the last one that was sent.
local carried = {}

-- What isn't lost comes to the front of the array; how many.
local function thinned(array, n, loss, behind)
  local kept = 0
  for i = 0, n - 1 do
    local p = array[i]
    if p == nil then error(("slot %d of the array has no buffer"):format(i + 1), 4) end
    if math.random() < loss then
      behind = behind + tonumber(p.udata64) + p.pkt_len + WIRE_BYTES
      C.mg_free_one(p)
    else
      p.udata64, behind = p.udata64 + behind, 0
      array[i], array[kept] = array[kept], p
      kept = kept + 1
    end
  end
  return kept, behind
end

--- Send the first `n` buffers (default all), each its delay (setDelay) after the one
--- before; each is lost with probability `loss` (default 0). Returns `n`.
function lossy.send(queue, bufs, rate, loss, n)
  loss = tonumber(loss or 0)
  if not (loss and loss >= 0 and loss <= 1) then
    error("sendWithDelayLoss: argument 3 is a probability, 0 to 1", 2)
  end
  n = math.max(math.min(tonumber(n) or bufs.size, bufs.maxSize), 0)
  local key = queue.id * 1000 + queue.qid
  local kept, behind = thinned(bufs.array, n, loss, carried[key] or 0)
  carried[key] = behind
  if kept > 0 then queue:sendWithDelay(bufs, rate, kept) end
  return n
end

return lossy
