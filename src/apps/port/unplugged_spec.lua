-- SPDX-License-Identifier: Apache-2.0
-- Ports whose card is unplugged while they run: DPDK tells of it by an event.

local config = require("core.config")
local engine = require("core.app")
local ffi = require("ffi")
local link = require("core.link")
local log = require("core.lib.log")
local pool = require("core.pool")
local port = require("apps.port.port")
local ports = require("testing.ports")
local testing = require("testing.support")

ffi.cdef"void rte_dev_event_callback_process(const char *device_name, int event);"
local REMOVE = 1 -- enum rte_dev_event_type

local Port = port.Port
local Idle = ports.Idle

after_each(ports.clean_up)

local function ring_ends()
  return ports.configure({a = {Port, "ring:x"}, b = {Port, "ring:x"}, e = {Idle}},
    {"e.a -> a.input", "e.b -> b.input", "a.output -> e.c", "b.output -> e.d"})
end

local function unplug(app)
  ffi.C.rte_dev_event_callback_process(app.port.name, REMOVE)
  app.next_check = 0
end

-- The sentence that the app says in tick(), or nil.
local function said_by(app)
  local warning, said = log.warning, nil
  log.warning = function (...) said = string.format(...) end
  local ok, err = pcall(app.tick, app)
  log.warning = warning
  assert(ok, err)
  return said
end

describe("a port whose card is unplugged", function ()
  it("receives nothing, and drops and counts what it is to send", function ()
    local apps = ring_ends()
    testing.send(apps.a.input.input, ports.frames(1, 7))
    apps.a:push()
    unplug(apps.a)
    assert.equal("port 'ring:x': the card was unplugged; the others go on, and what is "
      .. "to be sent by it is dropped", said_by(apps.a))
    local drops = pool.freelist.port_drops
    testing.send(apps.a.input.input, ports.frames(1, 5))
    apps.a:push()
    apps.a:pull()
    assert.is_true(link.empty(apps.a.input.input))
    assert.is_true(link.empty(apps.a.output.output))
    local stats = apps.a:statistics()
    assert.same({7, 5}, {stats.opackets, stats.tx_unplugged})
    assert.equal(5, tonumber(pool.freelist.port_drops - drops))
    assert.is_nil(said_by(apps.a))
    assert.same({}, apps.a:wake_fds()) -- an engine that sleeps needn't look at it
    apps.b:pull() -- the other end is still there
    assert.equal(7, #testing.take(apps.b.output.output))
  end)

  it("is closed in its turn, and can be opened again", function ()
    for _ = 1, 3 do
      local apps = ring_ends()
      unplug(apps.a)
      said_by(apps.a)
      engine.configure(config.new())
    end
  end)

  it("ends the program if there is no other", function ()
    local apps = ring_ends()
    unplug(apps.a)
    unplug(apps.b)
    said_by(apps.a)
    assert.has_error(function () apps.b:tick() end)
    local one = ports.configure{a = {Port, "null"}, b = {Port, "null"}}.a
    unplug(one)
    local ok, err = pcall(one.tick, one)
    assert.is_false(ok)
    assert.equal("port 'null': the card was unplugged", tostring(err))
  end)
end)
