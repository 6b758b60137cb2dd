-- SPDX-License-Identifier: Apache-2.0
-- Sends packets at a rate: so many Mbit/s, or millions of packets a second, evenly or
-- with random gaps.

local device  = require "device"
local limiter = require "software-ratecontrol"
local memory  = require "memory"
local mg      = require "moongen"
local stats   = require "stats"

function configure(parser)
	parser:description("Sends UDP packets at a rate, and counts them.")
	parser:argument("dev", "Device to send to."):convert(tonumber)
	parser:option("-r --rate", "Mbit/s, without framing; 0: no limit"):convert(tonumber)
	parser:option("-m --mpps", "millions of packets a second"):convert(tonumber)
	parser:option("-p --pattern", "cbr or poisson (with --mpps)"):default("cbr")
	parser:option("-s --size", "bytes, without CRC"):default(60):convert(tonumber)
	parser:option("-t --time", "seconds"):default(2):convert(tonumber)
	parser:option("-n --packets", "end after so many"):convert(tonumber)
	parser:option("-o --output", "file to write statistics to")
	parser:option("-f --format", "of statistics: plain, csv, ini, nil"):default("plain")
end

function master(args)
	local dev = device.config{port = args.dev}
	device.waitForLinks()
	local queue = dev:getTxQueue(0)
	local sender = queue
	if args.mpps then
		sender = limiter:new(queue, args.pattern, 1000 / args.mpps)
	elseif args.rate then
		queue:setRate(args.rate)
	end
	stats.startStatsTask{txDevices = {dev}, file = args.output, format = args.format}
	mg.setRuntime(args.time)
	mg.startTask("send", sender, args.size, args.packets)
	mg.waitForTasks()
end

function send(sender, size, packets)
	local pool = memory.createMemPool(function(buf)
		buf:getUdpPacket():fill{pktLength = size, ip4Src = "10.0.0.1", ip4Dst = "10.0.0.2"}
	end)
	local bufs = pool:bufArray()
	local left = packets or math.huge
	while mg.running() and left > 0 do
		bufs:resize(math.min(bufs.size, left))
		bufs:alloc(size)
		bufs:offloadUdpChecksums()
		sender:send(bufs)
		left = left - bufs.size
	end
	if packets then mg.stop() end
end
