-- SPDX-License-Identifier: Apache-2.0
-- What `perigee record` says at its end.

local core_lib = require("core.lib")

local M = {}

local MIB = 1024 * 1024

local function commas(n) return core_lib.comma_value(("%.0f"):format(n)) end

local function losses(ports)
  local list = {}
  local function add(port, count, what)
    if count > 0 then
      list[#list + 1] = {port = port, name = what, count = count}
    end
  end
  for _, app in ipairs(ports) do
    local stats, text = app.app:statistics(), app.text
    add(text, stats.imissed, "missed by the port")
    add(text, stats.rx_nomem + stats.rx_nombuf, "with no packet free")
    add(text, stats.rx_oversize, "longer than 10,240 bytes")
    add(text, stats.rx_bad_offload, "left to be segmented in a way not known")
    add(text, stats.ierrors, "received in error")
  end
  return #list > 0 and list or nil
end

--- The figures of a run, for `text`: of the Recorder and the ports, a list of {app =,
--- text =}.
function M.figures(recorder, ports)
  local ring = recorder.ring
  local written = 0
  for _, file in ipairs(recorder.results) do written = written + file.packets end
  return {
    received = tonumber(ring.packets), bytes = tonumber(ring.bytes), written = written,
    memory = tonumber(ring.size), kept = tonumber(ring.packets - ring.overwritten),
    seconds = recorder:seconds(), matches = tonumber(ring.matches),
    matches_within = tonumber(ring.within), not_begun = tonumber(ring.refused),
    files = #recorder.results > 0 and recorder.results or nil,
    not_received = losses(ports),
    flows = recorder.flows and recorder.flows:told(),
  }
end

--- A line about a file.
function M.file(file)
  local text = ("%s: %s packets, %.3f s before and %.3f s after the trigger"):format(
    file.file, commas(file.packets), math.max(0, file.seconds_before),
    math.max(0, file.seconds_after))
  if file.overwritten > 0 then
    text = ("%s; %s overwritten before they were written"):format(text,
      commas(file.overwritten))
  end
  if file.not_written > 0 then
    text = ("%s; %s that the file couldn't take"):format(text, commas(file.not_written))
  end
  return text .. "\n"
end

--- What is kept, before it is.
function M.beginning(options)
  local text = ("record: keeps the last %.0f MiB of packets in memory"):format(
    options.memory / MIB)
  if options.last then
    text = ("%s: %g s at up to %g Gbit/s"):format(text, options.last,
      options.rate / 1e9)
  end
  return text .. "\n"
end

local ENDS = {"idle", "active", "finished", "evicted", "flushed"}

-- How flows have ended, and what became of what was told of them.
local function flow_lines(f, lines, add)
  local ends = {}
  for _, word in ipairs(ENDS) do
    if f.ended[word] > 0 then
      ends[#ends + 1] = ("%s %s"):format(commas(f.ended[word]), word)
    end
  end
  lines[#lines + 1] = ("flows: %s, of %s packets; records: %s"):format(commas(f.flows),
    commas(f.packets), #ends > 0 and table.concat(ends, ", ") or "none")
  add(f.refused, "packets of no flow, as the table was full")
  add(f.not_ip, "packets of no flow: not IP")
  add(f.fragments, "fragments without ports")
  add(f.cut, "packets too short for ports")
  local file, ipfix = f.file, f.ipfix
  if file then
    lines[#lines + 1] = ("%s: %s flows"):format(file.file, commas(file.written))
    add(file.not_written, "flows that the file couldn't take")
  end
  if ipfix then
    lines[#lines + 1] = ("IPFIX to %s: %s flows in %s messages"):format(ipfix.to,
      commas(ipfix.sent), commas(ipfix.messages))
    add(ipfix.unsent, "flows that couldn't be sent")
    add(ipfix.refused, "messages refused: nothing listens there")
  end
end

--- The report of a run of these figures.
function M.text(f)
  local lines = {
    ("record: %s packets received, %s written to %d files"):format(commas(f.received),
      commas(f.written), #(f.files or {})),
    ("in memory: %s packets of the last %.3f s"):format(commas(f.kept), f.seconds),
  }
  local function add(n, text)
    if n > 0 then lines[#lines + 1] = ("%s %s"):format(commas(n), text) end
  end
  add(f.matches, "packets that the filter accepts")
  add(f.matches_within, "of them in the time of a file that was open")
  add(f.not_begun, "triggers without a file: as many as can be were open, or written")
  if f.flows then flow_lines(f.flows, lines, add) end
  for _, loss in ipairs(f.not_received or {}) do
    lines[#lines + 1] = ("not received from %s: %s %s"):format(loss.port,
      commas(loss.count), loss.name)
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
