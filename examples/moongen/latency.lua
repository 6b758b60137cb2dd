-- SPDX-License-Identifier: Apache-2.0
-- Measures the latency from one device to another, next to a load of UDP packets, and
-- saves it as a histogram.

local device = require "device"
local hist   = require "histogram"
local memory = require "memory"
local mg     = require "moongen"
local timer  = require "timer"
local ts     = require "timestamping"

function configure(parser)
	parser:description("Measures the latency between two devices.")
	parser:argument("txDev", "Device to send to."):convert(tonumber)
	parser:argument("rxDev", "Device to receive from."):convert(tonumber)
	parser:option("-r --rate", "load in Mbit/s"):default(1):convert(tonumber)
	parser:option("-n --samples", "latencies to measure"):default(100):convert(tonumber)
	parser:option("-o --output", "file of the histogram"):default("histogram.csv")
	parser:flag("-e --ethernet", "PTP over Ethernet, rather than over UDP")
end

function master(args)
	local tx = device.config{port = args.txDev, txQueues = 2}
	local rx = device.config{port = args.rxDev, rxQueues = 2}
	device.waitForLinks()
	tx:getTxQueue(0):setRate(args.rate)
	mg.startTask("load", tx:getTxQueue(0))
	mg.startTask("drain", rx:getRxQueue(0))
	local measured = mg.startTask("measure", tx:getTxQueue(1), rx:getRxQueue(1),
		args.samples, not args.ethernet):wait()
	mg.stop()
	mg.waitForTasks()
	measured:print()
	measured:save(args.output)
end

function load(queue)
	local pool = memory.createMemPool(function (buf)
		buf:getUdpPacket():fill{pktLength = 60, udpDst = 1234}
	end)
	local bufs = pool:bufArray(16)
	while mg.running() do
		bufs:alloc(60)
		queue:send(bufs)
	end
end

function drain(queue)
	local bufs = memory.bufArray()
	while mg.running() do
		bufs:free(queue:tryRecv(bufs, 1000))
	end
end

function measure(txQueue, rxQueue, samples, udp)
	local timestamper = ts:newTimestamper(txQueue, rxQueue, nil, udp)
	local histogram, pause = hist:new(), timer:new(0.001)
	local counted = 0
	while mg.running() and counted < samples do
		local latency = timestamper:measureLatency(nil, nil, 1000)
		if latency then
			histogram:update(latency)
			counted = counted + 1
		end
		pause:wait()
		pause:reset()
	end
	return histogram
end
