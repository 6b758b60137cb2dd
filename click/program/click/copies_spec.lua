-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local copies = require("program.click.copies")
local dividable = require("core.cpus.dividable")
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
    assert.same({nil, "nothing"}, {copies.problem(r, {handlers = {}}, 2)})
  end)

  it("aren't made where there is one of something", function ()
    for name, why in pairs{
      RandomBitErrors = "its class doesn't say how copies of it could divide packets",
      NumberPacket = "packets are numbered in one row",
      Shaper = "it keeps all packets together to one rate",
    } do
      assert.equal(("%s :: %s: %s"):format(name:lower(), name, why),
        copies.problem(router(name), {}, 2))
    end
    assert.equal("-R needs one router",
      copies.problem(router("Discard"), {allow_reconfigure = true}, 2))
  end)

  -- What is said of a rewriter with one input.
  local function said(text, n)
    local r = click.router(text .. "Idle -> r -> Discard")
    r.devices = {by_text = {null = {}}}
    local why, meets = copies.problem(r, {}, n)
    r:close()
    return why or meets
  end

  it("are made of rewriters that choose ports by which replies come", function ()
    local PORTS = "(pattern 1.0.0.1 1024-65535 - - 0 0);"
    assert.equal("flow", said("r :: IPRewriter" .. PORTS, 2))
    assert.equal("flow", said("m :: RoundRobinIPMapper(1.0.0.1 1024-65535 2.0.0.1 - "
      .. "0 0, 1.0.0.1 1024-65535 2.0.0.2 - 0 0); r :: UDPRewriter(m);", 4))
    assert.equal("flow", said("r :: TCPRewriter(keep 0 0);", 2))
    assert.equal("within", said("r :: ICMPPingRewriter" .. PORTS, 2))
  end)

  it("aren't made where replies couldn't be led to their flow", function ()
    local why = "r :: IPRewriter: input 0 leaves it %s to choose a port from, and 2 "
      .. "CPUs need 64: replies couldn't be led to the CPU of their flow"
    local function with(ports)
      return said(("r :: IPRewriter(pattern 1.0.0.1 %s - - 0 0);"):format(ports), 2)
    end
    assert.equal(why:format("none"), with("-"))
    assert.equal(why:format("63"), with("1024-1086"))
    assert.equal("flow", with("1024-1087"))
    assert.equal("addresses",
      said("r :: IPAddrPairRewriter(pattern 1.0.0.1-1.0.0.200 - 0 0);", 2))
    assert.equal("r :: IPAddrRewriter: a flow is all packets of one address, whomever "
      .. "they are for",
      said("r :: IPAddrRewriter(pattern 1.0.0.1-1.0.0.200 - 0 0);", 2))
    assert.equal("r :: IPRewriter and d :: IPReassembler need packets divided "
      .. "differently", said("r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0);"
        .. "d :: IPReassembler; Idle -> d -> Discard;", 2))
    assert.equal("s :: StoreIPAddress changes packets by which replies would be led to "
      .. "the CPU of their flow, which r :: IPRewriter needs",
      said("s :: StoreIPAddress(1.0.0.1, dst); Idle -> s -> Discard;"
      .. "r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0);", 2))
  end)

  it("are divided as the classes of elements say", function ()
    for _, class in ipairs(registry.list()) do
      local division = class.division
      assert(division == nil or division == "none" or dividable.is(class),
        ("%s: division %q"):format(class.name, tostring(division)))
      assert(class.undivided == nil or division == "none", class.name)
    end
  end)

  it("can't be by flow where what is before the flows changes them", function ()
    local why = "%s changes packets by which replies would be led to the CPU of their "
      .. "flow, which m :: FlowIPManagerIMP needs"
    assert.equal(why:format("s :: StripIPHeader"), said("r :: Tee;"
      .. "r [1] -> s :: StripIPHeader -> m :: FlowIPManagerIMP -> Discard;", 2))
    assert.equal("flow", said("r :: Tee;"
      .. "r [1] -> m :: FlowIPManagerIMP -> StripIPHeader -> Discard;", 2))
  end)

  it("are told of by element, or why there are none", function ()
    local r = click.router("i :: Idle -> m :: FlowIPManagerIMP -> d :: Discard")
    r.devices = {by_text = {["xdp:x"] = {text = "xdp:x", receivers = {r.elements[1]},
      senders = {}}}}
    copies.explain(r, {0, 3}, copies.division(r, 2), nil, "flow")
    r:close()
    assert.same({
      "a copy of the router on each of the CPUs 0, 3; each gets the packets of its "
        .. "flows, by addresses and ports",
      "  any packet to any copy: i :: Idle, d :: Discard",
      "  by flow: packets of two addresses and ports, both ways, to one copy: "
        .. "m :: FlowIPManagerIMP",
      "  xdp:x: one queue, on CPU 0; its packets are handed out in software",
    }, placement.told())
    r = router("Counter", "Shaper")
    local why = copies.problem(r, {}, 2)
    copies.explain(r, {0, 3}, copies.division(r, 2), why)
    assert.same({
      "one copy of the router, not one on each of the CPUs 0, 3: shaper :: Shaper: "
        .. "it keeps all packets together to one rate",
      "  any packet to any copy: counter :: Counter",
      "  not divided: it keeps all packets together to one rate: shaper :: Shaper",
    }, placement.told())
  end)
end)
