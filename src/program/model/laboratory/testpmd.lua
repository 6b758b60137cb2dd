-- SPDX-License-Identifier: Apache-2.0
-- DPDK's own testpmd on the same kinds of port, for reference: CPU time a packet in its
-- forwarding modes io and mac. The difference of a short and a longer run, so that its
-- start doesn't count.

local C = require("core.native")
local eal = require("core.eal")
local kinds = require("program.model.laboratory.kinds")

local M = {}

local MODES, BURSTS = {"io", "mac"}, {32, 256}
local SHORT, LONG = 1, 2.5 -- seconds

--- Is dpdk-testpmd there? Its path, or nil and a sentence.
function M.find()
  local pipe = io.popen("command -v dpdk-testpmd || command -v testpmd")
  local path = pipe:read("*l")
  pipe:close()
  if path then return path end
  return nil, "dpdk-testpmd isn't installed; Debian has it in the package dpdk-dev "
    .. "(apt-get install dpdk-dev)"
end

-- The shell command for a mode and burst on a kind of port, for so many seconds. Both
-- of testpmd's threads share a CPU: the first only waits.
local function command(path, words, port, mode, burst, seconds)
  return ("CPU=$(taskset -pc $$ | sed 's/.*[ ,-]//'); sleep %g | timeout 30 %s %s "
    .. "--lcores 0@$CPU,1@$CPU %s -- --auto-start %s --nb-cores=1 --burst=%d "
    .. "--forward-mode=%s --total-num-mbufs=8192 2>&1; times"):format(seconds, path,
    words, port.testpmd.device, port.testpmd.more, burst, mode)
end

--- The packets received and the seconds of CPU time (in user space, where it forwards)
--- in what testpmd and the shell's `times` printed; nil if they aren't there.
function M.parse(text)
  local packets = text:match(".*RX%-packets: (%d+)")
  local minutes, seconds = text:match("(%d+)m([%d.]+)s %d+m[%d.]+s%s*$")
  if not packets or not minutes then return nil end
  return tonumber(packets), 60 * minutes + seconds
end

-- EAL's options as perigee would give them, without those that testpmd is given.
local function eal_words()
  local words = {}
  for _, word in ipairs(eal.plan({})) do words[#words + 1] = word end
  table.remove(words, 1)
  local text = " " .. table.concat(words, " ") .. " "
  text = text:gsub(" %-m %d+ ", " -m 512 ")
  text = text:gsub(" %-%-lcores[= ]%S+", ""):gsub(" %-l %S+", "")
  return (text:gsub(" %-%-file%-prefix[= ]%S+", " --file-prefix pgtestpmd"))
end

local function run(...)
  local pipe = io.popen(command(...))
  local text = pipe:read("*a")
  pipe:close()
  local packets, cpu = M.parse(text)
  return packets, cpu, text
end

local function measure(path, words, port, mode, burst)
  local row = {mode = mode, port = port.name, burst = burst}
  local before, cpu_before = run(path, words, port, mode, burst, SHORT)
  local packets, cpu, text = run(path, words, port, mode, burst, LONG)
  if before and packets and packets > before then
    row.cycles = (cpu - cpu_before) * tonumber(C.pg_tsc_hz()) / (packets - before)
  else
    row.problem = text:match("EAL: ([^\n]*)") or text:match("Cause: ([^\n]*)")
      or "it moved no packets"
  end
  return row
end

--- Measure: a list of {mode, port, burst, cycles or problem}; or nil and a sentence.
function M.run()
  local path, problem = M.find()
  if not path then return nil, problem end
  local rows, words = {}, eal_words()
  for _, port in ipairs(kinds.list) do
    for _, mode in ipairs(port.testpmd and MODES or {}) do
      for _, burst in ipairs(BURSTS) do
        rows[#rows + 1] = measure(path, words, port, mode, burst)
      end
    end
  end
  return rows
end

return M
