-- SPDX-License-Identifier: Apache-2.0
-- Port strings: what they parse to, what they become for DPDK, what errors say.

local spec = require("lib.port.spec")
local device = require("lib.port.device")
local failure = require("core.failure")
local kinds = require("lib.port.kinds")

local function devargs(port, id) return device.string(kinds.of(port), port, id) end

local function sentence(...)
  local ok, err = pcall(...)
  assert.is_false(ok)
  assert.is_true(failure.is(err), tostring(err))
  assert.equal(2, err.status)
  assert.is_nil(tostring(err):find("\n"))
  return tostring(err)
end

describe("spec.parse", function()
  local valid = {
    {"null", "null", "net_null_pg7,size=60,copy=0"},
    {"null:size=60", "null", "net_null_pg7,size=60,copy=0"},
    {"null:size=1500", "null:size=1500", "net_null_pg7,size=1500,copy=0"},
    {"pcap:rx=a.pcap,tx=/t/b.pcap", "pcap:rx=a.pcap,tx=/t/b.pcap"},
    {"pcap:loop=1,rx=a b.pcap", "pcap:rx=a b.pcap,loop=1"},
    {"pcap:tx=b", "pcap:tx=b"},
    {"packet:veth0", "packet:veth0"},
    {"packet:veth0,force=1,ring=100", "packet:veth0,ring=100,force=1"},
    {"packet:iface=veth0", "packet:veth0"},
    {"xdp:eth1.7", "xdp:eth1.7",
      "net_af_xdp_pg7,iface=eth1.7,start_queue=0,queue_count=1"},
    {"xdp:e,queue=3", "xdp:e,queue=3",
      "net_af_xdp_pg7,iface=e,start_queue=3,queue_count=1"},
    {"netmap:name=eth0", "netmap:eth0"},
    {"netmap:vale0:a", "netmap:vale0:a"},
    {"netmap:a{1", "netmap:a{1"},
    {"tap:tap0", "tap:tap0", "net_tap_pg7,iface=tap0"},
    {"memif:/m.sock", "memif:/m.sock"},
    {"memif:id=4294967295,socket=/m,role=server", "memif:/m,role=server,id=4294967295"},
    {"memif:/m,queues=1,ring=16384,buffer=64", "memif:/m,ring=16384,buffer=64"},
    {"vhost:/v", "vhost:/v",
      "net_vhost_pg7,iface=/v,queues=1,client=0,linear-buffer=1"},
    {"vhost:/v,client=1", "vhost:/v,client=1",
      "net_vhost_pg7,iface=/v,queues=1,client=1,linear-buffer=1"},
    {"virtio-user:/v,server=1", "virtio-user:/v,server=1"},
    {"0000:0A:00.1", "0000:0a:00.1", "0000:0a:00.1"},
    {"01:00.0", "0000:01:00.0", "0000:01:00.0"},
    {"10000:01:00.0", "10000:01:00.0", "10000:01:00.0"},
  }
  for _, case in ipairs(valid) do
    it("takes " .. case[1], function()
      local port = spec.parse(case[1])
      assert.equal(case[2], port.text)
      if case[3] then assert.equal(case[3], devargs(port, 7)) end
      assert.same(port, spec.parse(port.text))
    end)
  end

  it("gives the arguments as values", function()
    assert.same({kind = "xdp", driver = "net_af_xdp", iface = "e", queue = 3,
      wait = 0, text = "xdp:e,queue=3"}, spec.parse("xdp:e,queue=3"))
    assert.same({kind = "pci", address = "0000:01:00.0", text = "0000:01:00.0",
      offload = 0, fast_free = 1}, spec.parse("01:00.0"))
    assert.same({kind = "pci", address = "0000:01:00.0", offload = 1,
      fast_free = 1, text = "0000:01:00.0,offload=1"}, spec.parse("01:00.0,offload=1"))
    assert.equal(1, spec.parse("tap:t,offload=1").offload)
    assert.is_nil(spec.parse("null").offload)
  end)

  it("takes port numbers as numbers and as digits", function()
    assert.same({kind = "number", number = 3, text = "3", offload = 0, fast_free = 1},
      spec.parse(3))
    assert.equal("3,fast_free=0", spec.parse("3,fast_free=0").text)
    assert.equal("3,offload=1", spec.parse("3,offload=1").text)
    assert.same(spec.parse(3), spec.parse("3"))
    assert.is_nil(devargs(spec.parse(3), 1))
  end)

  it("leaves rings to the caller", function()
    local port = spec.parse("ring:a-b_c.1")
    assert.equal("a-b_c.1", port.name)
    assert.is_nil(devargs(port, 1))
  end)

  local refused = {
    {"foo", "^'foo' isn't a port; a port is null%[:size=60%], pcap:"},
    {"eth0", "packet:IFACE%[,ring=N,shared=1,force=1,wait=1%], "
      .. "xdp:IFACE%[,queue=N,wait=1%]"},
    {"", "^'' isn't a port"},
    {"order", "isn't a port"},
    {"null size", "isn't a port"},
    {"70000", "isn't a port"},
    {"01:00.8", "isn't a port"},
    {"01:00.0,offload=2", "offload must be a whole number from 0 to 1, not '2'"},
    {"01:00.0,queue=1", "pci has no argument 'queue'; it takes offload, fast_free"},
    {"01:00.0,", "'' isn't NAME=VALUE; pci is written "
      .. "0000:01:00.0%[,offload=1,fast_free=0%]"},
    {"3,offload=1,offload=1", "'offload' is given twice"},
    {"70000,offload=1", "isn't a port"},
    {"packet:eth0,offload=1", "packet has no argument 'offload'"},
    {"null:size=x", "size must be a whole number from 14 to 10240, not 'x'"},
    {"null:size=13", "not '13'"},
    {"null:size=10241", "not '10241'"},
    {"null:size=60,size=60", "'size' is given twice"},
    {"null:copy=1", "null has no argument 'copy'; it takes size"},
    {"null:60", "'60' isn't NAME=VALUE; null is written null%[:size=60%]"},
    {"null,size=60", "isn't a port"},
    {"pcap", "needs rx or tx: it is written pcap:rx=FILE,tx=FILE%[,loop=1%]"},
    {"pcap:loop=1", "needs rx or tx"},
    {"pcap:a.pcap", "'a.pcap' isn't NAME=VALUE"},
    {"pcap:rx=a,b.pcap", "'b.pcap' isn't NAME=VALUE; .* can't contain commas"},
    {"pcap:rx=a=b", "without ',' or '='"},
    {"pcap:rx=", "rx must be a path"},
    {"ring", "needs its name: it is written ring:NAME"},
    {"ring:a/b", "name must be a name of 1 to 20 letters"},
    {"packet:", "needs its iface: it is written packet:IFACE"},
    {"packet:a123456789012345", "1 to 15 bytes"},
    {"packet:..", "1 to 15 bytes"},
    {"tap:x%d", "without '/', ':', '=', '%%', '%[' or space, not 'x%%d'"},
    {"xdp:x[", "without '/', ':', '=', '%%', '%[' or space, not 'x%['"},
    {"memif:/tmp/a[b/m", "without ',', '=' or '%[', not '/tmp/a%[b/m'"},
    {"packet:a/b", "without '/'"},
    {"packet:eth0,queue=1", "packet has no argument 'queue'; it takes iface"},
    {"xdp:eth0,queue=-1", "queue must be a whole number from 0 to 65534"},
    {"netmap", "needs its name: it is written netmap:NAME"},
    {"netmap:a/b", "an interface, vale0:a, a{1 or a}1, not 'a/b'"},
    {"netmap:a123456789012345", "1 to 15 bytes"},
    {"memif:/m,role=master", "role must be server or client, not 'master'"},
    {"memif:/" .. ("m"):rep(107), "1 to 107 bytes"},
    {"memif:role=server",
      "needs its socket: it is written memif:PATH%[,role=server,id=N,queues=N,ring"},
    {"memif:/m,ring=1", "ring must be a whole number from 2 to 16384, not '1'"},
    {"memif:/m,buffer=63", "buffer must be a whole number from 64 to 65536, not '63'"},
    {"vhost:/v,client=yes", "client must be a whole number from 0 to 1, not 'yes'"},
  }
  for _, case in ipairs(refused) do
    it("refuses " .. (case[1]:sub(1, 30)), function()
      assert.matches(case[2], sentence(spec.parse, case[1]))
    end)
  end

  it("refuses what isn't a string or a number of a port", function()
    assert.matches("not by a table", sentence(spec.parse, {}))
    assert.matches("'%-1' isn't a port", sentence(spec.parse, -1))
    assert.matches("'1.5' isn't a port", sentence(spec.parse, 1.5))
  end)
end)

describe("spec.replace", function()
  after_each(function()
    for address in pairs(spec.replacements()) do spec.replace(address) end
  end)

  it("applies to full and short addresses, in any case", function()
    spec.replace("0A:00.0", "null:size=100")
    for _, address in ipairs {"0a:00.0", "0A:00.0", "0000:0a:00.0"} do
      local port = spec.parse(address)
      assert.equal("null:size=100", port.text)
      assert.equal("0000:0a:00.0", port.replaces)
    end
    assert.equal("null:size=100", spec.parse("0a:00.0,offload=1").text)
    assert.equal("pci", spec.parse("0b:00.0").kind)
    assert.same({["0000:0a:00.0"] = "null:size=100"}, spec.replacements())
  end)

  it("doesn't follow replacements of replacements", function()
    spec.replace("01:00.0", "02:00.0")
    spec.replace("02:00.0", "01:00.0")
    assert.equal("0000:02:00.0", spec.parse("01:00.0").text)
    assert.equal("0000:01:00.0", spec.parse("02:00.0").text)
  end)

  it("is taken away by nil", function()
    spec.replace("01:00.0", "null")
    spec.replace("01:00.0", nil)
    assert.equal("pci", spec.parse("01:00.0").kind)
  end)

  it("takes the form of the command line", function()
    spec.replace_option("01:00.0=pcap:rx=a.pcap,tx=b.pcap")
    assert.equal("pcap:rx=a.pcap,tx=b.pcap", spec.parse("01:00.0").text)
  end)

  it("refuses two ports for one device", function()
    spec.replace_option("01:00.0=null")
    spec.replace_option("0000:01:00.0=null")
    assert.matches("it is 'null' already",
      sentence(spec.replace_option, "0000:01:00.0=ring:a"))
    spec.replace_option("900=null")
    assert.matches("it is 'null' already", sentence(spec.replace_option, "900=ring:a"))
    spec.replace("900")
  end)

  it("refuses what can't be replaced or isn't a port", function()
    assert.matches("^'eth0' isn't a PCI address",
      sentence(spec.replace, "eth0", "null"))
    assert.matches("'nil' isn't a port", sentence(spec.replace, "01:00.0", "nil"))
    assert.matches("isn't ADDRESS=PORT", sentence(spec.replace_option, "01:00.0"))
  end)
end)

describe("spec.help", function()
  it("has every kind and every argument with its line", function()
    local help = spec.help()
    for _, kind in ipairs(kinds.list) do
      local form = kind.written or spec.form(kind)
      assert.truthy(help:find("\n  " .. form .. " ", 1, true))
      for _, arg in ipairs(kind.args) do
        assert.truthy(help:find(arg.help, 1, true))
      end
    end
  end)

  it("shows forms that parse", function()
    for _, kind in ipairs(kinds.list) do
      local form = spec.form(kind):gsub("[%[%]]", ""):gsub("=N", "=1")
      assert.equal(kind, kinds.of(spec.parse(form)))
    end
  end)
end)
