-- SPDX-License-Identifier: Apache-2.0
-- Stacks as text: what each part of it means, and what is refused.

local headers = require("lib.traffic.headers")
local link = require("core.link")
local maker = require("lib.traffic.maker")
local packet = require("core.packet")
local stack = require("lib.stack")

-- The first packet of the stack, resolved, in hexadecimal.
local function first(text, set)
  local output = link.new("headers_spec")
  maker.new{stack = text, set = set, size = "100"}:burst(output, 1, 0)
  local p = link.receive(output)
  local view = stack.resolve(p)
  assert.is_true(view:verify())
  return view, p, function ()
    packet.free(p)
    link.free(output, "headers_spec")
  end
end

describe("lib.traffic.headers", function ()
  it("takes names and subtypes", function ()
    assert.equal("eth_ip4_udp_vxlan_eth",
      headers.parse("eth:vlan, ip4 ,udp,vxlan,inner=eth").getName())
  end)

  it("adds optional fields, and sets them", function ()
    for _, text in ipairs{"eth,ip4,gre+Key=7+Sequence=0x10,ip6",
                          "eth,ip4,gre+key=7+sequence=16,ip6"} do
      local view, _, free = first(text)
      assert.equal("eth_ip4_gre_ip6", view:getName())
      assert.equal(7, view.gre:getKey())
      assert.equal(16, view.gre:getSequence())
      assert.is_false(view.gre:getChecksumPresent())
      free()
    end
    local view, _, free = first("eth,ip4,gre+Checksum+Key,inner=ip4", {"greKey=9"})
    assert.is_true(view.gre:getChecksumPresent())
    assert.equal(9, view.gre:getKey())
    free()
  end)

  it("sets variable parts", function ()
    local view, p, free = first("eth,ip4+options=94040000,tcp+options=020405b401")
    assert.equal("\148\4\0\0", view:get().ip4Options)
    assert.equal("\2\4\5\180\1\0\0\0", view:get().tcpOptions)
    assert.equal(100, p.length)
    assert.equal(86, view.ip4:getLength())
    free()
    local other, _, free_other = first("eth,outer=ip4+options=01010100,gre+Key=3,ip4")
    assert.equal("\1\1\1\0", other:get().ip4Options)
    assert.equal(3, other.gre:getKey())
    free_other()
  end)

  it("refuses what it doesn't know", function ()
    local function refuses(sentence, text, set)
      local ok, err = pcall(maker.new, {stack = text, set = set})
      assert.is_false(ok)
      assert.matches(sentence, tostring(err), 1, true)
    end
    refuses("gre has no optional field or variable part 'Kye'; is 'Key' meant?",
      "eth,ip4,gre+Kye")
    refuses("udp has no optional field or variable part 'Key'", "eth,ip4,udp+Key=1")
    refuses("ip4+options is given in hexadecimal, two digits a byte, not as '123'",
      "eth,ip4+options=123,udp")
    refuses("not as ''", "eth,ip4+options,udp")
    refuses("greKey: '0x1ffffffff' isn't a whole number", "eth,ip4,gre+Key=0x1ffffffff")
    refuses("greKey is set twice", "eth,ip4,gre+Key=1", {"greKey=2"})
    refuses("isn't a stack such as", "eth,ip4,gre+")
    refuses("isn't a stack such as", "eth,ip4,gre+(1)")
    refuses("there is no protocol 'grr'", "eth,ip4,grr+Key")
    refuses("has no subtype 'x'", "eth,ip4:x+options=00,udp")
    refuses("its HeaderLength allows 40 at most",
      "eth,ip4+options=" .. ("00"):rep(44) .. ",udp")
  end)
end)
