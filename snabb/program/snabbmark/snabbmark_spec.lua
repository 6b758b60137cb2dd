-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

local function snabbmark(...)
  return testing.perigee{"snabbmark", ...}
end

local NS = "%d+%.%d%d ns per iteration %(result: "

describe("snabbmark", function ()
  it("runs basic1 in each form, and says what was processed #slow", function ()
    for _, name in ipairs{"basic1", "basic1_events", "basic1_tick",
                          "basic1_push_link"} do
      local said, status = snabbmark(name, "2e5")
      assert.equal(0, status)
      assert.matches("\nProcessed 0%.2 million packets in %d+%.%d%d seconds "
        .. "%(rate: %d+%.%d Mpps%)%.\nCPU time: %d+%.%d%d seconds %(%d+%.%d%d ns a "
        .. "packet%)%.\n$", said)
      local n = tonumber((said:match("([%d,]+) sent on Source%.tx"):gsub(",", "")))
      for output in said:gmatch("([%d,]+) sent on Tee%.tx%d") do
        assert.equal(n, tonumber((output:gsub(",", ""))))
      end
      assert.is_true(n >= 2e5 and n < 3e5)
    end
  end)

  it("sums up checksums that agree", function ()
    local said, status = snabbmark("--scale", "0.001", "checksum")
    assert.equal(0, status)
    for size in ("44 550 1516"):gmatch("%d+") do
      local line = "Size=" .. size .. " bytes; MPPS=%d+ M: " .. NS .. "(%d+)"
      assert.equal(said:match("C: " .. line), said:match("SIMD: " .. line))
    end
    assert.matches("; %d+%.%d%d ns per byte\n", said)
  end)

  it("finds in a ctable what it has put there", function ()
    local said, status = snabbmark("--scale", "0.01", "ctable")
    assert.equal(0, status)
    local lines = 0
    for what, result in said:gmatch("([^\n]*): " .. NS .. "([^)]*)") do
      lines = lines + 1
      assert.equal(what:match("^insertion") and "nil" or "-20001", result)
    end
    assert.equal(12, lines)
  end)

  it("hashes one key and several to the same", function ()
    local said, status = snabbmark("--scale", "1e-6", "hash", "8")
    assert.equal(0, status)
    assert.matches("baseline: " .. NS, said)
    assert.matches("sip hash c=2,d=4 %(x8%): " .. NS, said)
  end)

  it("sends from port to port", function ()
    local said, status = testing.script([[
      local stdlib = require("posix.stdlib")
      stdlib.setenv("SNABB_PCI0", "ring:a")
      stdlib.setenv("SNABB_PCI1", "ring:a")
      main.launch("snabbmark", {"intel1g", "2e4", "60", "20"})]])
    assert.equal(0, status)
    assert.matches("\nProcessed 0%.0 million packets in ", said)
  end)

  it("tells what is wrong with its command line", function ()
    for _, case in ipairs{
      {{}, "missing argument 'benchmark'"},
      {{"nosuch"}, "there is no benchmark 'nosuch'"},
      {{"basic1"}, "basic1 takes 1 argument, not 0"},
      {{"basic1", "x"}, "'x' isn't a number of packets, such as 100, 10e6 or 10M"},
      {{"hash", "1", "2"}, "hash takes 0 to 1 arguments, not 2"},
      {{"esp", "5", "64", "around"}, "'around' isn't a mode of ESP"},
      {{"esp", "5", "64", "tunnel", "up"}, "'up' isn't a direction"},
      {{"esp", "5", "64444"}, "'64444' is too many bytes: give up to 10240"},
      {{"esp", "5", "10240"}, "'10240' is too many bytes: ESP adds some"},
      {{"esp", "5", "10230", "tunnel", "encapsulate"}, "'10230' is too many bytes"},
      {{"hash", "99999999999"}, "'99999999999' is too many bytes: give up to 65536"},
      {{"nfvconfig", "a", "b", "3"}, "snabbnfv, which Snabb has removed"},
      {{"solarflare", "5", "60"}, "the environment variable SNABB_PCI0 isn't set"},
    } do
      local said, status = snabbmark(unpack(case[1]))
      assert.matches(case[2], said, 1, true)
      assert.equal(2, status)
    end
  end)
end)
