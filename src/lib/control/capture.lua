-- SPDX-License-Identifier: Apache-2.0
-- The request "capture" of the control socket (doc/control.md): packets of a link, of
-- an app's links, or all dropped ones, as pcapng behind the answer.

local account = require("core.engine.account")
local arguments = require("lib.control.arguments")
local blocks = require("lib.pcap.blocks")
local clock = require("core.lib.clock")
local config = require("core.config")
local engine = require("core.app")
local format = require("lib.pcap.format")
local all_engines = require("lib.control.all_engines")
local workers = require("core.cpus.workers")

local capture = {}

local MOST = 2 ^ 53
local MUCH_OUTPUT = 16 * 1024 * 1024 -- bytes that the client hasn't taken

--- The keys of a request.
capture.arguments = {link = true, app = true, dropped = true, filter = true,
                     limit = true, snaplen = true, rate = true}

local Job = {}
Job.__index = Job

-- What to capture ----------------------------------------------------------------

-- The links that lead to the app, or leave it if none does; sorted.
local function links_of(name)
  local into, out_of = {}, {}
  for _, spec in ipairs(config.sorted_keys(engine.configuration.links)) do
    local from, _, to = config.parse_link(spec)
    if to == name then into[#into + 1] = spec end
    if from == name then out_of[#out_of + 1] = spec end
  end
  local links = into[1] and into or out_of
  if not links[1] then error(("app '%s' has no links"):format(name), 0) end
  return links
end

-- The names of the interfaces, and the tap's arguments.
local function plan(request)
  local link, app = arguments.link(request), arguments.app(request)
  local dropped = request.dropped == true
  if (link and 1 or 0) + (app and 1 or 0) + (dropped and 1 or 0) ~= 1 then
    error("a capture is of a link, an app, or what is dropped: one of \"link\", "
      .. "\"app\" and \"dropped\":true", 0)
  end
  local names = dropped and {"dropped"} or app and links_of(app) or {link}
  local wanted = {dropped = dropped, interface = 0, links = {},
    filter = arguments.filter(request),
    snaplen = arguments.number(request, "snaplen", format.MAX_CAPTURED,
      format.MAX_CAPTURED),
    limit = arguments.number(request, "limit", MOST, MOST),
    rate = arguments.number(request, "rate", MOST, MOST)}
  for i, name in ipairs(dropped and {} or names) do wanted.links[name] = i - 1 end
  return names, wanted
end

-- Packets lost where no tap sees them: by links that were full, and by ports.
local function unseen()
  local full = 0
  for _, stats in pairs(workers.totals(engine.link_table)) do
    full = full + (stats.txdrop or 0)
  end
  return full, account.packets({}).port_drops
end

-- The job -------------------------------------------------------------------------

-- Of a chunk, the first `n` packets.
local function cut(bytes, n)
  local at = 1
  for _ = 1, n do
    local _, length = blocks.at(bytes, at)
    at = at + length
  end
  return bytes:sub(1, at - 1)
end

local function hear(self, list)
  for _, chunk in ipairs(list) do
    local packets, bytes = chunk.packets, chunk.bytes
    self.lost, self.over = self.lost + chunk.lost, self.over + chunk.over
    if packets > self.left then
      packets, bytes = self.left, cut(bytes, self.left)
    end
    if self.client.outgoing + #bytes > MUCH_OUTPUT then
      self.lost = self.lost + packets
    else
      self.left, self.told = self.left - packets, self.told + packets
      self.client:send(bytes)
    end
  end
end

--- The answer has been sent: from here on it is pcapng.
function Job:begin()
  self.client.raw = true
  self.client:send(blocks.section())
  for _, name in ipairs(self.names) do
    self.client:send(blocks.interface(name, self.snaplen))
  end
end

--- Now and then.
function Job:tend()
  self.tap:tend()
  if self.left <= 0 then self:stop() end
end

local function remarks(self)
  local list = {}
  local function add(n, text) if n > 0 then list[#list + 1] = text:format(n) end end
  add(self.lost, "%.0f lost, as they came faster than they were taken")
  add(self.over, "%.0f over the rate limit")
  if self.dropped then
    local full, ports = unseen()
    add(full - self.full, "%.0f that full links dropped")
    add(ports - self.ports, "%.0f that ports dropped")
  end
  return table.concat(list, "; ")
end

--- Detach; the connection ends when the client has all.
function Job:stop()
  if self.ended then return end
  self.ended = true
  self.tap:detach()
  self.client:send(blocks.statistics(0, clock.unix_nanoseconds(), self.told + self.lost,
    self.lost, remarks(self)))
  self.client.done = true
end

--- Begin a capture for the client (lib.control.session).
function capture.run(client, request)
  if #client.jobs > 0 then
    error("a connection that captures does nothing else: make another", 0)
  end
  local names, wanted = plan(request)
  local self = setmetatable({client = client, names = names, snaplen = wanted.snaplen,
    left = wanted.limit, told = 0, lost = 0, over = 0, dropped = wanted.dropped}, Job)
  if self.dropped then self.full, self.ports = unseen() end
  self.tap = all_engines.attach("capture", wanted, function (list) hear(self, list) end)
  return {interfaces = names}, self
end

return capture
