-- SPDX-License-Identifier: Apache-2.0
-- Sends packets with delays of their own: the gaps between them are 1, 2, 3 and 4 times
-- as long, over and over. By the queue (from the end of a packet to the next), or by a
-- limiter (from start to start).

local device  = require "device"
local limiter = require "software-ratecontrol"
local memory  = require "memory"
local mg      = require "moongen"

local SIZE = 60
local BYTES_A_MICROSECOND = 1250 -- at 10 Gbit/s

function configure(parser)
	parser:argument("dev", "Device to send to."):convert(tonumber)
	parser:option("-g --gap", "shortest gap, in us"):default(1000):convert(tonumber)
	parser:option("-n --packets", "how many"):default(64):convert(tonumber)
	parser:flag("-l --limiter", "by a limiter")
end

function master(args)
	local dev = device.config{port = args.dev}
	device.waitForLinks()
	local queue = dev:getTxQueue(0)
	local through = args.limiter and limiter:new(queue, "custom") or nil
	mg.startTask("send", queue, through, args.gap, args.packets)
	mg.waitForTasks()
end

function send(queue, through, gap, packets)
	local pool = memory.createMemPool(function (buf)
		buf:getUdpPacket():fill{pktLength = SIZE}
	end)
	local bufs = pool:bufArray(4)
	for _ = 1, packets, bufs.size do
		bufs:alloc(SIZE)
		for i, buf in ipairs(bufs) do
			buf:setDelay(i * gap * BYTES_A_MICROSECOND)
		end
		if through then through:send(bufs) else queue:sendWithDelay(bufs) end
	end
end
