-- SPDX-License-Identifier: Apache-2.0
-- A port's statistics: DPDK's, and Perigee's own named drops.

jit.off(true, true) -- runs seldom: compiling it would only make packets wait

local ffi = require("ffi")
local C = require("core.native")
local counter = require("core.counter")
local lib = require("core.lib")

local statistics = {}

-- In the order they are printed.
local DPDK = {"ipackets", "ibytes", "imissed", "ierrors", "rx_nombuf", "opackets",
              "obytes", "oerrors"}
-- Those of a device with several queues that aren't counted for each, and the others.
local DEVICE = {"ibytes", "imissed", "ierrors", "rx_nombuf", "oerrors"}
local QUEUE = {"ipackets", "opackets", "obytes"}
local DROPS = {
  rx_oversize = "received longer than 10,240 bytes",
  rx_nomem = "received with no packet free",
  rx_bad_offload = "received, left to be segmented or checksummed in a way not known",
  tx_oversize = "to send, longer than the port takes",
  tx_runt = "to send, shorter than an Ethernet header",
  tx_unplugged = "to send, when the card or interface was gone",
}
local DROP_ORDER = {"rx_oversize", "rx_nomem", "rx_bad_offload", "tx_oversize",
                    "tx_runt", "tx_unplugged"}

--- Memory for read().
function statistics.new()
  return ffi.new("struct port_stats")
end

-- Some drivers forget their counts (net_memif when its peer leaves) or have none
-- (net_null's bytes): then Perigee's own stand in. A driver may have taken packets
-- that it then couldn't send, but no others than it was given.
local function complete(s, port)
  s.ipackets = math.max(s.ipackets, tonumber(port.rxpackets))
  local taken = tonumber(port.txpackets)
  if s.opackets + s.oerrors < taken or s.obytes == 0 then
    s.opackets = math.max(s.opackets, taken - s.oerrors)
    s.obytes = s.opackets > 0 and tonumber(port.txbytes) or 0
  end
end

-- Of one queue of several: what passed this one. What only the device counts is told by
-- the first queue's app, so that sums over the apps are right.
local function of_queue(s, port)
  for _, name in ipairs(DEVICE) do s[name] = port.queue == 0 and s[name] or 0 end
  s.ipackets, s.opackets = tonumber(port.rxpackets), tonumber(port.txpackets)
  s.obytes = tonumber(port.txbytes)
end

--- A function that gives what `count` (optional) of the `argument` has grown by since
--- now, and `before` (0) more; while that isn't told, as it was told last.
function statistics.since(count, argument, before)
  local last = before or 0
  local began = (count and count(argument) or 0) - last
  return function ()
    local now = count and count(argument)
    if now then last = now - began end
    return last
  end
end

--- The statistics of `port` (struct port) as a table of numbers; `lost`: packets lost
--- before its driver got them; bytes_of(n), for drivers that count none: the bytes of n
--- packets received.
function statistics.read(port, raw, lost, bytes_of)
  local result = {}
  if C.pg_port_stats(port, raw) < 0 then ffi.fill(raw, ffi.sizeof(raw)) end
  for _, name in ipairs(DPDK) do result[name] = tonumber(raw[name]) end
  result.imissed = result.imissed + lost
  if bytes_of and result.ibytes == 0 then
    result.ibytes = bytes_of(math.max(result.ipackets, tonumber(port.rxpackets)))
  end
  local adjust = port.queues > 1 and of_queue or complete
  adjust(result, port)
  for name in pairs(DROPS) do result[name] = tonumber(port[name]) end
  return result
end

--- What an app's `shm` asks for, under Snabb's names for a driver's counters.
--- A port with a kernel interface also tells how often that has gone, and whether it is
--- away.
function statistics.frame(interface)
  local frame = {}
  for _, name in ipairs{"rxpackets", "rxbytes", "rxdrop", "rxerrors", "txpackets",
                        "txbytes", "txdrop", "txerrors"} do
    frame[name] = {counter}
  end
  if interface then
    frame.interface_losses, frame.interface_away = {counter}, {counter}
  end
  return frame
end

--- The statistics of a Port (apps.port.port).
function statistics.of(app)
  local of = app.kind.received_bytes
  return statistics.read(app.port, app.stats, app.lost(), of and function (packets)
    return of(app.description, packets)
  end)
end

--- Publish those of a Port in its frame.
function statistics.publish(app)
  local frame, s, port = app.shm, app:statistics(), app.description
  counter.set(frame.rxpackets, s.ipackets)
  counter.set(frame.rxbytes, s.ibytes)
  counter.set(frame.rxdrop, s.imissed + s.rx_nombuf + s.rx_oversize + s.rx_nomem
    + s.rx_bad_offload)
  counter.set(frame.rxerrors, s.ierrors)
  counter.set(frame.txpackets, s.opackets)
  counter.set(frame.txbytes, s.obytes)
  counter.set(frame.txdrop, s.tx_oversize + s.tx_runt + s.tx_unplugged)
  counter.set(frame.txerrors, s.oerrors)
  if frame.interface_losses then
    counter.set(frame.interface_losses, port.losses or 0)
    counter.set(frame.interface_away, port.away and 1 or 0)
  end
end

local MOST_EVENTS = 64
local events = ffi.new("struct port_xstat[?]", MOST_EVENTS)

-- What else the port's own driver counts, such as peers that were let go: what isn't 0.
local function print_events(port)
  for i = 0, math.min(C.pg_port_events(port, events, MOST_EVENTS), MOST_EVENTS) - 1 do
    local e = events[i]
    if e.value > 0 then
      print(("  %s times: %s"):format(lib.comma_value(tonumber(e.value)),
        ffi.string(e.name)))
    end
  end
end

local function link_state(port)
  local l = ffi.new("struct port_link")
  if C.pg_port_link(port, l) < 0 then return "link unknown" end
  if l.up == 0 then return "link down" end
  return l.speed > 0 and ("link up, %g Gbit/s"):format(l.speed / 1000) or "link up"
end

local function line(names, s)
  local parts = {}
  for i, name in ipairs(names) do
    local uncounted = name == "ibytes" and s.ibytes == 0 and s.ipackets > 0
    parts[i] = ("%s %s"):format(name, uncounted and "not counted"
      or lib.comma_value(s[name]))
  end
  return table.concat(parts, "  ")
end

--- Print statistics (from read): one line of DPDK's, one for each kind of drop.
function statistics.print(text, port, s)
  local queue = port.queues > 1
    and (", queue %d of %d"):format(port.queue, port.queues) or ""
  print(("  port %s%s (%s, %s)"):format(text, queue,
    ffi.string(C.pg_port_driver(port)), link_state(port)))
  print("  " .. line(port.queues > 1 and QUEUE or DPDK, s))
  if port.queues > 1 and port.queue == 0 then
    print("  of all queues: " .. line(DEVICE, s))
  end
  for _, name in ipairs(DROP_ORDER) do
    if s[name] > 0 then
      print(("  %s dropped: %s (%s)"):format(lib.comma_value(s[name]), name,
        DROPS[name]))
    end
  end
  print_events(port)
end

return statistics
