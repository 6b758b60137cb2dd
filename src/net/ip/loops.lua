-- SPDX-License-Identifier: Apache-2.0
-- Loops of apps that take some packets and pass the rest: those that answer pings or
-- ARP, that cut, or put together. Each app has one of its own (core.luajit).

local counter = require("core.counter")
local ip4 = require("net.ip.ip4")
local ip6 = require("net.ip.ip6")
local link = require("core.link")
local luajit = require("core.luajit")
local packet = require("core.packet")

local nreadable, receive, transmit = link.nreadable, link.receive, link.transmit

local loops = {}

local MEASURE = {ipv4 = ip4.measure, ipv6 = ip6.measure}

--- A function f(app, input, output, other, n) that takes `n` packets from the link
--- `input`. Those for which take(app, p, other) is true are its own, the others go to
--- `output`.
function loops.take_or_pass(take)
  local own_take = luajit.copy(take)
  return luajit.copy(function (app, input, output, other, n)
    for _ = 1, n do
      local p = receive(input)
      if not own_take(app, p, other) then transmit(output, p) end
    end
  end)
end

--- push() of an app whose answer(app, p, south) takes the packets from the south that
--- it answers or ends, and returns true for them. The rest goes north, and all from
--- there south.
function loops.from_south(answer)
  local from_south = loops.take_or_pass(answer)
  local from_north = loops.take_or_pass(function () return false end)
  return function (app)
    local input, output = app.input, app.output
    if input.south then
      from_south(app, input.south, output.north, output.south, nreadable(input.south))
    end
    if input.north and output.south then
      from_north(app, input.north, output.south, output.south, nreadable(input.north))
    end
  end
end

--- push() of an app that acts on some packets of one family ("ipv4", "ipv6") and passes
--- the rest from its input to its output. A packet of another protocol, or for which
--- concerns(app, data, length) is false, is counted by the name `unneeded` and passes;
--- one that lacks bytes of its length is counted by `invalid` and dropped. All others
--- are for act(app, output, p, headers, total): `headers` are the bytes of Ethernet's
--- and IP's, `total` those from IP's header on.
function loops.of_family(family, unneeded, invalid, concerns, act)
  local measure = MEASURE[family]

  local pass = loops.take_or_pass(function (app, p, output)
    local data, length = p.data, p.length
    local headers, total = measure(data, length)
    if headers == 0 then
      counter.add(app.shm[invalid])
      packet.free(p)
    elseif headers < 0 or not concerns(app, data, length) then
      counter.add(app.shm[unneeded])
      return false
    else
      act(app, output, p, headers, total)
    end
    return true
  end)

  return function (app)
    local input, output = app.input.input, app.output.output
    pass(app, input, output, output, nreadable(input))
  end
end

return loops
