-- SPDX-License-Identifier: Apache-2.0
-- What a script is warned of while it runs: rates that can't be kept, and queues that
-- two tasks use in turn. Whoever sends or receives only notes it.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local log = require("moongen.log")
local native = require("moongen.devices.native")
local pacer = require("moongen.pacing.pacer")

local warnings = {}

local IN_TURNS, TOLD = 1, 2 -- of a queue's `in_turns`

local what = ffi.new("char[64]")

local function look_at_rates()
  for _, p in pacer.all() do
    if p.times.skipped > 0 and C.pg_pacer_is_behind(p, what, ffi.sizeof(what)) then
      log:warn("%s: %s can't be kept; the reached rate is reported at the end",
        ffi.string(p.name), ffi.string(what))
    end
  end
end

-- Those of `n` queues that tasks use in turn and that hasn't been said of.
local function in_turns(queues, n)
  local list = {}
  for i = 0, n - 1 do
    if queues[i].in_turns == IN_TURNS then list[#list + 1] = queues + i end
  end
  return list
end

local function warn_of(list, kind)
  for _, q in ipairs(list) do
    q.in_turns = TOLD
    log:warn("[%s: id=%d, qid=%d]: two tasks use it; give each a queue of its own, or "
      .. "counts and rates are wrong", kind, q.device.id, q.qid)
  end
end

--- Warn of what hasn't been warned of yet. (Receive queues are looked at first and
--- warned of last: a script that sends, then receives, is warned in that order.)
function warnings.look()
  look_at_rates()
  for id = 0, native.count() - 1 do
    local d = native.get(id)
    if d ~= nil then
      local received = in_turns(d.rx, d.nrx)
      warn_of(in_turns(d.tx, d.ntx), "TxQueue")
      warn_of(received, "RxQueue")
    end
  end
end

return warnings
