-- SPDX-License-Identifier: Apache-2.0
local copies = require("program.click.copies")
local placement = require("core.cpus.placement")
local registry = require("click.registry")

-- A router of elements of these classes.
local function router(...)
  local r = {elements = {}, devices = {by_text = {}}}
  for i, name in ipairs{...} do
    r.elements[i] = {name = name:lower(), class = registry.find(name)}
  end
  return r
end

describe("Copies of a configuration", function ()
  after_each(function () placement.use(nil) end)

  it("are asked for by CPUs or a number of threads", function ()
    assert.is_nil(copies.wanted{})
    assert.is_nil(copies.wanted{threads = 1})
    assert.is_nil(copies.wanted{cpus = {3}})
    assert.same({3, 5}, copies.wanted{cpus = {3, 5}, threads = 2})
    placement.use("1,2")
    assert.same({1, 2}, copies.wanted{})
  end)

  it("are made where each element does the same for any flows", function ()
    local r = router("FromDPDKDevice", "Classifier", "Discard")
    assert.equal("it receives from no device", copies.problem(r, {}, 2))
    r.devices.by_text["null"] = {receivers = {r.elements[1]}, text = "null"}
    assert.is_nil(copies.problem(r, {handlers = {}}, 2))
    r.devices.by_text["pcap:rx=x"] = {receivers = {r.elements[1]}, text = "pcap:rx=x"}
    assert.equal("port 'pcap:rx=x' has one queue", copies.problem(r, {}, 2))
  end)

  it("aren't made where there is one of something", function ()
    for _, name in ipairs{"IPRewriter", "ARPQuerier", "Queue", "Script", "EtherSwitch",
      "ControlSocket", "IPReassembler", "NumberPacket"} do
      assert.equal(name:lower() .. " :: " .. name .. " sees all packets, or the router",
        copies.problem(router(name), {}, 2))
    end
    assert.equal("-h needs one router",
      copies.problem(router("Discard"), {handlers = {"c.count"}}, 2))
  end)

  it("are of classes that there are", function ()
    for name in pairs(copies.classes) do
      assert.truthy(registry.find(name), name)
    end
  end)
end)
