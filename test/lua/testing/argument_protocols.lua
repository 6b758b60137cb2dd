-- SPDX-License-Identifier: Apache-2.0
-- The cases of testing.another_argument that are of networks' protocols: a function
-- that adds them by case(CLASS, TABLE). field(NAME) makes a function that reads it.

local engine = require("core.app")
local ffi = require("ffi")
local frames = require("testing.argument_frames")
local nd = require("net.neighbor.nd")
local packet = require("core.packet")

local US, THEM, mac1, mac2 = frames.US, frames.THEM, frames.mac1, frames.mac2
local ip1, ip2, ip3 = frames.ip1, frames.ip2, frames.ip3
local six1, six2, six3 = frames.six1, frames.six2, frames.six3
local frame4, frame6, sends = frames.frame4, frames.frame6, frames.sends

return function (case, field)

-- Ethernet --------------------------------------------------------------------------

local function bridge(module, t)
  t.inputs, t.outputs = {"a", "b"}, {"a", "b"}
  t.run = sends("a", THEM .. US .. "\8\0" .. ("x"):rep(46))
  case("apps.bridge." .. module .. ".bridge", t)
end
bridge("flooding", {before = {ports = {"a", "b"}}, after = {ports = {"b", "a"}}})
bridge("learning", {before = {ports = {"a", "b"}}, after = {ports = {"c", "b", "a"}},
  counts = true,
  stays = {["addresses at the ports that there still are"] = function (app)
    local box = ffi.new("uint8_t *[1]", ffi.cast("uint8_t *", mac1))
    local number = app._mac_table:lookup(box)
    return number and app._ports[number].name
  end}})

case("apps.vlan.vlan.Tagger", {before = {tag = 5}, after = {tag = 6}, counts = true,
  run = sends("input", "x")})
case("apps.vlan.vlan.Untagger", {before = {tag = 5}, after = {tag = 6}, counts = true,
  run = sends("input", "x")})
case("apps.vlan.vlan.VlanMux", {before = {}, after = {encapsulation = "dot1ad"},
  inputs = {"trunk", "vlan7"}, outputs = {"trunk", "vlan7"}, counts = true,
  run = sends("trunk", "x")})

local function learned(app)
  return app:port_of(0, ("%02x:%02x:%02x:%02x:%02x:%02x"):format(US:byte(1, 6)))
end
case("apps.vlan_switch.vlan_switch.VlanSwitch", {
  before = {ports = {{name = "a"}, {name = "b"}}},
  after = {ports = {{name = "a"}, {name = "b"}}, timeout = 20},
  inputs = {"a", "b"}, outputs = {"a", "b"}, counts = true,
  run = sends("a", THEM .. US .. "\8\0" .. ("x"):rep(46)),
  anew = {["learned addresses"] = learned}})

-- Tunnels ---------------------------------------------------------------------------

local BOTH = {"encapsulated", "decapsulated"}
local function tunnel(hop_limit)
  return {local_address = "2001:db8::1", remote_address = "2001:db8::2",
    local_cookie = "0102030405060708", remote_cookie = "1112131415161718",
    hop_limit = hop_limit}
end
case("apps.keyed_ipv6_tunnel.tunnel.SimpleKeyedTunnel", {before = tunnel(1),
  after = tunnel(2), inputs = BOTH, outputs = BOTH, counts = true,
  run = sends("encapsulated", "x")})

local function association(window, key, more)
  local arg = {spi = 5, transmit_key = (key or "0"):rep(32), transmit_salt = "deadbeef",
    receive_key = ("1"):rep(32), receive_salt = "beefdead", receive_window = window}
  for name, value in pairs(more or {}) do arg[name] = value end
  return arg
end
local TUNNEL = {self_ip = "2001:db8::1", nexthop_ip = "2001:db8::2"}
local SEQUENCE = "sequence numbers with the same key, salt and SPI"
for class, more in pairs{Transport6 = {}, Tunnel6 = TUNNEL} do
  case("apps.ipsec.esp." .. class, {before = association(64, "0", more),
    after = association(128, "0", more), anew_after = association(128, "2", more),
    inputs = BOTH, outputs = BOTH, counts = true,
    run = sends("decapsulated", "x", frame6("payload")), lost = {[SEQUENCE] = true},
    stays = {[SEQUENCE] = function (app) return tonumber(app.encrypt.seq.no) end}})
end

-- IP --------------------------------------------------------------------------------

local function ip(module, class, t)
  t.run, t.counts = t.run or sends("input", "x"), true
  case(("apps.ip.%s.%s.%s"):format(module, module, class), t)
end
ip("check_header", "CheckHeader", {before = 1, after = 2})
ip("dec_ttl", "DecTtl", {before = 1, after = 2})
ip("fib_lookup", "FibLookup", {before = {}, after = {routes = {["10.0.0.0/8"] = 1}},
  run = function (app)
    app:add("192.0.2.0/24", 9)
    sends("input", "x")(app)
  end,
  anew = {["routes that `add` has added"] = function (app)
    local p = packet.from_string(frame4("to 192.0.2.1"))
    local route = ffi.new("uint8_t[1]", 1)
    app:process_burst(ffi.new("struct packet *[1]", {p}), 1, route)
    packet.free(p)
    return route[0]
  end}})
ip("rewrite_macs", "RewriteMacs", {
  before = {next_hops = {{src = "02:00:00:00:00:01", dst = "02:00:00:00:00:02"}}},
  after = {next_hops = {{src = "02:00:00:00:00:01", dst = "02:00:00:00:00:03"}}}})

local ENDS = {"north", "south"}
local SAME_HOP = "the same next hop's MAC address"
local function next_mac(app)
  return app.next_mac and ffi.string(app.next_mac, 6) or false
end
local function arp(own, hop)
  return function ()
    return {self_mac = mac1, self_ip = ffi.cast("const char *", own),
            next_ip = ffi.cast("const char *", hop)}
  end
end
case("apps.ipv4.arp.ARP", {before = arp(ip1, ip2), after = arp(ip3, ip2),
  anew_after = arp(ip1, ip3), lost = {[SAME_HOP] = true}, inputs = ENDS, outputs = ENDS,
  counts = true, stays = {[SAME_HOP] = next_mac},
  run = sends("south", US .. THEM .. "\8\6\0\1\8\0\6\4\0\2" .. THEM .. ip2
    .. US .. ip1)})
case("apps.lwaftr.ndp.NDP", {
  before = {self_mac = mac1, self_ip = six1, next_ip = six2},
  after = {self_mac = mac1, self_ip = six3, next_ip = six2},
  anew_after = {self_mac = mac1, self_ip = six1, next_ip = six3},
  lost = {[SAME_HOP] = true}, inputs = ENDS, outputs = ENDS, counts = true,
  stays = {[SAME_HOP] = next_mac}, run = sends("south", frames.advertisement())})
local function light(own, hop)
  return {local_mac = US, local_ip = own, next_hop = hop, quiet = true}
end
case("apps.ipv6.nd_light.nd_light", {before = light("2001:db8::1", "2001:db8::2"),
  after = light("2001:db8::3", "2001:db8::2"), lost = {[SAME_HOP] = true},
  anew_after = light("2001:db8::1", "2001:db8::3"), inputs = ENDS, outputs = ENDS,
  counts = true, run = sends("south", frames.advertisement(), "\0"),
  stays = {[SAME_HOP] = function (app)
    return app._eth_header and ffi.string(app._eth_header, 6) or false
  end}})
case("apps.ipv6.ns_responder.ns_responder", {
  before = {local_ip = six1, local_mac = mac1},
  after = {local_ip = six3, local_mac = mac2},
  inputs = ENDS, outputs = ENDS, counts = true,
  run = sends("south", frames.bytes_of(nd.solicitation(mac2, six2, six1)))})
case("apps.ipv4.echo.ICMPEcho", {before = {address = ip1}, after = {address = ip3},
  inputs = ENDS, outputs = ENDS, counts = true,
  run = sends("south", frame4("\8\0\247\255\0\0\0\0", 1))})
case("apps.ipv6.echo.ICMPEcho", {before = {address = six1}, after = {address = six3},
  inputs = ENDS, outputs = ENDS, counts = true,
  run = sends("south", frame6("\128\0\0\0\0\0\0\0", 58))})

local ID = "the next identification"
case("apps.ipv4.fragment.Fragmenter", {before = {mtu = 100}, after = {mtu = 120},
  random = {[ID] = true}, counts = true, run = sends("input", frame4(("x"):rep(200))),
  stays = {[ID] = field("next_fragment_id")}})
local REPORTED = "what routers have reported"
local function path_mtu(timeout)
  return {mtu = 1400, pmtud = true, pmtu_timeout = timeout}
end
case("apps.ipv6.fragment.Fragmenter", {before = path_mtu(60), after = path_mtu(90),
  random = {[ID] = true}, counts = true, inputs = {"input", "south"},
  outputs = {"output", "north"},
  run = function (app)
    if app.paths.table:count() == 0 then app.paths:learn(six2, 1300, engine.now()) end
    sends("input", frame6(("x"):rep(1350)))(app)
  end,
  stays = {[ID] = field("next_fragment_id"),
           [REPORTED] = function (app) return app.paths:to(six2, 1400) end}})
local WAITING = "fragments that wait, as long as only the timeout changes"
for version, fragment in pairs{ipv4 = frames.FRAGMENT4, ipv6 = frames.FRAGMENT6} do
  case(("apps.%s.reassemble.Reassembler"):format(version), {
    before = {reassembly_timeout = 60}, after = {reassembly_timeout = 50},
    anew_after = {reassembly_timeout = 50, max_concurrent_reassemblies = 100},
    lost = {[WAITING] = true}, counts = true, run = sends("input", fragment),
    stays = {[WAITING] = function (app) return app.datagrams:count() end}})
end

-- Others ----------------------------------------------------------------------------

case("apps.rate_limiter.rate_limiter.RateLimiter", {
  before = {rate = 0, bucket_capacity = 100}, after = {rate = 0, bucket_capacity = 200},
  run = sends("input", ("x"):rep(60), ("x"):rep(60)), counts = true,
  stays = {["tokens, as many as there is room for"] = field("bucket_content")}})

case("apps.packet_filter.pcap_filter.PcapFilter", {
  before = {filter = "udp", state_table = "another_argument"},
  after = {filter = "tcp", state_table = "another_argument"},
  fresh = {filter = "tcp", state_table = "none"},
  run = sends("input", ("\0"):rep(60), frame4("\0\1\0\2\0\8\0\0")), counts = true,
  stays = {connections = function (app)
    local C = require("core.declare")("apps/packet_filter/connections.h")
    return C.pg_connections_count(app.connections)
  end}})

case("apps.rss.rss.rss", {before = {}, after = {remove_extension_headers = false},
  outputs = {"default_1"}, counts = true,
  run = sends("input", frame4("\0\1\0\2\0\8\0\0")),
  stays = {["which flows go together"] = function (app) return tostring(app.ip4) end}})

local function lwaftr(mtu)
  return function ()
    local text = require("testing.lwaftr_frames").CONF:gsub("4000000000", "7", 1)
    text = text:format("mtu " .. mtu .. ";", "")
    return require("apps.lwaftr.conf_reader").text(text, "conf")
  end
end
case("apps.lwaftr.lwaftr.LwAftr", {before = lwaftr(1400), after = lwaftr(1300),
  inputs = {"v4", "v6"}, outputs = {"v4", "v6"}, counts = true,
  links = {"x.hairpin_out -> x.hairpin_in"},
  run = sends("v4", frame4("\0\1\0\2\0\8\0\0")),
  stays = {["how many ICMP errors it has sent in the period"] = function (app)
    return app.limit4.count
  end}})
case("apps.lwaftr.V4V6.V4V6", {before = {}, after = {mirror = true}, inputs = {},
  outputs = {}})
local function station(last)
  return {stations = {{name = "a", mac = "\2\0\0\0\0" .. string.char(last)}}}
end
case("apps.lwaftr.stations.Stations", {before = station(7), after = station(8),
  inputs = {"input", "a"}, outputs = {"output", "a"}, counts = true,
  run = sends("input", ("\2"):rep(12) .. "\8\0" .. ("x"):rep(46))})

end
