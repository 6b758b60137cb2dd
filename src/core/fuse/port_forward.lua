-- SPDX-License-Identifier: Apache-2.0
-- Links straight from a port to a port: a burst that is received is sent at once, past
-- the link, which only counts. It may be up to four in a breath, as a port that gives a
-- full burst will have more.

local ffi = require("ffi")
local C = require("core.native")
local config = require("core.config")
local direct_ports = require("core.fuse.direct_ports")
local mode = require("core.check.mode")
local repush = require("core.repush")

local port_forward = {}

local MOST = repush.MOST -- bursts in a breath
local link_p, port_p = ffi.typeof("struct link *"), ffi.typeof("struct port *")

local watched = false

--- Let all packets pass the links, where taps (core.taps) look at them; or no
--- longer.
function port_forward.watch(wanted) watched = wanted end

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
function port_forward.of(apps, links, wanted)
  local forward = {}
  wanted = wanted and not mode.on
  local outputs = wanted and direct_ports.leaving(links)
  for spec, l in pairs(wanted and links or {}) do
    local from, _, to, input = config.parse_link(spec)
    local a, b = apps[from], apps[to]
    local source, sink = direct_ports.of(a, "pull"), direct_ports.of(b, "push")
    if source and sink and outputs[from] == 1
        and not (b.push_link and b.push_link[input]) then
      forward[spec] = push_of(source, l, sink)
    end
  end
  return forward
end

return port_forward
