-- SPDX-License-Identifier: Apache-2.0
-- pcap: capture files, one to receive from and one to send to, by our own driver
-- (pcap.c).

local ffi = require("ffi")
local arguments = require("lib.port.arguments")
local distribute = require("core.cpus.distribute")
local driver = require("lib.port.driver")
local failure = require("core.failure")
local files = require("lib.port.files")
local needs = require("lib.port.needs")

local C = require("core.declare")("port/pcap/pcap.h")

local pcap = {
  name = "pcap", order = 2,
  summary = "capture files: receives from one, sends into another",
  args = {
    {name = "rx", type = arguments.file, show = "FILE",
      help = "pcap or pcapng file to receive from; gzip or zstd will do"},
    {name = "tx", type = arguments.file, show = "FILE",
      help = "pcap file (pcapng if it is named so) to write what is sent to"},
    {name = "loop", type = arguments.flag, default = 0, show = "1",
      help = "1: start the rx file again at its end"},
  },
  one_of = {"rx", "tx"},
  begins_anew = true,
  can_wait = true,
  full_bursts = true,
  takes_shared = true,
  bench = {order = 3, receive = "pcap:rx=%s/in.pcap,loop=1",
    send = "pcap:tx=/dev/null", capture = true},
}

function pcap.thing(port) return port.tx and "file " .. port.tx end

function pcap.check(port)
  if port.rx then needs.no_problem(port, files.unreadable_capture(port.rx)) end
  if port.tx then needs.no_problem(port, files.unwritable(port.tx)) end
  if port.rx and port.tx and files.same(port.rx, port.tx) then
    needs.refuse(port, "rx and tx are the same file; give tx another name")
  elseif port.rx and port.loop == 1 and not files.is_regular(port.rx) then
    needs.refuse(port, "'%s' can't be read again at its end; loop=1 needs a file",
      port.rx)
  elseif port.tx and (port.tx:match("%.gz$") or port.tx:match("%.zst$")) then
    needs.refuse(port, "tx isn't compressed; give it a name without .gz or .zst, and "
      .. "compress the file afterwards")
  end
end

--- Each copy reads the file by itself: not a pipe, and not what takes long to
--- decompress.
function pcap.divides(port)
  return port.rx ~= nil and port.tx == nil and files.is_plain_capture(port.rx)
end

function pcap.open(device_port, port)
  driver.check(port, C.pg_pcap_open(device_port, port.rx or "", port.tx or "",
    port.loop == 1, distribute.numbers(port.share)))
end

--- Creates the file to write, or empties it.
function pcap.begin(device_port, port)
  driver.check(port, C.pg_pcap_create(device_port))
end

--- Ends the engine when a file can't be written, or not be read over and over.
function pcap.tend(device_port)
  local why = C.pg_pcap_failure(device_port)
  if why ~= nil then failure.raise("%s", ffi.string(why)) end
end

function pcap.reads(port) return port.rx end

function pcap.ends(port) return port.rx ~= nil and port.loop ~= 1 end

function pcap.over(device_port) return C.pg_pcap_over(device_port) end

function pcap.ended(device_port, port)
  return driver.check(port, C.pg_pcap_ended(device_port)) == 1
end

return pcap
