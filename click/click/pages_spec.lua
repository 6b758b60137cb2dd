-- SPDX-License-Identifier: Apache-2.0
local element = require("click.element")
local element_page = require("click.pages.element")
local families = require("click.pages.families")
local registry = require("click.registry")

local Mixer = {
  name = "Mixer", summary = "mixes packets", ports = "1-/2", processing = "h/ah",
  arguments = {
    {"RATE", "unsigned", required = true, max = 9},
    {"SEED", "ip", default = 0x01020304},
    {"SLOW", "bool", default = false, keyword = true}, {"TO", "eth", list = true},
  },
  handlers = {
    seed = {read = function () end, write = function () end, param = true},
    secret = {read = function () end, hidden = true},
  },
  drops = {"mixed up"}, aliases = {"Blender"}, differs = "It is louder.",
}

local PAGE = [=[
Mixer: mixes packets

    Mixer(RATE [, SEED [, TO]] [, keywords])

Also called Blender

Arguments
  RATE  unsigned  required, at most 9
  SEED  ip        default 1.2.3.4
  SLOW  bool      default false, by keyword only
  TO    eth       several, with spaces between

Ports
  1 or more inputs (push), 2 outputs (push or pull, then push)
  1-/2, processing h/ah, flow x/x

Handlers
  seed  read and write, with arguments

Drops
  mixed up

On several CPUs
  not divided: its class doesn't say how copies of it could divide packets

Differs from Click
  It is louder.
]=]

describe("The page of an element", function ()
  it("says all that its class says", function ()
    assert.equal(PAGE, element_page.text(element.define(Mixer)))
  end)

  it("shows how it is written", function ()
    local function call(arguments)
      return element_page.call({name = "X", arguments = arguments})
    end
    assert.equal("X", call{})
    assert.equal("X([keywords])", call{{"A", "int", keyword = true}})
    assert.equal("X([A])", call{{"A", "int"}})
    assert.equal("X(A, B)", call{{"A", "int", required = true},
      {"B", "int", required = true}})
    assert.equal("X(A, B, ...)", element_page.call({name = "X", usage = "A, B, ..."}))
  end)

  it("is there for every class, and by its aliases", function ()
    for _, name in ipairs(registry.names()) do
      assert.truthy(families.explain(name):find("\nPorts\n  ", 1, true))
    end
    assert.equal(families.explain("Counter"), families.explain("CounterMP"))
  end)

  it("is offered where a name is misspelt", function ()
    assert.same({nil, "there is no element class 'Strp'; is 'Strip' meant?"},
      {families.explain("Strp")})
  end)
end)

describe("The list of elements", function ()
  it("has every class once, in a family", function ()
    local count = 0
    for _, family in ipairs(families.list()) do count = count + #family.classes end
    assert.equal(#registry.list(), count)
    assert.truthy(families.text():find(
      "\nstandard\n.*\n  Discard +drops all packets\n"))
  end)
end)

-- Configurations of classes that read their arguments themselves, some of them.
local CONFIGURATIONS = {
  IPRewriter = "drop", TCPRewriter = "drop", UDPRewriter = "drop",
  IPAddrRewriter = "drop", IPAddrPairRewriter = "drop", ICMPPingRewriter = "drop",
  ControlSocket = "UNIX, /dev/null/x", IPFilter = "allow all", RegexMatcher = "abc",
  CheckIPHeader = "", ARPQuerier = "1.0.0.1, 0:0:0:0:0:1",
}

describe("The page of a class", function ()
  for name, text in pairs(CONFIGURATIONS) do
    it("has each keyword that it reads: " .. name, function ()
      local arguments = require("click.arguments")
      local reader = getmetatable(arguments.reader({}, {})).__index
      local read, seen = reader.read, {}
      function reader.read(self, spec)
        if spec.keyword then seen[#seen + 1] = spec[1] end
        return read(self, spec)
      end
      local ok, err = pcall(function ()
        require("testing.click").unit(("%s(%s)"):format(name, text))
      end)
      reader.read = read
      assert(ok, err)
      local page = families.explain(name)
      for _, keyword in ipairs(seen) do
        assert.matches("\n  " .. keyword .. " +%l+", page)
      end
      assert.is_true(#seen > 0)
    end)
  end
end)
