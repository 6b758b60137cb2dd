-- SPDX-License-Identifier: Apache-2.0
-- `perigee generate`: made-up packets to a port, and what became of them.

local C = require("core.native")
local ffi = require("ffi")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local files = require("core.lib.files")
local link = require("core.link")
local options_of = require("program.generate.options").parse
local progress = require("lib.progress")
local report = require("program.generate.report")
local Generator = require("apps.generate.generator").Generator
local Meter = require("apps.generate.meter").Meter
local Port = require("apps.port.port").Port
local spec = require("lib.port.spec")

local M = {summary = "send made-up packets at a rate; measure loss, order and latency"}

--- Why --cpus is refused.
M.one_cpu = "one thread keeps to the rate, and counts what is sent and what comes back"

local LINK_UP_S = 5   -- a peer may take so long to be there
local SETTLE_S = 0.01 -- between two looks at a link's state
local IDLE_S = 0.5    -- without a packet: no more will come
local STUCK_S = 3     -- without a packet taken by the port: it takes no more

local function sender(options)
  return {
    stack = options.stack, set = options.set, flows = options.flows,
    size = options.size, rate = options.rate, arrivals = options.arrivals,
    seed = options.seed, count = options.count, packet = options.packet, held = true,
  }
end

-- Do both ends share a port? Two apps with the same ring are its two ends.
local function shared(options)
  return options.receive == options.port and spec.parse(options.port).kind ~= "ring"
end

--- The configuration of a run: apps generator, meter, and the ports `to` and `from`.
function M.graph(options)
  local c = config.new()
  if options.port then
    config.app(c, "generator", Generator, sender(options))
    config.app(c, "to", Port, options.port)
    config.link(c, "generator.output -> to.input")
  end
  if options.receive then
    local from = shared(options) and "to" or "from"
    if from == "from" then config.app(c, "from", Port, options.receive) end
    config.app(c, "meter", Meter, {stack = options.stack})
    config.link(c, from .. ".output -> meter.input")
  end
  return c
end

-- The course of a run ----------------------------------------------------------------

local port_link = ffi.new("struct port_link")

local function link_is_down(app)
  return app ~= nil and C.pg_port_link(app.port, port_link) >= 0 and port_link.up == 0
end

-- Wait until both ports are up: a sender's first packets would be lost, or late.
local function wait_for_links(apps)
  local ends = C.pg_now() + LINK_UP_S
  while (link_is_down(apps.to) or link_is_down(apps.from)) and C.pg_now() < ends
    and C.pg_signal() == 0 do
    engine.breathe()
    C.pg_sleep(SETTLE_S)
  end
end

-- Has nothing been received for so long?
local function idle(meter, seconds, since)
  return C.pg_now() - math.max(meter.last or since, since) >= seconds
end

-- Whether sending is over, or receiving, where nothing is sent.
local function ending(apps, options)
  local ends = options.duration and C.pg_now() + options.duration or math.huge
  local generator, meter = apps.generator, apps.meter
  if generator then
    return function () return generator:done() or engine.now() >= ends end
  end
  local count = options.count or math.huge
  return function ()
    return meter.tally.packets >= count or engine.now() >= ends
      or options.idle ~= nil and meter.first and idle(meter, options.idle, 0)
  end
end

-- Let the port take what is left in the link, unless it takes no more.
local function flush(output)
  local waiting, changed = link.nreadable(output), C.pg_now()
  while waiting > 0 and C.pg_now() - changed < STUCK_S do
    engine.breathe()
    if link.nreadable(output) ~= waiting then
      waiting, changed = link.nreadable(output), C.pg_now()
    end
  end
end

-- Receive what is still under way.
local function drain(apps, options)
  local generator, meter = apps.generator, apps.meter
  generator:hold()
  flush(generator.sink)
  if not meter then return engine.breathe() end
  local since = C.pg_now()
  while meter.tally.packets < generator.state.sent
    and not idle(meter, options.idle or IDLE_S, since) do
    engine.breathe()
  end
  engine.breathe() -- duplicates that came with the last
end

local function sample(apps)
  return function ()
    local f = (apps.generator or apps.meter):figures()
    local got = apps.generator and apps.meter and apps.meter:figures()
    return {packets = f.packets, bits = f.bits,
            note = got and ("%.0f received"):format(got.packets) or nil}
  end
end

local function run(apps, options, stream)
  wait_for_links(apps)
  local line = progress.start{
    label = "generate", limit = options.count, duration = options.duration,
    sample = sample(apps), stream = stream,
  }
  if apps.generator then apps.generator:go() end
  local before = C.pg_cpu_seconds()
  local ok, err = pcall(engine.main, {done = ending(apps, options), no_report = true})
  options.cpu = C.pg_cpu_seconds() - before
  if ok and apps.generator then ok, err = pcall(drain, apps, options) end
  line:finish("quiet")
  return ok, err
end

-- The results ------------------------------------------------------------------------

local function with_rates(f, port)
  f.port = port
  f.pps = report.per_second(f.packets, f.packets, f.seconds)
  f.bit_rate = report.per_second(f.bits, f.packets, f.seconds)
  return f
end

local function sent_of(generator, to, options)
  local f = with_rates(generator:figures(), options.port)
  local stats = to:statistics()
  f.rate, f.arrivals = options.rate, options.arrivals or "constant"
  f.records, f.header = generator.maker:records(), generator.maker.stack.size
  f.unsent, f.cpu = link.nreadable(generator.sink), options.cpu
  f.drops = {
    {name = "longer than it takes", count = stats.tx_oversize},
    {name = "too short", count = stats.tx_runt},
    {name = "failed in the device", count = stats.oerrors},
  }
  return f
end

--- The results of the running apps, for program.generate.report.
function M.results(apps, options)
  local results, numbered = {}, nil
  if apps.generator then
    results.sent = sent_of(apps.generator, apps.to, options)
    numbered = results.sent.numbered
    if results.sent.records == "all" then numbered = numbered - results.sent.unsent end
  end
  if apps.meter then
    local got = apps.meter:figures(numbered)
    if results.sent and results.sent.records == "none" then
      got.lost = math.max(0, results.sent.packets - results.sent.unsent - got.packets)
      got.distinct = got.packets
    end
    results.received = with_rates(got, options.receive)
  end
  return results
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  if options.setup then options.setup(options) end
  local stream = options.json == "-" and io.stderr or io.stdout
  engine.configure(M.graph(options))
  engine.busywait = true
  local apps = engine.app_table
  local ok, err = run(apps, options, stream)
  local results = M.results(apps, options)
  stream:write(report.text(results))
  if options.json then files.save(options.json, report.json(results)) end
  if not ok then error(err, 0) end
  local kept = results.sent and report.kept(results.sent)
  if options.strict and kept and kept < report.KEPT then
    failure.raise("the rate was not kept: %.1f %% of %s", 100 * kept,
      require("lib.traffic.rate").text(options.rate))
  end
end

return M
