-- SPDX-License-Identifier: Apache-2.0
-- Links that hold no packets: ports that packets can come from, or go to, past
-- their methods and links, and links between regions and bulk apps that are passed
-- without their rings.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local mode = require("core.check.mode")
local pool = require("core.pool")
local repush = require("core.repush")

local direct_links = {}

local MOST = repush.MOST -- bursts in a breath
local link_p, port_p = ffi.typeof("struct link *"), ffi.typeof("struct port *")

--- The struct port of a running app (or of nil) whose `method`, "pull" or "push", is
--- its class's that allows to go past it (Port.direct), or nil. What replaces that has
--- its effect, as pull = false has of a card that is to receive nothing.
function direct_links.port_of(app, method)
  return app and app.direct and app[method] == app.direct[method] and app.port or nil
end
local port_of = direct_links.port_of

--- How many of the `links` (their texts are the keys) leave each app, by its name.
function direct_links.leaving(links)
  local count = {}
  for spec in pairs(links) do
    local from = config.parse_link(spec)
    count[from] = (count[from] or 0) + 1
  end
  return count
end

-- Next to bulk apps -------------------------------------------------------------

local function is_bulk(app) return app and app.process_burst and not app.push end

--- Of the running `apps` and `links`: the ports next to bulk apps, by link ({[LINK] =
--- struct port}), and the set of the texts of those links that bulk apps receive for. A
--- burst goes from a port's receive straight to the app's array, and from that to
--- another port. Nothing if it isn't `wanted`.
function direct_links.of_bulk(apps, links, wanted)
  local ports, fetched = {}, {}
  if not wanted then return ports, fetched end
  local outputs = direct_links.leaving(links)
  for spec, l in pairs(links) do
    local from, _, to, input = config.parse_link(spec)
    local a, b = apps[from], apps[to]
    local source, sink = port_of(a, "pull"), port_of(b, "push")
    if source and is_bulk(b) and outputs[from] == 1
      and not (b.push_link and b.push_link[input]) then
      ports[l], fetched[spec] = source, true
    elseif sink and is_bulk(a) then
      ports[l] = sink
    end
  end
  return ports, fetched
end

-- Packets that the sender keeps -------------------------------------------------

--- Apps may send packets which they keep (send_shared) to ports whose drivers only read
--- what they send, and free it by reference count. Call app:send_shared(ports) of each
--- of the running apps that has it: `ports` has, by link, the struct port at the other
--- end where the app may send its packets past the link. There is none unless that is
--- `wanted`, nor with --check, which follows each.
function direct_links.tell_shared(apps, links, wanted)
  local ports = {}
  for name, app in pairs(apps) do
    if app.send_shared then ports[name] = {} end
  end
  if not next(ports) then return end
  for spec, l in pairs(wanted and not mode.on and links or {}) do
    local from, _, to = config.parse_link(spec)
    local app = apps[to]
    if ports[from] and app and app.takes_shared then
      ports[from][l] = port_of(app, "push")
    end
  end
  for name, of in pairs(ports) do apps[name]:send_shared(of) end
end

-- From a port to a port ------------------------------------------------------------
-- A burst that is received is sent at once, past the link, which only counts. It may be
-- up to four in a breath, as a port that gives a full burst will have more.

local watched = false

--- Let all packets pass the links, where taps (lib.control.taps) look at them; or no
--- longer.
function direct_links.watch(wanted) watched = wanted end

-- Pointers are constants in compiled code, larger cdata is loaded anew.
local function push_of(from, l, to)
  local a, b = ffi.cast(port_p, from), ffi.cast(port_p, to)
  local between = ffi.cast(link_p, l)
  return function ()
    if not watched then
      C.pg_forward(a, between, b, MOST)
    else -- what comes now is seen before the next call
      C.pg_transmit(b, between)
      C.pg_receive(a, between)
    end
  end
end

--- Of the running `apps` and `links`: what moves packets along a link that leads from a
--- port, and is the only one, to a port; by the link's text. Nothing unless it is
--- `wanted`, nor with --check, which follows each packet.
function direct_links.forward(apps, links, wanted)
  local forward = {}
  wanted = wanted and not mode.on
  local outputs = wanted and direct_links.leaving(links)
  for spec, l in pairs(wanted and links or {}) do
    local from, _, to, input = config.parse_link(spec)
    local a, b = apps[from], apps[to]
    local source, sink = port_of(a, "pull"), port_of(b, "push")
    if source and sink and outputs[from] == 1
        and not (b.push_link and b.push_link[input]) then
      forward[spec] = push_of(source, l, sink)
    end
  end
  return forward
end

-- Between regions and bulk apps ------------------------------------------------------
-- Past their rings go packets that are taken in the same breath, after all that gives
-- them (src/native/dpdk/handover.c). A ring is memory that is read and written again
-- and again: without it an app costs a cycle or two a packet less.

-- The links that lead to the call of the app `name` or, if it is fused, of its region;
-- nil if it hands nothing over. (A region whose apps emit may fill its arrays at any
-- time.)
local function sources(name, apps, fused, into)
  local region = fused.region_with[name]
  if region and region.flush_all then return nil end
  if region then return region.description.entries end
  return apps[name].process_burst and fused.push[name] and (into[name] or {})
end

-- Does a region or a bulk app take what the link `spec` brings?
local function taken(spec, to, input, apps, fused)
  if fused.run[spec] then return true end
  local app = apps[to]
  return app.process_burst and fused.push[to]
    and not (app.push_link and app.push_link[input])
end

local function all_before(specs, position, at)
  for _, spec in ipairs(specs) do
    if position[spec] >= at then return false end
  end
  return true
end

--- Set which of the `links` are direct, and return a list of those. `specs` are
--- their texts in the order of their calls in a breath (core.engine.order).
function direct_links.arrange(apps, links, fused, specs)
  local position, into, direct = {}, {}, {}
  for i, spec in ipairs(specs) do
    local _, _, to = config.parse_link(spec)
    position[spec] = i
    into[to] = into[to] or {}
    table.insert(into[to], spec)
  end
  for i, spec in ipairs(specs) do
    local from, _, to, input = config.parse_link(spec)
    local before = fused.wanted and sources(from, apps, fused, into)
    local good = before and taken(spec, to, input, apps, fused)
      and all_before(before, position, i)
    links[spec].direct = good and 1 or 0
    if good then direct[#direct + 1] = links[spec] end
  end
  return direct
end

--- Put what these links hold past their rings into the rings: after an error, when
--- those who were to take it weren't called.
function direct_links.queue(direct)
  for _, l in ipairs(direct) do C.pg_queue_handed(pool.freelist, l) end
end

return direct_links
