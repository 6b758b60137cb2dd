-- SPDX-License-Identifier: Apache-2.0
-- For --check: packet.allocate, packet.free and the like. A freed packet is overwritten
-- and set aside for a while: whoever still writes to it is found then.

local ffi = require("ffi")
local place = require("core.check.place")
local record = require("core.check.record")

local packets = {}

local C = ffi.C
local MOST_APART = 1024 -- freed packets, or fewer where there are few
local SHARE = 16 -- one packet in so many, at most

local apart, first, last = {}, 1, 0 -- a queue of addresses, those freed first in front
local late = {} -- failures found when nobody was at work who did it, each once
local known = {} -- by place: that failure

local release -- packet.free_internal as it is without this
local pool -- core.pool

-- The packet has waited: is it as it was left? Gives it back.
local function let_go()
  local key = apart[first]
  apart[first], first = nil, first + 1
  pool.freelist.aside = last - first + 1
  local r = record.all[key]
  if r.state ~= "freed" then return end -- C has got it elsewhere
  local p = r.of
  local at = C.pg_poison_spoilt(p)
  local sound = C.pg_check_packet(p, r.ours) == C.CHECK_GOOD and p.unchecked_length == 0
  if at >= 0 or not sound then
    local what = at >= 0
      and ("byte %d of its buffer is 0x%02x now"):format(at, p.buf_addr[at])
      or "its header or what is behind its buffer has changed"
    if not known[r.at] then
      known[r.at] = record.failure(r.at, "somebody wrote to a packet after it was "
        .. "freed here: %s; %s", what, record.history(r))
      known[r.at].app = r.by:match("^app '(.*)'$")
      late[#late + 1] = known[r.at]
    end
  end
  record.all[key] = nil
  release(p)
end

--- Look at all that were freed, and give them back.
function packets.let_all_go()
  while first <= last do let_go() end
end

--- The first of what was found of freed packets since, a failure that names the app in
--- its field `app`; nil if there is nothing.
function packets.take_late() return table.remove(late, 1) end

--- Raise it.
function packets.raise_late()
  local err = packets.take_late()
  if err then error(err, 0) end
end

-- Keep the packet apart; `what` was done to it.
local function keep_apart(p, what, by, at)
  record.set(p, "freed", what, by, at)
  C.pg_poison(p)
  p.unchecked_length, p.data_off = 0, C.PACKET_HEADROOM
  last = last + 1
  apart[last] = record.address(p)
  pool.freelist.aside = last - first + 1
  local _, most = pool.sizes()
  if last - first >= math.min(MOST_APART, most / SHARE) then let_go() end
end

-- What to say of it being freed, by whom and where: a packet that an app has dropped is
-- freed by the engine.
local function freed(p)
  local r = record.of(p)
  if r and r.dropped and not place.app then return r.what, r.by, r.at end
  return "freed it"
end

-- The new packet is the caller's.
local function own(p)
  record.set_new(p, "held", "allocated it")
  return p
end

--- Let the functions of core.packet look after packets. `its_pool` is core.pool.
function packets.guard(packet, its_pool)
  pool, release = its_pool, packet.free_internal
  local count_free, allocate = packet.account_free, packet.allocate

  function packet.allocate()
    if pool.freelist.nfree == 0 then packets.let_all_go() end
    return own(allocate())
  end
  packet.new_packet = packet.allocate

  -- They allocate by themselves.
  local bytes = {from_pointer = function (_, n) return n end,
                 from_string = function (s) return #s end,
                 clone = function (p) return p.length end}
  for name, bytes_of in pairs(bytes) do
    local make = packet[name]
    packet[name] = function (...)
      local n = bytes_of(...)
      if not (n >= 0 and n <= packet.max_payload) then
        record.misuse("packet.%s: a packet can't hold %s bytes: it holds 0 to %d", name,
          tostring(n), packet.max_payload)
      end
      if pool.freelist.nfree == 0 then packets.let_all_go() end
      return own(make(...))
    end
  end

  function packet.account_free(p)
    record.check_own(p, "packet.account_free")
    count_free(p)
  end

  function packet.free_internal(p)
    record.check_own(p, "packet.free_internal")
    record.check_sound(p, "packet.free_internal")
    keep_apart(p, "freed it")
  end

  function packet.free(p)
    record.check_own(p, "packet.free")
    record.check_sound(p, "packet.free")
    count_free(p)
    keep_apart(p, freed(p))
  end

  local has_free = its_pool.has_free
  function its_pool.has_free(p)
    local r = record.of(p)
    return r ~= nil and r.state == "freed" or has_free(p)
  end
end

jit.off(true, true)

return packets
