-- SPDX-License-Identifier: Apache-2.0
-- `perigee record`: the last packets of ports in memory, and those around a trigger in
-- files. Whatever ends it, files under their names are complete.

local cli = require("lib.cli")
local commands = require("program.record.commands")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local log = require("core.lib.log")
local options_of = require("program.record.options").parse
local run_report = require("lib.observe.run_report")
local summary = require("program.record.summary")
local Port = require("apps.port.port").Port
local Recorder = require("apps.record.recorder").Recorder

local M = {summary = "keep the last packets in memory, write them when triggered"}

--- Why --cpus is refused.
M.one_cpu = "one ring has the packets of all ports, in their order"

local ASKED_SECONDS = 0.01 -- while a file waits for packets to come

-- The graph; its ports' apps by number are port1, port2, ...
local function graph(options)
  local c, inputs = config.new(), {}
  for i, port in ipairs(options.ports) do
    local name = "port" .. i
    inputs[i] = name
    config.app(c, name, Port, {port = port, receive_only = true})
    config.link(c, ("%s.output -> recorder.%s"):format(name, name))
  end
  config.app(c, "recorder", Recorder, {
    inputs = inputs, titles = options.ports,
    folder = options.folder, name = options.name,
    memory = options.memory, snaplen = options.snaplen, filter = options.when,
    before = options.before, after = options.after, files = options.files,
    flows = options.metered,
    missed = function (name)
      return engine.app_table[name]:statistics().imissed
    end,
  })
  return c
end

local function trigger_by_signal(recorder)
  if not recorder:trigger("signal") then
    log.warning("SIGUSR1: no file, as many as can be are written, or were")
  end
end

-- The run ends at its time, and where ports that read files have come to their ends.
local function ending(recorder, duration)
  local ends = duration and engine.now() + duration or math.huge
  return function ()
    local now, waits = engine.now(), recorder:work()
    if now >= ends or engine.finished() then return true end
    if not waits then return false, now end
    if recorder.ring.jobs > 0 then return false, math.min(ends, now + ASKED_SECONDS) end
    return false, ends < math.huge and ends or nil
  end
end

-- What couldn't be written is told last.
local function check_files(recorder)
  local lines = recorder.flows and recorder.flows.file
  for _, file in ipairs(recorder.results) do
    if file.failure then failure.raise("%s", file.failure) end
  end
  if lines and lines.failure then failure.raise("%s", lines.failure) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = options_of(args)
  local stream = cli.text_stream(options.json)
  local function say(text)
    stream:write(text)
    stream:flush()
  end
  engine.configure(graph(options))
  say(summary.beginning(options))
  local recorder, ports = engine.app_table.recorder, {}
  for i, text in ipairs(options.ports) do
    ports[i] = {app = engine.app_table["port" .. i], text = text}
  end
  recorder.on_file = function (file) say(summary.file(file)) end
  commands.let_in(recorder)
  local ok, err = pcall(engine.main, {
    done = ending(recorder, options.duration), no_report = true,
    on_signal = {USR1 = function () trigger_by_signal(recorder) end}})
  recorder:finish()
  local figures = summary.figures(recorder, ports)
  say(summary.text(figures))
  run_report.save(options.json, {record = figures})
  if not ok then error(err, 0) end
  check_files(recorder)
end

return M
