-- SPDX-License-Identifier: Apache-2.0
local ip_options = require("click.summary.ip_options")
local md5 = require("click.summary.md5")
local tcp_options = require("click.summary.tcp_options")

describe("IP options", function ()
  it("are texts and back", function ()
    for text, wanted in pairs{
      ["rr{2.3.4.5}+3"] = "\7\19\8\2\3\4\5" .. ("\0"):rep(12),
      ["rr{}+1"] = "\7\7\4\0\0\0\0",
      ["ssrr{1.0.0.1,1.0.0.2^1.0.0.3}"] = "\137\15\12\1\0\0\1\1\0\0\2\1\0\0\3",
      ["lsrr{1.0.0.1^}"] = "\131\7\8\1\0\0\1",
      ["ts{1,10000,!45}+2"] = "\68\24\17\0\0\0\0\1\0\0\39\16\128\0\0\45"
        .. ("\0"):rep(8),
      ["ts.ip{1.0.0.1=!8320^}++5"] = "\68\12\13\81\1\0\0\1\128\0\32\128",
      ["ts.preip{1.0.0.1=1^1.0.0.3}"] = "\68\20\13\3\1\0\0\1\0\0\0\1\1\0\0\3\0\0\0\0",
      ["98=0:5:10"] = "\98\5\0\5\10",
    } do
      local bytes = ip_options.parse(text)
      assert.equal(wanted, bytes, text)
      assert.equal(text, ip_options.text(bytes))
    end
  end)

  it("may be written in other ways", function ()
    for text, wanted in pairs{
      ["ssrr{1.0.0.1,^1.0.0.2}"] = "ssrr{1.0.0.1^1.0.0.2}",
      ["ts{1.0.0.1=5,1.0.0.2=6}"] = "ts.ip{1.0.0.1=5,1.0.0.2=6^}",
      ["ts.3{1.0.0.1=1,^1.0.0.3,1.0.0.4=?}"] = "ts.preip{1.0.0.1=1^1.0.0.3,1.0.0.4}",
      ["ts{1,^0,0};rr{}+1"] = "ts{1}+2;rr{}+1", ["nop;nop;eol"] = ".", ["."] = ".",
    } do
      assert.equal(wanted, ip_options.text(ip_options.parse(text)), text)
    end
  end)

  it("that are wrong have no bytes, or no text", function ()
    for _, text in ipairs{"rr{1.2.3}", "rr{300.0.0.1}", "rr{1.2.3.4", "ts{1.0.0.1}",
        "256", "1=", "x", "98=1:300", "ts.x{1}", ("1=1:1:1:1;"):rep(9) .. "1"} do
      assert.is_nil(ip_options.parse(text), text)
    end
    for _, bytes in ipairs{"\7", "\7\2\4", "\7\40\4\0", "\68\4\1\0", "\98\1"} do
      assert.equal("?", ip_options.text(bytes))
    end
  end)
end)

describe("TCP options", function ()
  it("are texts and back", function ()
    for text, wanted in pairs{
      ["mss1400;wscale10;sackok"] = "\2\4\5\120\3\3\10\4\2",
      ["sack95-98"] = "\5\10\0\0\0\95\0\0\0\98",
      ["sack1-10;sack1-18"] = "\5\10\0\0\0\1\0\0\0\10\5\10\0\0\0\1\0\0\0\18",
      ["ts5:4294967295"] = "\1\1\8\10\0\0\0\5\255\255\255\255",
      ["99=1"] = "\99\3\1",
    } do
      local bytes = tcp_options.parse(text, "all")
      assert.equal(wanted, bytes, text)
      assert.equal(text, tcp_options.text(bytes, "all"))
    end
    assert.equal("\5\18\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4",
      tcp_options.parse("sack1:2,sack3-4", "all"))
  end)

  it("may be shown in part", function ()
    local bytes = tcp_options.parse("mss1400;ts5:6;sackok", "all")
    assert.equal("mss1400;sackok", tcp_options.text(bytes, "not_time"))
    assert.equal("sackok", tcp_options.text(bytes, "sack"))
    assert.is_nil(tcp_options.parse("mss1400", "sack"))
  end)

  it("that are wrong have no bytes, or no text", function ()
    for _, text in ipairs{"mss70000", "wscale256", "sack1", "ts1", "sack1:"} do
      assert.is_nil(tcp_options.parse(text, "all"), text)
    end
    for _, bytes in ipairs{"\2", "\2\3\1", "\5\9\0\0\0\0\0\0\0", "\8\2", "\99\1"} do
      assert.equal("?", tcp_options.text(bytes, "all"))
    end
  end)
end)

describe("MD5", function ()
  it("is that of RFC 1321", function ()
    assert.equal("d41d8cd98f00b204e9800998ecf8427e", md5.hex(md5.sum("")))
    assert.equal("57edf4a22be3c955ac49da2e2107b67a",
      md5.hex(md5.sum(("1234567890"):rep(8))))
    assert.equal("u3bJz@iaYsq6aMaMSJVq_b", md5.short_text(md5.sum("")))
    assert.equal("sy@Uze03MHB84qQruJ_zma", md5.short_text(md5.sum("hi there\n")))
  end)
end)
