-- SPDX-License-Identifier: Apache-2.0
-- For --check: what C does with packets without reporting it. In the place of
-- those of its functions that take packets or give them.

local place = require("core.check.place")
local record = require("core.check.record")

local boundary = {}

local ffi = require("ffi")

local function port_name(port) return ("port '%s'"):format(ffi.string(port.name)) end

-- The packets in the link: {[address] = packet}.
local function packets_in(l)
  local set = {}
  record.each_in_link(l, function (p) set[record.address(p)] = p end)
  return set
end

-- The n packets of an array are at hand.
local function take(packets, n, what, by)
  for i = 0, n - 1 do record.set(packets[i], "held", what, by, "") end
end

-- They mustn't be anybody else's as they go.
local function check_all(packets, n, doing)
  local seen = {}
  for i = 0, n - 1 do
    local p = packets[i]
    record.check_own(p, doing, true)
    record.check_sound(p, doing)
    local key = record.address(p)
    if seen[key] then
      record.misuse_of(record.of(p), "%s: the packet is twice in its burst: %s", doing,
        record.history(record.of(p)))
    end
    seen[key] = true
  end
end

-- Of `packets`, those that are in the link now are there; the others are gone.
local function settle(packets, l, what, by)
  local there = packets_in(l)
  for key, p in pairs(packets) do
    if there[key] then
      local r = record.of(p) or record.set(p, "link", what, by, "")
      record.put_into(r, l)
    else
      record.set(p, "gone", what, by, "")
    end
  end
end

local function set_of(packets, n)
  local set = {}
  for i = 0, n - 1 do set[record.address(packets[i])] = packets[i] end
  return set
end

-- Who had the packets of an array last.
local function sender(packets, n)
  local r = n > 0 and record.of(packets[0])
  return r and r.by or place.actor(place.here())
end

-- Those of the n packets that are routed to the output, and how many.
local function routed(packets, n, route, output)
  local list, count = ffi.new("struct packet *[?]", n), 0
  for i = 0, n - 1 do
    if route[i] == output then
      list[count] = packets[i]
      count = count + 1
    end
  end
  return list, count
end

--- The C library, with those functions as they are here.
function boundary.around(C)
  local around = {}

  function around.pg_receive(port, l)
    local from = l.write
    local n = C.pg_receive(port, l)
    record.each_in_link(l, function (p)
      record.put_into(record.set_new(p, "link", "received it", port_name(port), ""),
        l)
    end, from)
    return n
  end

  function around.pg_transmit(port, l)
    local before = packets_in(l)
    local n = C.pg_transmit(port, l)
    settle(before, l, "sent it", port_name(port))
    return n
  end

  for _, name in ipairs{"pg_fetch", "pg_fetch_counted"} do
    around[name] = function (port, l, to, most)
      local n = C[name](port, l, to, most)
      take(to, n, "received it", port_name(port))
      return n
    end
  end

  function around.pg_send(port, l, packets, n)
    check_all(packets, n, "sending by " .. port_name(port))
    local all = packets_in(l)
    for key, p in pairs(set_of(packets, n)) do all[key] = p end
    C.pg_send(port, l, packets, n)
    settle(all, l, "sent it", port_name(port))
  end

  -- The link is argument number `at`, and where packets go the next one.
  for name, at in pairs{pg_accept = 2, pg_accept_counted = 2, pg_take = 1,
                        pg_take_counted = 1} do
    around[name] = function (...)
      local n, l, to = C[name](...), select(at, ...)
      take(to, n, "took it from " .. record.link_name(l), "the engine")
      return n
    end
  end

  -- The full link drops what it has no room for.
  local function give(call, l, packets, n)
    check_all(packets, n, "sending to " .. record.link_name(l))
    local all, by = set_of(packets, n), sender(packets, n)
    local result = call()
    settle(all, l, "sent it to " .. record.link_name(l), by)
    return result
  end

  function around.pg_give(account, l, packets, n)
    give(function () C.pg_give(account, l, packets, n) end, l, packets, n)
  end

  function around.pg_hand(account, l, packets, n, bytes)
    give(function () C.pg_hand(account, l, packets, n, bytes) end, l, packets, n)
  end

  function around.pg_hand_routed(account, l, packets, n, route, output, chosen)
    local list, count = routed(packets, n, route, output)
    return give(function ()
      return C.pg_hand_routed(account, l, packets, n, route, output, chosen)
    end, l, list, count)
  end

  function around.pg_send_routed(port, l, packets, n, route, output)
    local list, count = routed(packets, n, route, output)
    around.pg_send(port, l, list, count)
    return count
  end

  function around.pg_queue_handed(account, l)
    local before = packets_in(l)
    C.pg_queue_handed(account, l)
    settle(before, l, "sent it to " .. record.link_name(l), "the engine")
  end

  function around.pg_passage_send(account, passage, l)
    local before = packets_in(l)
    local n = C.pg_passage_send(account, passage, l)
    settle(before, l, "sent it to another CPU from " .. record.link_name(l),
      "the engine")
    return n
  end

  function around.pg_passage_receive(account, passage, l, most)
    local from = l.write
    local n = C.pg_passage_receive(account, passage, l, most)
    record.each_in_link(l, function (p)
      local r = record.set_new(p, "link", "sent it to " .. record.link_name(l),
        "another CPU", "")
      record.put_into(r, l)
    end, from)
    return n
  end

  return setmetatable(around, {__index = function (_, name) return C[name] end})
end

jit.off(true, true)

return boundary
