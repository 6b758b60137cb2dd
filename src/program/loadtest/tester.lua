-- SPDX-License-Identifier: Apache-2.0
-- The graph of a load test, and one trial of it: so many bits a second for so many
-- seconds, then what was sent and what came back.

local C = require("core.native")
local commands = require("program.loadtest.commands")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local doubt = require("program.loadtest.doubt")
local frames = require("program.loadtest.frames")
local quiet = require("lib.quiet")
local waiting = require("lib.waiting")
local PcapReader = require("apps.pcap.pcap").PcapReader
local Port = require("apps.port.port").Port
local Repeater = require("program.loadtest.repeater").RateLimitedRepeater
local Sink = require("apps.basic.basic_apps").Sink

local tester = {}

local Tester = {}
Tester.__index = Tester

-- The share of the offered bits that must have been sent for a rate to count as kept.
local KEPT = 0.995
local HELD_S = 1 -- between two looks whether somebody has interrupted
local STUCK_S = 1 -- a port that takes nothing for so long takes no more

--- The packets that may be sent at once by default after this machine was late.
tester.BURST = 128
-- What a receiving port holds while nobody takes it: the smallest rings have so many.
local RECEIVE_RING = 256
-- A thread that sleeps while nothing is due gets a CPU sooner, on a busy machine, than
-- one that has used it all the time. It does where packets are far apart: it awakes by
-- a share of that time before one is due, and waits busily for the rest.
local AWAKE_SHARE, SHORTEST_NAP_S, LONGEST_NAP_S = 0.05, 50e-6, 500e-6

local function add_sender(c, stream, size)
  local i = stream.number
  if stream.file then
    config.app(c, "pcap" .. i, PcapReader, stream.file)
    config.link(c, ("pcap%d.output -> repeater%d.input"):format(i, i))
  end
  local made = not stream.file and frames.make(size) or nil
  config.app(c, "repeater" .. i, Repeater, {frames = made})
  config.link(c, ("repeater%d.output -> nic%d.input"):format(i, i))
end

--- The configuration for `list` (program.loadtest.streams), with frames of `size` bytes
--- where a stream has no file.
function tester.graph(list, size)
  local c = config.new()
  for i, stream in ipairs(list) do
    config.app(c, "nic" .. i, Port, stream.port)
    config.app(c, "sink" .. i, Sink)
    config.link(c, ("nic%d.output -> sink%d.input"):format(i, i))
    if not stream.silent then add_sender(c, stream, size) end
  end
  return c
end

--- The result of f(...), in which trials are made: a signal that comes between two of
--- them stops the next, as if it had come in that.
function tester.together(f, ...)
  C.pg_catch_signals()
  local ok, result = pcall(f, ...)
  C.pg_release_signals()
  if not ok then error(result, 0) end
  return result
end

--- A tester for the streams, whose graph is running. `burst`: how many packets may be
--- sent at once after this machine was late, or those of a millisecond if they are
--- more: the device is known to hold them. (Default: BURST, and it isn't known.)
function tester.new(list, size, burst)
  engine.configure(tester.graph(list, size))
  engine.busywait = true
  local sending = {}
  for _, stream in ipairs(list) do
    if not stream.silent then sending[#sending + 1] = stream end
  end
  local self = setmetatable({streams = sending, gap = 0, looked = 0, voids = {},
    burst_limit = burst or tester.BURST, holds_bursts = burst ~= nil,
    made = 0, held = false}, Tester)
  commands.let_in(self)
  return self
end

local function app(kind, stream)
  return engine.app_table[kind .. stream.number]
end

-- What has been sent and received since the start, of each stream.
local function totals(self)
  local list = {}
  for i, stream in ipairs(self.streams) do
    local out, back = app("nic", stream), app("nic", stream.back)
    local got, sent = back:statistics(), out:statistics()
    local repeater = app("repeater", stream)
    local arrived = link.stats(back.output.output)
    list[i] = {
      bits = repeater.bits, tx = tonumber(out.port.txpackets),
      tx_bytes = tonumber(out.port.txbytes), rx = arrived.txpackets,
      rx_bytes = arrived.txbytes,
      drops = got.imissed + got.rx_nombuf + got.rx_nomem + got.rx_oversize,
      failed = sent.tx_oversize + sent.tx_runt + sent.tx_unplugged + sent.oerrors,
    }
  end
  return list
end

-- Sleep if no packet is due soon. The seconds in which what is due will still be sent.
local function rest(self, now)
  local nap, late = math.huge, 0
  for _, stream in ipairs(self.streams) do
    local repeater = app("repeater", stream)
    local seconds = repeater:due_in(now)
    if seconds <= 0 then late = math.max(late, repeater.schedule.catch_up) end
    nap = math.min(nap, seconds - AWAKE_SHARE * repeater.apart)
  end
  if nap > SHORTEST_NAP_S then C.pg_sleep(math.min(nap, LONGEST_NAP_S)) end
  return late
end

-- The longest time between two breaths of a trial is its `gap`: for so long nothing was
-- sent, nor taken from the receiving ports. It ends after `seconds`, or before, when
-- done() (optional) says so; with `by_done` only then, and `seconds` are what is shown.
local function run_for(self, seconds, done, by_done)
  local began, ends = engine.now(), by_done and math.huge or engine.now() + seconds
  local wait = waiting.start(self.doing
    and ("trial at %.4g Gbit/s"):format(self.doing.rate / 1e9) or "pause")
  engine.main{no_report = true, done = function ()
    local now = engine.now()
    self.gap, self.looked = math.max(self.gap, now - self.looked), now
    wait:show(now - began, seconds, "s")
    if done and done() then return true end
    if not engine.busywait then return now >= ends, ends end
    return now >= ends + rest(self, now)
  end}
  wait:finish()
  if engine.interrupted then
    failure.raise("stopped by %s before the end", engine.interrupted)
  end
end

local function set_rates(self, bits, most)
  for _, stream in ipairs(self.streams) do
    app("repeater", stream):set_rate(bits, most, self.burst_limit)
  end
end

local function all_sent(self)
  for _, stream in ipairs(self.streams) do
    if app("repeater", stream).left > 0 then return false end
  end
  return true
end

-- Let the ports take what is in their links, unless they take no more.
local function flush(self)
  local stuck = quiet.since_last(STUCK_S)
  run_for(self, STUCK_S, function ()
    local left = 0
    for _, stream in ipairs(self.streams) do
      left = left + link.nreadable(app("nic", stream).input.input)
    end
    return left == 0 or stuck:over(left)
  end, true)
end

-- Wait until all that was sent since the totals `before` is back, so many seconds.
local function wait_for_last(self, before, seconds)
  local wait = quiet.after(seconds)
  run_for(self, seconds, function ()
    local missing, came = false, 0
    for i, now in ipairs(totals(self)) do
      local rx = now.rx - before[i].rx
      missing, came = missing or rx < now.tx - before[i].tx, came + rx
    end
    return not missing or wait:over(came)
  end, true)
end

-- Frames of 24 bytes more on the wire than in memory.
local function bit_rate(packets, bytes, seconds)
  return 8 * (bytes + 24 * packets) / seconds
end

local function difference(stream, before, now, rate, seconds, behind)
  local d = {name = stream.tx}
  for key, value in pairs(now) do d[key] = value - before[key] end
  d.lost = math.max(0, d.tx - d.rx)
  d.loss = d.tx > 0 and d.lost / d.tx or 0
  d.doubtful = math.min(d.lost, d.drops + behind)
  -- One packet more or less is no other rate.
  d.kept = d.tx > 0 and d.bits * (1 + 1 / d.tx) >= KEPT * rate * seconds
  d.tx_pps, d.rx_pps = d.tx / seconds, d.rx / seconds
  d.tx_rate = bit_rate(d.tx, d.tx_bytes, seconds)
  d.rx_rate = bit_rate(d.rx, d.rx_bytes, seconds)
  return d
end

-- How this machine did its part in what has been sent at `rate` since `send` began:
-- `late`, the seconds that a sender gave up; `blind`, those in which a receiving port
-- may have got more than it holds, since nobody took it; `burst`, the most packets sent
-- at once after being late; `behind`, those of each stream that were sent in such
-- bursts, where the device may not hold them.
local function watch(self, rate, seen)
  for i, stream in ipairs(self.streams) do
    local repeater = app("repeater", stream)
    local bits = math.max(1, repeater:mean_bits())
    local holds = Repeater.catching_up(rate, RECEIVE_RING, bits)
    if self.gap > holds then seen.blind = math.max(seen.blind, self.gap) end
    seen.late = math.max(seen.late, repeater.late)
    local burst = 1 + math.floor(repeater.longest * rate / bits)
    seen.burst = math.max(seen.burst, burst)
    local behind = self.holds_bursts and 0 or repeater.behind
    seen.behind[i] = (seen.behind[i] or 0) + behind
  end
end

-- The same while nothing is sent: the engine sleeps.
local function sleep_for(self, seconds, done)
  engine.busywait = false
  run_for(self, seconds, done)
  engine.busywait = true
end

-- Somebody has asked by the control socket that the next trial wait.
local function wait_while_held(self)
  while self.held do sleep_for(self, HELD_S, function () return not self.held end) end
end

-- Send at `rate` for so many seconds, or `most` packets; then wait for those under way.
local function send(self, rate, seconds, wait, most)
  wait_while_held(self)
  local before, began = totals(self), engine.now()
  self.gap, self.looked = 0, began
  self.doing = {rate = rate, seconds = seconds, began = began}
  set_rates(self, rate, most)
  run_for(self, seconds, most and function () return all_sent(self) end)
  -- Longer than `seconds`, if the process had to wait for a CPU.
  local took = math.max(self.looked - began, 1e-9)
  local seen = {late = 0, blind = 0, burst = 0, behind = {}}
  watch(self, rate, seen)
  set_rates(self, 0)
  flush(self)
  wait_for_last(self, before, wait)
  watch(self, rate, seen)
  local result = {rate = rate, seconds = took, streams = {}, burst = seen.burst,
                  blind = seen.blind, late = math.max(seen.late, seen.blind),
                  fair = seen.blind == 0 and seen.burst <= self.burst_limit}
  for i, now in ipairs(totals(self)) do
    local s = difference(self.streams[i], before[i], now, rate, took, seen.behind[i])
    result.streams[i] = s
    result.fair = result.fair and (s.lost == 0 or s.doubtful < s.lost)
  end
  self.made, self.last, self.doing = self.made + 1, result, nil
  return result
end

--- Send at `rate` (bits a second on the wire, each stream) for so many seconds; wait
--- for what is under way, `wait` seconds at most. Returns {rate, seconds (it took),
--- streams = a list of {name, tx, rx (packets), tx_bytes, rx_bytes, lost, loss (share
--- of those sent), drops (by the receiving port), failed (in the sending one), tx_pps,
--- rx_pps, tx_rate, rx_rate (bits a second), kept = was the rate kept?, doubtful = the
--- most of those lost that this machine may have lost, or that went in bursts}, late =
--- the seconds in which this machine didn't do its part, since the process had to wait
--- for a CPU or was too slow; 0 if that were less than what the sender makes up for;
--- blind = those of them in which a receiving port may have got more than it holds;
--- burst = the most packets of a stream that were sent at once; fair = is what was lost
--- the device's loss, since it had no burst above the limit and all that came back was
--- taken?}.
function Tester:trial(rate, seconds, wait)
  return send(self, rate, seconds, wait)
end

--- A trial that doesn't count.
function Tester:warm_up(rate, seconds, wait)
  self:trial(rate, seconds, wait)
  self.made, self.last = 0, nil
end

--- Send a burst of so many packets, each stream, at `rate`; the result as trial()'s.
--- `kept` says whether all were sent, and at the rate, but for what the sender makes up
--- for. It gives up a second after they should have been.
function Tester:burst(rate, packets, seconds, wait)
  local result = send(self, rate, seconds + STUCK_S, wait, packets)
  for i, s in ipairs(result.streams) do
    local bits = app("repeater", self.streams[i]):mean_bits()
    local slack = Repeater.catching_up(rate, self.burst_limit, bits)
    s.kept = s.tx >= packets and s.bits >= KEPT * rate * (result.seconds - slack)
  end
  return result
end

--- How many trials at a rate may be void.
tester.MOST_VOID = 3

-- For who asks how far the trials are.
local function note_bounds(self, result)
  if result.passed then
    self.highest_passed = math.max(self.highest_passed or 0, result.rate)
  else
    self.lowest_failed = math.min(self.lowest_failed or math.huge, result.rate)
  end
end

--- Trials, until one counts: `try`() makes one and returns trial()'s result, and
--- judge(result) says, without looking at `late`, whether it has passed, if not, why,
--- and whether that holds in any case. One that hasn't, and in which this machine was
--- late, or lost packets itself, is void: the device may have nothing to do with it.
--- again(result) is called, and it is done again, but no more than MOST_VOID times in
--- all for the same `what` (a rate); `void` is set in the result if the last is void
--- still. Returns the result, with `passed`, `void` and `reason` (empty if it has
--- passed).
function Tester:valid(what, try, judge, again)
  while true do
    local result = try()
    local passed, reason, holds = judge(result)
    result.passed, result.void, result.reason = passed, false, passed and "" or reason
    if passed or holds or (result.late == 0 and doubt.packets(result) == 0) then
      note_bounds(self, result)
      return result
    end
    result.void = true
    result.reason = doubt.not_measurable(result, self.burst_limit)
    local voids = self.voids[what] or 0
    if voids == tester.MOST_VOID then return result end
    self.voids[what] = voids + 1
    again(result)
  end
end

--- The same with trial(rate, seconds, wait).
function Tester:valid_trial(rate, seconds, wait, judge, again)
  return self:valid(rate, function () return self:trial(rate, seconds, wait) end,
    judge, again)
end

--- Send nothing for so many seconds.
function Tester:pause(seconds)
  if seconds > 0 then sleep_for(self, seconds) end
end

return tester
