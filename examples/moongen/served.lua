-- SPDX-License-Identifier: Apache-2.0
-- Sends packets, and serves its statistics by HTTP as JSON, with an answer of its own:
-- curl localhost:PORT/counters/all, /devices/0, /hello/you

local device = require "device"
local memory = require "memory"
local mg     = require "moongen"
local server = require "webserver"
local stats  = require "stats"

function configure(parser)
	parser:argument("dev", "Device to send to."):convert(tonumber)
	parser:option("-p --port", "to listen on; 0: any"):default(0):convert(tonumber)
end

function master(args)
	local dev = device.config{port = args.dev}
	device.waitForLinks()
	server.startWebserverTask{port = args.port, init = "answers"}
	stats.startStatsTask{dev}
	dev:getTxQueue(0):setRate(10)
	mg.startTask("send", dev:getTxQueue(0))
	mg.waitForTasks()
end

-- Runs in the server's task: handlers by the paths that they answer.
function answers(turbo)
	local Hello = class("Hello", turbo.web.RequestHandler)
	function Hello:get(name)
		self:write{hello = name}
	end
	return {{"^/hello/([^/]*)$", Hello}}
end

function send(queue)
	local pool = memory.createMemPool(function (buf)
		buf:getUdpPacket():fill{pktLength = 60}
	end)
	local bufs = pool:bufArray()
	while mg.running() do
		bufs:alloc(60)
		queue:send(bufs)
	end
end
