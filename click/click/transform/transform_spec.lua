-- SPDX-License-Identifier: Apache-2.0
local combine = require("click.transform.combine")
local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local language = require("click.language")
local undead = require("click.transform.undead")

local function read(text)
  local reporter = errors.new()
  return assert(language.read{text = text, errors = reporter, any_class = true},
    reporter:text())
end

describe("what takes dead elements out", function ()
  local function live(text)
    local said = {}
    local flat = undead(read(text), function (e) said[#said + 1] = e.name end)
    return flatfile.text(flat), said
  end

  it("keeps what is between a source and a sink", function ()
    local text, said = live[[
      Idle -> a :: Counter -> b :: Discard; s :: FromDevice(x) -> c :: Counter -> Idle;
      i :: InfiniteSource -> d :: Counter -> e :: Discard; AddressInfo(x 1.0.0.1)]]
    assert.equal("i :: InfiniteSource;\nd :: Counter;\ne :: Discard;\n"
      .. "AddressInfo@10 :: AddressInfo(x 1.0.0.1);\n\ni -> d\n    -> e;\n", text)
    assert.same({"Idle@1", "a", "b", "s", "c", "Idle@6"}, said)
  end)

  it("sees that an element may use what it doesn't pass on", function ()
    local text = live[[
      a :: FromDevice(a) -> q :: ARPQuerier(1.0.0.1, 2:2:2:2:2:2) -> d :: Discard;
      b :: FromDevice(b) -> [1] q]]
    assert.matches("b -> [1] q;", text, 1, true)
  end)

  it("takes out static switches, Null, and ports that aren't needed", function ()
    local text = live[[
      i :: InfiniteSource -> s :: StaticSwitch(1); s[0] -> ToDump(c);
      s[1] -> Null -> q :: Queue -> r :: RoundRobinSched; Idle -> [1] r;
      r -> d :: Discard;
      j :: InfiniteSource -> t :: Tee(3) -> x :: Discard; t[1] -> Counter -> Idle;
      t[2] -> y :: Discard]]
    assert.equal("i :: InfiniteSource;\nq :: Queue;\nd :: Discard;\n"
      .. "j :: InfiniteSource;\nt :: Tee(2);\nx :: Discard;\ny :: Discard;\n\n"
      .. "j -> t\n    -> x;\nt [1] -> y;\ni -> q\n    -> d;\n", text)
  end)

  it("connects what else was in use to an Idle", function ()
    local text = live[[
      i :: InfiniteSource -> s :: Switch; s[0] -> d :: Discard;
      s[1] -> Counter -> Idle]]
    assert.matches("s %[1%] %-> Idle@%d+;", text)
  end)
end)

describe("what joins routers", function ()
  local A = "x :: ThisIsA -> y :: ToDevice(eth1)"
  local B = "x :: FromDevice(eth0) -> y :: ThisIsB"

  local function both(links)
    return combine.join({{name = "A", flat = read(A)}, {name = "B", flat = read(B)}},
      links)
  end

  it("puts a link in the place of two devices", function ()
    local flat = both{"A.eth1=B.eth0"}
    assert.equal('A/x :: ThisIsA;\nB/y :: ThisIsB;\n'
      .. 'link1 :: RouterLink(A y ToDevice, "eth1", B x FromDevice, "eth0");\n\n'
      .. 'A/x -> link1\n    -> B/y;\n', flatfile.text(flat))
    assert.same({{name = "componentmap", data = "A\nB\n"}}, flat.archive)
  end)

  it("takes one of them out again", function ()
    local flat = both{"A.y = B.x"}
    assert.equal("x :: ThisIsA;\ny :: ToDevice(eth1);\n\nx -> y;\n",
      flatfile.text(combine.part(flat, "A")))
    assert.equal("y :: ThisIsB;\nx :: FromDevice(eth0);\n\nx -> y;\n",
      flatfile.text(combine.part(flat, "B")))
    assert.same({nil, "no 'C' component"}, {combine.part(flat, "C")})
  end)

  it("says which links can't be", function ()
    for link, problem in pairs{
      ["A.eth1"] = "bad link definition 'A.eth1'",
      ["A.eth1=C.x"] = "no router named 'C'",
      ["A.eth7=B.eth0"] = "router 'A' has no element or device 'eth7'",
    } do
      assert.same({nil, problem}, {both{link}})
    end
    assert.same({nil, "'A.y=B.eth0': a link has its device already"},
      {both{"A.eth1=B.x", "A.y=B.eth0"}})
    assert.same({nil, "two routers named 'A'"}, {combine.join({
      {name = "A", flat = read(A)}, {name = "A", flat = read(B)}}, {})})
  end)
end)
