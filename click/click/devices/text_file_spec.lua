-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

describe("A file that can't be written", function ()
  it("is named once, and the element goes on", function ()
    for text, name in pairs{
      ["ToIPSummaryDump(/dev/full, FIELDS src)"] = "ToIPSummaryDump",
      ["IPPrint(OUTFILE /dev/full)"] = "IPPrint",
    } do
      local unit = click.unit(text)
      assert.same({}, unit.errors)
      local note = require("click.note")
      local packet = require("core.packet")
      for _ = 1, 2000 do
        local p = packet.from_string("\69\0\0\20\0\0\0\0\64\17\0\0\10\0\0\1\10\0\0\2"
          .. ("\0"):rep(30))
        note.clear(p)
        p.note16[note.NETWORK_HEADER] = p.data_off
        unit:send(p)
        unit:free()
      end
      unit.element:cleanup()
      assert.same({("e :: %s: can't write /dev/full: No space left on device")
        :format(name)}, unit.said)
    end
  end)
end)
