-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/copies.lua FILE CAPTURE SECONDS WARM-UP COPIES NUMBER:CPU ...,
-- times in seconds of each CPU's time, as others may use it, too:
-- of so many copies of the Click configuration those of these numbers (from 0), each on
-- its CPU, as perigee click --cpus has them: device 0 is the capture, over and over, of
-- which each copy receives its flows; device 1 is a null port.
-- Prints for each CPU: packets, seconds, CPU seconds, TSC Hz.

local C = require("core.native")
local Click = require("apps.click.click").Click
local files = require("core.lib.files")
local workers = require("core.cpus.workers")

local function contents(path) return files.readfile(path, "*a") end

-- Let packets pass until each CPU has had so many seconds; what they count then.
local function go(seconds, cpus)
  local before = workers.report().cpus
  local report
  repeat
    engine.main{duration = math.max(0.05, seconds / 4), no_report = true}
    report = workers.report().cpus
    local least = math.huge
    for _, cpu in ipairs(cpus) do
      least = math.min(least, report[cpu].seconds - before[cpu].seconds)
    end
  until least >= seconds
  return report
end

local function main(path, capture, seconds, warm_up, copies, ...)
  local c, text, cpus = config.new(), contents(path), {}
  copies = tonumber(copies)
  for i, word in ipairs{...} do
    local number, cpu = word:match("^(%d+):(%d+)$")
    cpus[i] = tonumber(cpu)
    config.app(c, "click_" .. i, Click, {text = text,
      devices = {["0"] = ("pcap:rx=%s,loop=1"):format(capture), ["1"] = "null"},
      copy = copies > 1 and {number = tonumber(number), of = copies, shared = {},
                             meets = "flow"} or nil})
    config.cpu(c, "click_" .. i, cpus[i])
  end
  engine.configure(c)
  local before, began = go(tonumber(warm_up), cpus), C.pg_monotonic()
  local now, ended = go(tonumber(seconds), cpus), C.pg_monotonic()
  for _, cpu in ipairs(cpus) do
    print(("%d %.6f %.6f %d"):format(now[cpu].packets - before[cpu].packets,
      ended - began, now[cpu].seconds - before[cpu].seconds, tonumber(C.pg_tsc_hz())))
  end
end

main(...)
