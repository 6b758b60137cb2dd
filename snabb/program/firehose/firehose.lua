-- SPDX-License-Identifier: Apache-2.0
-- `perigee firehose`: a C function of the user's own sees all that ports receive.

local ffi = require("ffi")
local cli = require("lib.cli")
local config = require("core.config")
local engine = require("core.app")
local failure = require("core.failure")
local header = require("program.firehose.header")
local stat = require("posix.sys.stat")
local Callback = require("program.firehose.callback").Callback
local Port = require("apps.port.port").Port

local M = {summary = "call a C function of a shared library with each packet"}

--- Why --cpus is refused.
M.one_cpu = "the library's function is called in one thread"

local RING_SIZE, MOST_RING_SIZE = 2048, 32768

local function ring_size(text)
  local value = tonumber(text)
  local is_power = value and value % 1 == 0 and value >= 2 and value <= MOST_RING_SIZE
    and bit.band(value, value - 1) == 0
  if is_power then return value end
  return nil, ("'%s' isn't a power of two from 2 to %d"):format(text, MOST_RING_SIZE)
end

local function parser()
  local p = cli.parser("firehose", "Call a C function of a shared library with each "
    .. "packet that ports receive. --print-header and --example show how to write one.")
  p:argument("library", "the shared library, such as ./count.so"):args("?")
  p:option("-i --input", "Receive from this port, a PCI address or any other; may "
           .. "be repeated."):argname("PORT"):count("*")
  p:option("-t --time --duration", "End after this time: seconds, or 500ms, 2m, 1h.")
    :argname("TIME"):convert(cli.duration)
  p:option("-r --ring-size", "Packets in the ring that the function sees; a power of "
           .. "two (default 2048)."):argname("N"):convert(ring_size)
  p:flag("-H --print-header", "Print firehose.h, to compile a library with.")
  p:flag("-e --example", "Print how to make a library.")
  return p
end

-- The library at `path`; one without a "/" is looked for here first, as a file.
local function load_library(path)
  local here = not path:find("/") and stat.stat(path)
  local ok, library = pcall(ffi.load, here and "./" .. path or path)
  if not ok then failure.usage("can't load the library: %s", library) end
  local found, callback = pcall(function () return library.firehose_callback_v1 end)
  if not found then
    failure.usage("%s has no function firehose_callback_v1; compile it with the header "
      .. "that `perigee firehose --print-header` prints", path)
  end
  return library, callback
end

-- Call the library's function `name`, if it has one.
local function call(library, name)
  local found, func = pcall(function () return library[name] end)
  if found then func() end
end

local function graph(library, ports, size)
  local c = config.new()
  for i, port in ipairs(ports) do
    config.app(c, "port" .. i, Port, port)
    config.app(c, "callback" .. i, Callback,
      {library = library, port = port, size = size})
    config.link(c, ("port%d.output -> callback%d.input"):format(i, i))
  end
  return c
end

-- Have all ports ended, as files do, and has all been seen?
local function all_ended(count)
  local apps = engine.app_table
  for i = 1, count do
    local callback = apps["callback" .. i]
    if not apps["port" .. i]:ended() or callback.pending > 0
      or not link.empty(callback.input.input) then return false end
  end
  return true
end

local function ending(options)
  local count, files = #options.input, false
  for i = 1, count do
    files = files or engine.app_table["port" .. i]:ends()
  end
  local ends = options.time and engine.now() + options.time or math.huge
  return function ()
    return engine.now() >= ends or files and all_ended(count)
  end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  if options.print_header then return io.write(header.text) end
  if options.example then return io.write(header.example) end
  if #options.input == 0 then
    failure.usage("give --input PORT, where the packets come from; see `perigee "
      .. "firehose --help`")
  elseif not options.library then
    failure.usage("give a shared library; `perigee firehose --example` shows how to "
      .. "make one")
  end
  local library = load_library(options.library)
  engine.configure(graph(library, options.input, options.ring_size or RING_SIZE))
  engine.busywait = true
  io.stdout:flush()
  call(library, "firehose_start")
  local ok, err = pcall(engine.main, {done = ending(options), no_report = true})
  call(library, "firehose_stop")
  engine.report{showapps = true, showlinks = true, showpackets = true}
  if not ok then error(err, 0) end
end

return M
