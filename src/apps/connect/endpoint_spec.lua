-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local endpoint = require("apps.connect.endpoint")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local setup = require("apps.connect.setup")

local function argument(more)
  local arg = {clients = "10.0.0.1", servers = "10.0.1.1",
               peer_mac = "02:00:00:00:00:02", requests = 0, life = 100}
  for k, v in pairs(more) do arg[k] = v end
  return arg
end

describe("apps.connect.endpoint", function ()
  after_each(function () engine.configure(config.new()) end)

  it("aborts all as soon as the link has room", function ()
    local c = config.new()
    config.app(c, "client", endpoint.Client, argument{limit = 5000})
    config.app(c, "peer", {new = function (class) return setmetatable({}, class) end})
    config.link(c, "client.output -> peer.input")
    engine.configure(c)
    local client, output = engine.app_table.client, engine.link_table[
      "client.output -> peer.input"]
    repeat engine.breathe() until link.nwritable(output) == 0
    assert.is_false(client:abort())
    repeat
      for _ = 1, link.nreadable(output) do packet.free(link.receive(output)) end
    until client:abort()
    local counts = client:figures().counts
    assert.equal(0, tonumber(counts.open))
    assert.is_true(counts.aborted > 0 and counts.aborted == counts.started)
  end)

  it("says what can't be", function ()
    for sentence, arg in pairs{
      ["'224.0.0.0/24' has addresses that no host can have"] =
        {clients = "224.0.0.0/24"},
      ["'223.255.255.0..224.0.0.9' has addresses that"] =
        {clients = "223.255.255.0..224.0.0.9"},
      ["with a VLAN's tag the MTU is at most 10222, not 10226"] =
        {vlan = 7, mtu = 10226},
      ["the host 'a\r\nb' is empty, or has blanks in it"] =
        {http = "/", host = "a\r\nb"},
      ["the rate of new connections a second is a number"] = {rate = 0},
      ["the count of connections is a whole number"] = {count = 1.5},
    } do
      local ok, err = pcall(setup.new, false, argument(arg))
      assert.is_false(ok, sentence)
      assert.matches(sentence, tostring(err), 1, true)
    end
    setup.new(false, argument{vlan = 7, mtu = 10222})
  end)
end)
