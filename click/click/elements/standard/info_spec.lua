-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local host_addresses = require("click.host_addresses")

describe("Elements without ports", function ()
  it("give names", function ()
    local r = assert(click.router([[
      AddressInfo(h 10.0.0.1 00:01:02:03:04:05, net 10.1.0.0/16);
      AnnotationInfo(MINE 5 1); PortInfo(web 80/tcp);
      Idle -> p :: Paint(1, MINE) -> Idle]]))
    assert.equal(0x0a000001, r.names:find("ip", "x", "h"))
    assert.equal("\0\1\2\3\4\5", r.names:find("eth", "x", "h"))
    assert.equal(16, r.names:find("ip_prefix", "x", "net").length)
    assert.equal(21, r:find("p").at)
    assert.equal(80, r.names:find("port", "x", "web"))
    r:close()
    assert.equal("spec:1: While configuring 'AddressInfo@1 :: AddressInfo':\n"
      .. "  '10.0.0' is not a recognizable address\n"
      .. "Router could not be initialized!\n",
      select(2, click.router("AddressInfo(x 10.0.0)")))
  end)

  it("set tickets and threads", function ()
    local r = assert(click.router([[
      elementclass A { InfiniteSource -> output }
      ScheduleInfo(s 2.5); StaticThreadSched(s 1, a 3);
      s :: InfiniteSource -> d :: Discard; a :: A -> d]], {threads = 4}))
    assert.equal("2560", (r:handler_read("s.tickets")))
    assert.equal("1", (r:handler_read("s.home_thread")))
    assert.equal("3", (r:handler_read("a/InfiniteSource@1.home_thread")))
    r:close()
  end)

  it("stop the router when an element isn't scheduled any more", function ()
    local r = click.run("s :: InfiniteSource(LIMIT 5) -> d :: Discard; QuitWatcher(s)")
    assert.equal("5", (r:handler_read("d.count")))
    r:close()
  end)
end)

-- An interface as the kernel would have it.
local ETH0 = {
  ip = 0x0a090909, eth = "\2\0\0\0\0\9",
  ip_prefix = {address = 0x0a090909, mask = 0xffffff00, length = 24},
}

-- What D is, by kind, with AddressInfo(D `words`) and that interface: "ip 10.0.0.1".
local function meaning(words)
  local find = host_addresses.find
  host_addresses.find = function (kind, name)
    if name == "eth0" then return ETH0[kind] end
    if name == "eth0:gw" and kind == "ip" then return 0x0a0909fe end
  end
  local r, problem = click.router(("AddressInfo(D %s); Idle -> Discard"):format(words))
  local text = {}
  local function add(kind, value) text[#text + 1] = ("%s %s"):format(kind, value) end
  local function hex(bytes)
    return (bytes:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
  end
  if not r then
    host_addresses.find = find
    return problem:match("\n  (.-)\n")
  end
  local function value(kind) return r.names:find(kind, "x", "D") end
  if value("ip") then add("ip", ("%x"):format(value("ip"))) end
  local net = value("ip_prefix")
  if net then add("net", ("%x/%x"):format(net.address, net.mask)) end
  if value("ip6") then add("ip6", hex(value("ip6"))) end
  net = value("ip6_prefix")
  if net then add("net6", ("%s/%d"):format(hex(net.address), net.length)) end
  if value("eth") then add("eth", hex(value("eth"))) end
  r:close()
  host_addresses.find = find
  return table.concat(text, ", ")
end

-- As FastClick resolves them (by ARPResponder.table, EtherEncap.src and the like).
local ZEROS, ONE = ("0"):rep(20), ("0"):rep(19) .. "1"
local MEANINGS = {
  {"100.0.0.1 eth0", "ip 64000001, eth 020000000009"},
  {"eth0 100.0.0.1", "ip 64000001, eth 020000000009"},
  {"eth0", "ip a090909, eth 020000000009"},
  {"eth0:ip", "ip a090909"},
  {"eth0:eth 1.0.0.1", "ip 1000001, eth 020000000009"},
  {"eth0:ip4net", "ip a090909, net a090909/ffffff00"},
  {"eth0:ipnet 1.0.0.0/8", "ip a090909, net 1000000/ff000000"},
  {"1.0.0.0/8 eth0:ipnet", "ip a090909, net 1000000/ff000000"},
  {"eth0:gw eth0", "ip a0909fe, eth 020000000009"},
  {"eth0:bcast", "ip a0909ff"},
  {"1.0.0.1 2.0.0.2", "ip 2000002"},
  {"1.0.0.1/8 2.0.0.2/16", "ip 1000001, net 1000001/ff000000"},
  {"1.0.0.1/8 2.0.0.0/16", "ip 1000001, net 2000000/ffff0000"},
  {"1.0.0.1/8 2.0.0.2", "ip 2000002, net 1000001/ff000000"},
  {"2.0.0.2 1.0.0.1/8", "ip 2000002, net 1000001/ff000000"},
  {"0:0:0:0:0:1 eth0 0:0:0:0:0:2", "ip a090909, eth 000000000002"},
  {"2001:db8::1/32 2001:db9::/32",
   "ip6 20010db80000" .. ONE .. ", net6 20010db90000" .. ZEROS .. "/32"},
  {"2001:db9:: 2001:db8::1/ffff:ffff::",
   "ip6 20010db90000" .. ZEROS .. ", net6 20010db80000" .. ONE .. "/32"},
  {"2001:db8::1/ffff:f0ff::",
   "'2001:db8::1/ffff:f0ff::' is not a recognizable address"},
  {"1.0.0.1 eth1", "'eth1' is not a recognizable address"},
}

describe("A name of several addresses", function ()
  for _, case in ipairs(MEANINGS) do
    it("is what its words say: " .. case[1], function ()
      assert.equal(case[2], meaning(case[1]))
    end)
  end
end)
