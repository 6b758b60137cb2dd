-- SPDX-License-Identifier: Apache-2.0
-- FromTcpdump makes packets of the lines that tcpdump printed (click.summary.tcpdump).

local element = require("click.element")
local FromIPSummaryDump = require("click.elements.analysis.from_summary")[1]
local Reader = require("click.summary.tcpdump")

local FromTcpdump = element.define{
  name = "FromTcpdump", summary = "reads packets from tcpdump's text",
  extends = FromIPSummaryDump,
  arguments = {
    {"FILENAME", "filename", required = true},
    {"STOP", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"ZERO", "bool", default = true, keyword = true},
    {"CHECKSUM", "bool", default = false, keyword = true},
    {"SAMPLE", "real", default = 1, min = 0, keyword = true},
  },
  notes = "Lines are as tcpdump -tt -n wrote them up to version 3, without \"IP\" "
    .. "before the addresses: 977492832.61 10.0.0.1.1234 > 10.0.0.2.22: S 10:10(0) win "
    .. "5840. Of newer ones, let FromDump read the savefile.",
  differs = "ZERO has no effect: what the text doesn't say is zero. ECT(0) and ECT(1) "
    .. "are RFC 3168's, and a fragment's offset and length are tcpdump's.",
}

function FromTcpdump:configure(a)
  a.BURST = 1
  FromIPSummaryDump.configure(self, a)
end

function FromTcpdump:make_reader(say)
  return Reader.new(self.lines, self, {checksums = self.arguments_given.CHECKSUM,
    say = say})
end

return {FromTcpdump}
