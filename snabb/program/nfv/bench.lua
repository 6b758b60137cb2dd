-- SPDX-License-Identifier: Apache-2.0
-- `nfv traffic --benchmark`: how fast the virtual machines' packets get to the network.

local basic = require("apps.basic.basic_apps")
local engine = require("core.app")
local link = require("core.link")
local Synth = require("apps.test.synth").Synth

local bench = {}

local BENCH_SINK = "BenchSink"

--- In the place of a port to the network: a source of small packets for the guest
--- 52:54:00:00:00:01, and a sink.
bench.TRUNK = {
  receive = {"BenchSource", Synth, {sizes = {60}, src = "52:54:00:00:00:02",
    dst = "52:54:00:00:00:01"}},
  send = {BENCH_SINK, basic.Sink},
}

--- Run the configuration until `count` packets have been sent by the app `nic` (nil: to
--- the sink), counted from the first, and print how fast that was.
function bench.run(c, nic, count)
  engine.Hz = false
  engine.configure(c)
  local input = engine.app_table[nic or BENCH_SINK].input.input
  local packets, bytes, start
  local function done()
    local now = link.stats(input)
    if not start and now.rxpackets > 0 then
      start, packets, bytes = engine.now(), now.rxpackets, now.rxbytes
    end
    return start and now.rxpackets - packets >= count
  end
  print("nfv traffic: benchmark: waits for packets")
  io.flush()
  engine.main{done = done, no_report = true}
  if not start then return print("nfv traffic: benchmark: no packet came") end
  local seconds, now = engine.now() - start, link.stats(input)
  packets, bytes = now.rxpackets - packets, now.rxbytes - bytes
  engine.report()
  print(("Processed %.1f million packets in %.2f seconds (%d bytes; %.2f Gbps)"):format(
    packets / 1e6, seconds, bytes, bytes * 8 / 1e9 / seconds))
  print(("Rate(Mpps):\t%.3f"):format(packets / seconds / 1e6))
end

return bench
