-- SPDX-License-Identifier: Apache-2.0
-- The lines of counters. People's tools parse them, so they are libmoon's to the letter
-- ("ini" is MoonGen's of 2015). Each format has three functions of (counter, file,
-- ...): `init` once, `update` with the interval's figures, `final` with those of all.
--
-- A counter has `name`, `direction` ("RX" or "TX"), `total`, `totalBytes` (with CRC),
-- and lists `mpps`, `mbit`, `wireMbit` with their figures (measure.statistics).

local colors = require("moongen.colors")
local files = require("core.lib.files")

local COLOR = {RX = "cyan", TX = "blue"}
local OLD_WORD = {RX = "Received", TX = "Sent"}

local CSV_HEADER =
  "Time,Device,Direction,PacketRate,Mbit,MbitWithFraming,TotalPackets,TotalBytes\n"
local CSV_LINE = "%d,%s,%s,%s,%s,%s,%s,%s\n"
local UPDATE = "%s[%s] %s%s: %.2f Mpps, %.0f Mbit/s (%.0f Mbit/s with framing)\n"
local FINAL = "%s[%s] %s%s: %.2f (StdDev %.2f) Mpps, %.0f (StdDev %.0f) Mbit/s " ..
  "(%.0f Mbit/s with framing), total %d packets with %d bytes (incl. CRC)\n"
local INI_UPDATE = "%s%s,packets=%d,rate=%.2f,rate_mbits=%.2f,rate_wire=%.2f\n"
local INI_FINAL = "%sTotal%s,packets=%d,bytes=%d,rate=%f,rate_dev=%f,rate_mbits=%f," ..
  "rate_mbits_dev=%f,rate_wire=%f,rate_wire_dev=%f.\n"

local function nothing() end

-- Raises a failure if the counter's file (of the name counter.closeFile) can't be
-- written.
local function write(counter, file, text, ...)
  local name = counter.closeFile or file == io.stdout and "standard output"
    or "the statistics"
  files.append(file, name, text:format(...))
end

-- What switches the direction's colour on and off, where the file is a terminal.
local function paint(file, direction)
  if not colors.on(file) then return "", "" end
  return colors.code(COLOR[direction]), colors.code()
end

local plain = {init = nothing}

function plain.update(counter, file, interval)
  local on, off = paint(file, counter.direction)
  write(counter, file, UPDATE, on, counter.name, counter.direction, off,
    interval.mpps, interval.mbit, interval.wireMbit)
end

function plain.final(counter, file)
  local on, off = paint(file, counter.direction)
  write(counter, file, FINAL, on, counter.name, counter.direction, off,
    counter.mpps.avg, counter.mpps.stdDev, counter.mbit.avg, counter.mbit.stdDev,
    counter.wireMbit.avg, counter.total, counter.totalBytes)
end

local csv = {}
local headed = setmetatable({}, {__mode = "k"}) -- the files that have their header

function csv.init(counter, file)
  if headed[file] then return end
  headed[file] = true
  write(counter, file, CSV_HEADER)
end

local function csv_line(counter, file, mpps, mbit, wire)
  write(counter, file, CSV_LINE, os.time(), counter.name, counter.direction, mpps, mbit,
    wire, counter.total, counter.totalBytes)
end

function csv.update(counter, file, interval)
  csv_line(counter, file, interval.mpps, interval.mbit, interval.wireMbit)
end

function csv.final(counter, file)
  csv_line(counter, file, counter.mpps.avg, counter.mbit.avg, counter.wireMbit.avg)
end

local ini = {init = nothing}

function ini.update(counter, file, interval)
  write(counter, file, INI_UPDATE, counter.name, OLD_WORD[counter.direction],
    counter.total, interval.mpps, interval.mbit, interval.wireMbit)
end

function ini.final(counter, file)
  local mpps, mbit, wire = counter.mpps, counter.mbit, counter.wireMbit
  write(counter, file, INI_FINAL, counter.name, OLD_WORD[counter.direction],
    counter.total, counter.totalBytes, mpps.avg, mpps.stdDev, mbit.avg, mbit.stdDev,
    wire.avg, wire.stdDev)
end

return {
  plain = plain, CSV = csv, csv = csv, ini = ini,
  ["nil"] = {init = nothing, update = nothing, final = nothing},
}
