-- SPDX-License-Identifier: Apache-2.0
-- Apps of kernel interfaces and sockets: the port string that each makes of its
-- argument, told from the sentence that refuses it. (That they pass packets is shown
-- by the system tests, which have network namespaces.)

local failure = require("core.failure")

local function refusal(class, arg)
  local ok, err = pcall(class.check_arg, arg)
  assert.is_false(ok)
  assert.is_true(failure.is(err), tostring(err))
  return tostring(err)
end

describe("apps.socket.raw", function()
  local RawSocket = require("apps.socket.raw").RawSocket

  it("opens the interface by AF_PACKET", function()
    assert.matches("^port 'packet:nosuch0': there is no kernel interface 'nosuch0'",
      refusal(RawSocket, "nosuch0"))
  end)

  it("refuses an argument that isn't a name", function()
    assert.matches("an interface's name, not a table", refusal(RawSocket, {}))
  end)
end)

describe("apps.xdp", function()
  local xdp = require("apps.xdp.xdp")

  it("opens a queue of the interface by AF_XDP", function()
    assert.matches("^port 'xdp:nosuch0,queue=2': there is no kernel interface",
      refusal(xdp.driver, {ifname = "nosuch0", queue = 2}))
    assert.matches("^port 'xdp:nosuch0': ",
      refusal(xdp.XDP, {ifname = "nosuch0", queue = 0}))
  end)

  it("refuses a filter, which would leave packets to the kernel", function()
    assert.matches("'filter' isn't there",
      refusal(xdp.XDP, {ifname = "nosuch0", filter = "ip", queue = 0}))
  end)

  it("has Snabb's switch, which leaves packets as they are", function()
    local headroom = packet.default_headroom
    xdp.snabb_enable_xdp {num_chunks = 1000}
    local p = packet.from_string("abc")
    assert.same({3, headroom}, {p.length, p.data_off})
    packet.free(p)
  end)
end)

describe("apps.vhost", function()
  local VhostUser = require("apps.vhost.vhost_user").VhostUser

  it("connects to the socket, or serves it", function()
    assert.matches("^port 'vhost:/nosuch/v,client=1': there is no directory",
      refusal(VhostUser, {socket_path = "/nosuch/v"}))
    assert.matches("^port 'vhost:/nosuch/v': there is no directory",
      refusal(VhostUser, {socket_path = "/nosuch/v", is_server = true}))
  end)

  it("needs a socket", function()
    assert.matches("a table with `socket_path`", refusal(VhostUser, {}))
  end)
end)
