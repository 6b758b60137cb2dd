-- SPDX-License-Identifier: Apache-2.0
-- Ports of this process that are open are in the way of others on the same thing.

local check = require("lib.port.check")
local opened = require("lib.port.opened")
local port_checks = require("testing.port_checks")
local spec = require("lib.port.spec")

describe("ports that are open", function()
  local tree, open, accepted, refused
  before_each(function()
    local checks = port_checks.new()
    tree, accepted, refused = checks.tree, checks.accepted, checks.refused
    open = {}
  end)
  after_each(function()
    for _, port in ipairs(open) do opened.forget(port) end
    tree.remove()
  end)

  local function claim(text)
    local port = spec.parse(text)
    opened.note(port)
    open[#open + 1] = port
    return port
  end

  it("are in the way of another on the same thing", function()
    local port = claim("packet:veth0")
    refused("packet:veth0", "this process uses it already; ")
    refused("xdp:veth0", "uses it already by the port 'packet:veth0'")
    opened.forget(port)
    accepted("xdp:veth0")
  end)

  it("aren't in the way of another queue, nor of ports that share", function()
    claim("xdp:veth0,queue=1")
    claim("null")
    claim("ring:a")
    claim("tap:tap0")
    accepted("xdp:veth0,queue=2")
    accepted("xdp:veth0,queue=11")
    refused("xdp:veth0,queue=1", "uses it already")
    refused("packet:veth0", "by the port 'xdp:veth0,queue=1'")
    refused("tap:tap0", "uses it already")
    accepted("null")
    accepted("ring:a")
  end)

  it("aren't in the way if they will be closed first", function()
    local port = claim("packet:veth0")
    assert.has_no_error(function ()
      check.ready(spec.parse("packet:veth0"), tree.roots, {port})
    end)
  end)

  it("are in the way of a second writer of a file, not of a reader", function()
    tree.write("a.pcap", "\212\195\178\161" .. ("\0"):rep(20))
    local file = tree.base .. "/a.pcap"
    claim("pcap:tx=" .. file)
    refused("pcap:tx=" .. file, "uses it already")
    accepted("pcap:rx=" .. file)
  end)

  it("let interfaces of one memif socket through by their ids", function()
    local path = tree.base .. "/m"
    claim("memif:" .. path .. ",role=server")
    tree.write("m", "")
    accepted("memif:" .. path .. ",role=server,id=1")
    refused("memif:" .. path .. ",role=server", "uses it already")
  end)
end)
