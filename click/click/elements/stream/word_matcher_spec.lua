-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local run = require("testing.streams").run

describe("WordMatcher, UDP", function ()
  local LINES = {}
  for i, line in ipairs{"4 thisisan", "4 at", "4 tack", "5 thi", "5 sca", "5 t"} do
    local host, text = line:match("^(%d) (.*)$")
    LINES[i] = ("%d 18.26.4.44 18.26.4.4%s U %s"):format(i, host, text)
  end

  -- FastClick's own test of these modes, flow/remove, expects the same.
  local function payloads(arguments)
    local list = run("timestamp src dst proto payload", LINES, ([[SOURCE
      -> CTXManager(CONTEXT NONE) -> IPIn -> UDPIn -> WordMatcher(WORD is, %s) -> IPOut
      -> CheckIPHeader(VERBOSE true)
      -> ToIPSummaryDump(SINKFILE, FIELDS wire_len payload)]]):format(arguments))
    return table.concat(list, " "):gsub('"', "")
  end

  it("masks, removes, replaces, also what begins in another packet", function ()
    local F = "<font color='red'>Blocked content !</font><br />"
    local END = " 30 at 32 tack "
    for arguments, expected in pairs{
      ["MODE MASK"] = "36 th**isan" .. END .. "31 th* 31 *ca 29 t",
      ["MODE REMOVE"] = "34 thisan" .. END .. "30 th 30 ca 29 t",
      ["MODE REPLACE"] = "36 th<fisan" .. END .. "31 th< 31 fca 29 t",
      ["MODE REPLACE, ALL true"] = "36 th<f<fan" .. END .. "31 th< 31 fca 29 t",
      ["MODE FULL"] = ("82 th%sisan"):format(F) .. END
        .. ("31 th< 77 %sca 29 t"):format(F:sub(2)),
      ["MODE FULL, ALL true"] = ("128 th%s%san"):format(F, F) .. END
        .. ("31 th< 77 %sca 29 t"):format(F:sub(2)),
      ["MODE FULL, MSG X"] = "35 thXisan" .. END .. "31 thX 30 ca 29 t",
      ["MODE FULL, ALL true, MSG X"] = "34 thXXan" .. END .. "31 thX 30 ca 29 t",
      ["MODE ALERT"] = "36 thisisan" .. END .. "31 thi 31 sca 29 t",
      ["MODE CLOSE"] = "",
    } do
      assert.equal(expected, (payloads(arguments)), arguments)
    end
  end)

  it("finds several words, the first that begins first", function ()
    -- "t" may be the beginning of "ta", and waits.
    assert.equal("36 th##is## 30 at 32 ##ck 31 th# 31 #ca",
      (payloads("WORD ta, WORD isis, WORD an, MODE REPLACE, MSG #")))
  end)

  it("lets what it keeps of UDP go when the flow ends", function ()
    local list = run("timestamp src dst proto payload",
      {LINES[4], "70 1.1.1.1 1.1.1.2 U x"}, [[SOURCE
      -> FlowIPManager(TIMEOUT 5) -> WordMatcher(WORD is)
      -> ToIPSummaryDump(SINKFILE, FIELDS payload)]])
    assert.same({'"thi"', '"x"'}, list)
  end)

  it("leaves TCP without TCPIn as long as it was, with right checksums", function ()
    for mode, expected in pairs{MASK = "th** **", REMOVE = "this is"} do
      local list, numbers = run("timestamp src sport dst dport proto payload",
        {'1 1.1.1.1 1 1.1.1.2 2 T "this is"'}, ([[SOURCE -> Pad(LENGTH 80)
        -> FlowIPManager -> w :: WordMatcher(WORD is, MODE %s, ALL true)
        -> CheckIPHeader(VERBOSE true) -> CheckTCPHeader(VERBOSE true)
        -> ToIPSummaryDump(SINKFILE, FIELDS payload)]]):format(mode), "w.failed")
      assert.same({('"%s"'):format(expected)}, list)
      assert.same({mode == "REMOVE" and 2 or 0}, numbers)
    end
  end)

  it("refuses modes, words and what it can't do", function ()
    for arguments, why in pairs{
      ["WORD a, MODE X"] = "Mode must be MASK, REMOVE, REPLACE, ALERT, CLOSE or FULL",
      [""] = "No words given", ['WORD ""'] = "WORD is empty",
    } do
      assert.matches(why, select(2, click.router(
        ("Idle -> CTXManager -> WordMatcher(%s) -> Discard"):format(arguments))), 1,
        true)
    end
    assert.matches("no flow manager is in front of it",
      select(2, click.router("Idle -> WordMatcher(WORD a) -> Discard")), 1, true)
  end)
end)
