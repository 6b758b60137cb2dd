-- SPDX-License-Identifier: Apache-2.0
-- Time stamps of all packets, in software: sends packets that carry the time they were
-- sent at, receives them with the time they came, and prints how many came, and whether
-- times only grow.

local device = require "device"
local hist   = require "histogram"
local memory = require "memory"
local mg     = require "moongen"
local timer  = require "timer"

function configure(parser)
	parser:argument("txDev", "Device to send to."):convert(tonumber)
	parser:argument("rxDev", "Device to receive from."):convert(tonumber)
	parser:option("-n --packets", "how many"):default(200):convert(tonumber)
end

function master(args)
	local tx = device.config{port = args.txDev}
	local rx = device.config{port = args.rxDev}
	device.waitForLinks()
	rx:enableRxTimestampsAllPackets(rx:getRxQueue(0))
	local receiver = mg.startTask("receive", rx:getRxQueue(0), args.packets)
	mg.startTask("send", tx:getTxQueue(0), args.packets)
	local came, backwards, early, gaps = receiver:wait()
	mg.stop()
	mg.waitForTasks()
	printf("%d packets, %d times backwards, %d before they were sent", came, backwards,
		early)
	gaps:print("Gaps")
end

function send(queue, packets)
	local pool = memory.createMemPool(function (buf)
		buf:getUdpPtpPacket():fill{pktLength = 80}
	end)
	local bufs, pause = pool:bufArray(1), timer:new(0.0005)
	for _ = 1, packets do
		bufs:alloc(80)
		queue:sendWithTimestamp(bufs)
		pause:wait()
		pause:reset()
	end
end

function receive(queue, packets)
	local bufs, gaps = memory.bufArray(), hist:new()
	local came, backwards, early, last = 0, 0, 0, 0
	while mg.running() and came < packets do
		local n = queue:recvWithTimestamps(bufs)
		for i = 1, n do
			local now = bufs[i]:getTimestamp()
			if now < last then backwards = backwards + 1 end
			if bufs[i].udata64 < bufs[i]:getSoftwareTxTimestamp() then early = early + 1 end
			if last > 0 then gaps:update(now - last) end
			last = now
		end
		came = came + n
		bufs:free(n)
	end
	return came, backwards, early, gaps
end
