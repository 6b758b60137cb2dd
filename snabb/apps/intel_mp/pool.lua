-- SPDX-License-Identifier: Apache-2.0
-- One driver app of several on a card, between its links (`input`, `output`) and what
-- the apps of the card have together (apps.intel_mp.sharing): counts what it sends and
-- receives, and copies what it receives to the apps that mirror its pool.

local counter = require("core.counter")
local engine = require("core.app")
local packet = require("core.packet")

local MOST_MIRRORS = 4 -- as many rules as an 82599 has
local INPUT, CARD = 1, 2
local OUTPUT, TO_CARD = 1, 2
local PERIOD = 0.1 -- seconds between publications of the counters

local Pool = {
  inputs = {"input", "card", "mirrored"}, outputs = {"output", "card"},
  lengthens = 0, MOST_MIRRORS = MOST_MIRRORS,
}
Pool.__index = Pool

-- Counters, and the fields that they publish.
local COUNTED = {rxpackets = "received", rxbytes = "received_bytes", txpackets = "sent",
                 txbytes = "sent_bytes"}

--- `arg`: conf (the driver app's argument), card (the name of the card's app), number
--- (of its pool, if there are pools), mirrors (how many apps get copies: only
--- Pool.Mirrored has outputs for them).
function Pool:new(arg)
  local app = {
    conf = arg.conf, card = arg.card, mirrors = arg.mirrors, shm = {}, next_time = 0,
    poolnum = arg.number, received = 0, received_bytes = 0, sent = 0, sent_bytes = 0,
  }
  app.dev = app -- programs of Snabb before 2016 call nic.dev:get_rxstats()
  for name in pairs(COUNTED) do app.shm[name] = {counter} end
  return setmetatable(app, self)
end

local function count(self, p, input)
  if input == INPUT then
    self.sent, self.sent_bytes = self.sent + 1, self.sent_bytes + p.length
    return TO_CARD
  end
  self.received, self.received_bytes = self.received + 1, self.received_bytes + p.length
  return OUTPUT
end

function Pool:process(p, input) return p, count(self, p, input) end

-- One whose packets are copied for others.
local Mirrored = setmetatable({outputs = {"output", "card"}, emits = true}, Pool)
Mirrored.__index = Mirrored
for i = 1, MOST_MIRRORS do Mirrored.outputs[TO_CARD + i] = "mirror" .. i end
Pool.Mirrored = Mirrored

function Mirrored:process(p, input)
  if input == CARD then
    for i = 1, self.mirrors do self.emit(TO_CARD + i, packet.clone(p)) end
  end
  return p, count(self, p, input)
end

--- It can do without tick() for so long while no packet comes, in seconds.
Pool.tick_seconds = PERIOD

function Pool:tick()
  local now = engine.now()
  if now < self.next_time then return end
  self.next_time = now + PERIOD
  for name, field in pairs(COUNTED) do counter.set(self.shm[name], self[field]) end
end

-- The apps of the card whose counter `which` has the same number as this app's; only
-- this one if it has none.
local function counted_together(self, which)
  local id, list = self.conf[which], {}
  for _, app in pairs(engine.app_table) do
    local other = id and app.card == self.card and app.conf
    if app == self or other and other[which] == id then list[#list + 1] = app end
  end
  return list
end

local function sum(self, which, field)
  local total = 0
  for _, app in ipairs(counted_together(self, which)) do total = total + app[field] end
  return total
end

--- What was received: `counter_id`, `packets`, `bytes`, together with the apps of the
--- card that have the same `rxcounter`; and `dropped`, the card's.
function Pool:get_rxstats()
  local of_card = self:statistics()
  return {
    counter_id = self.conf.rxcounter or 0,
    packets = sum(self, "rxcounter", "received"),
    dropped = of_card.imissed + of_card.rx_nombuf,
    bytes = sum(self, "rxcounter", "received_bytes"),
  }
end

--- What was sent: `counter_id`, `packets`, `bytes`; as above, by `txcounter`.
function Pool:get_txstats()
  return {
    counter_id = self.conf.txcounter or 0,
    packets = sum(self, "txcounter", "sent"),
    bytes = sum(self, "txcounter", "sent_bytes"),
  }
end

--- The card's statistics (apps.port).
function Pool:statistics() return engine.app_table[self.card]:statistics() end

return Pool
