-- SPDX-License-Identifier: Apache-2.0
-- What the Fragmenter apps of IPv4 and IPv6 share: the MTU, identifications, counters
-- of what is cut, and how its parts are sent.

local arguments = require("core.lib.arguments")
local counter = require("core.counter")
local cut = require("net.fragment.cut")
local link = require("core.link")
local rate_alarm = require("lib.rate_alarm")

local transmit = link.transmit

local fragmenter = {}

local MOST_MTU, FRAGMENTS_A_SECOND = 65535, 10000

--- The module of an app: `deterministic_first_fragment_id` is the id before that of the
--- first packet, if it is a number; `id`: what use_deterministic_first_fragment_id()
--- makes it, for tests.
function fragmenter.module(id)
  local module = {deterministic_first_fragment_id = false}
  function module.use_deterministic_first_fragment_id()
    module.deterministic_first_fragment_id = id
  end
  return module
end

--- Give the app `o` of `module`, whose arguments have been read, what it sends with.
--- `version` is "ipv4" or "ipv6", `least` the least MTU, `last_id` the greatest id.
function fragmenter.prepare(o, module, version, least, last_id)
  local ip = version:gsub("ip", "IP")
  o.mtu = arguments.whole("the Fragmenter's mtu", tonumber(o.mtu) or o.mtu, least,
    MOST_MTU)
  o.rest = cut.room()
  o.next_fragment_id = module.deterministic_first_fragment_id
    or math.random(0, last_id)
  o.out_name = "out-" .. version .. "-frag"
  o.alarm = rate_alarm.new(o, o.out_name, FRAGMENTS_A_SECOND,
    ("outgoing-%s-fragments"):format(version),
    ("Outgoing %s fragments over N fragments/s"):format(ip),
    ("More than 10,000 outgoing %s fragments per second"):format(ip))
end

-- Send so many packets.
local function send_all(output, packets, n)
  for i = 0, n - 1 do transmit(output, packets[i]) end
end

--- Send `p`, which has been cut into itself and the first `n` of app.rest.
function fragmenter.send(app, output, p, n)
  p.no_flags = 0 -- of the packet that it was
  transmit(output, p)
  send_all(output, app.rest, n)
  counter.add(app.shm[app.out_name], n + 1)
end

return fragmenter
