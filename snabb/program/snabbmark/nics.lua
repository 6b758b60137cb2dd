-- SPDX-License-Identifier: Apache-2.0
-- The benchmarks of two cards, joined by a cable: here of any two ports.

local C = require("core.native")
local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")
local Port = require("apps.port.port").Port
local Sink = require("apps.basic.basic_apps").Sink
local Synth = require("apps.test.synth").Synth
local measure = require("program.snabbmark.measure")

local M = {}

local SOURCE, DESTINATION = "02:00:00:00:00:01", "02:00:00:00:00:02"

local function port_of(variable)
  local port = os.getenv(variable)
  if not port or port == "" then
    failure.usage("the environment variable %s isn't set; give it a PCI address or "
      .. "another port, such as packet:veth0", variable)
  end
  return port
end

local function graph(size)
  local c = config.new()
  config.app(c, "source", Synth, {sizes = {size}, src = SOURCE, dst = DESTINATION})
  config.app(c, "send", Port, port_of("SNABB_PCI0"))
  config.app(c, "receive", Port, port_of("SNABB_PCI1"))
  config.app(c, "sink", Sink)
  config.link(c, "source.output -> send.input")
  config.link(c, "receive.output -> sink.input")
  return c
end

--- Send `packets` packets of `size` bytes from one port to the other, for `timeout`
--- seconds at most.
function M.run(packets, size, timeout)
  local count, length = measure.whole(packets, "packets"),
    measure.whole(size, "bytes", 1, packet.max_payload)
  local limit = timeout and cli.duration(timeout) or math.huge
  if timeout and limit == nil then failure.usage("'%s' isn't a timeout", timeout) end
  engine.configure(graph(length))
  engine.busywait = true
  local began = C.pg_monotonic()
  local ends = began + limit
  local send = engine.app_table.send
  engine.main{no_report = true, done = function ()
    return tonumber(send.port.txpackets) >= count or C.pg_monotonic() >= ends
  end}
  local seconds = C.pg_monotonic() - began
  local sent = tonumber(send.port.txpackets)
  local got = link.stats(engine.app_table.sink.input.input).rxpackets
  engine.report()
  print()
  local loss = 100 * (sent - got) / math.max(sent, 1)
  print(("Processed %.1f million packets in %.2f seconds (rate: %.1f Mpps, "
    .. "%.2f Gbit/s, %.2f %% packet loss)."):format(sent / 1e6, seconds,
    sent / seconds / 1e6, 8 * sent * length / seconds / 2 ^ 30, loss))
  if sent < count then failure.raise("only %.0f packets could be sent", sent) end
end

return M
