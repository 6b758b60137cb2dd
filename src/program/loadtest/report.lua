-- SPDX-License-Identifier: Apache-2.0
-- What a trial has shown: as text, as lines of CSV in Snabb's two forms, and as JSON.

local cjson = require("cjson")

local report = {}

--- The result of a trial (program.loadtest.tester) as text.
function report.text(result)
  local lines = {}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  for _, s in ipairs(result.streams) do
    add("  %s:", s.name)
    add("    TX %d packets (%f MPPS), %d bytes (%f Gbps)%s", s.tx, s.tx_pps / 1e6,
      s.tx_bytes, s.tx_rate / 1e9, s.kept and "" or ", the rate was not kept")
    add("    RX %d packets (%f MPPS), %d bytes (%f Gbps)", s.rx, s.rx_pps / 1e6,
      s.rx_bytes, s.rx_rate / 1e9)
    add("    Loss: %d ingress drop + %d packets lost (%f%%)", s.drops,
      math.max(0, s.lost - s.drops), 100 * s.loss)
  end
  return table.concat(lines, "\n") .. "\n"
end

--- What is said of a trial that is to be done again.
function report.void(result)
  return ("Void: %s. Again.\n"):format(result.reason)
end

report.CSV_HEADER = "load_gbps,stream,tx_packets,tx_mpps,tx_bytes,tx_gbps,rx_packets,"
  .. "rx_mpps,rx_bytes,rx_gbps,ingress_drop,lost_packets,lost_percent\n"
report.HYDRA_HEADER = "benchmark,id,score,unit\n"

--- A line of CSV for each stream.
function report.csv(result)
  local lines = {}
  for i, s in ipairs(result.streams) do
    lines[i] = ("%f,%s,%d,%f,%d,%f,%d,%f,%d,%f,%d,%d,%f\n"):format(result.rate / 1e9,
      s.name, s.tx, s.tx_pps / 1e6, s.tx_bytes, s.tx_rate / 1e9, s.rx, s.rx_pps / 1e6,
      s.rx_bytes, s.rx_rate / 1e9, s.drops, math.max(0, s.lost - s.drops), 100 * s.loss)
  end
  return table.concat(lines)
end

--- The same for Hydra: four lines for each stream.
function report.hydra(result)
  local lines = {}
  for _, s in ipairs(result.streams) do
    for _, row in ipairs{
      {"rx_mpps", s.rx_pps / 1e6, "mpps"}, {"rx_gbps", s.rx_rate / 1e9, "gbps"},
      {"ingress_drop", s.drops, "packets"},
      {"lost_percent", 100 * s.loss, "percentage"},
    } do
      lines[#lines + 1] = ("%s_%s,%.f,%f,%s\n"):format(s.name, row[1],
        result.rate / 1e9, row[2], row[3])
    end
  end
  return table.concat(lines)
end

--- A table of results as JSON text.
function report.json(results)
  return cjson.encode(results) .. "\n"
end

return report
