-- SPDX-License-Identifier: Apache-2.0
-- The kernel's filter of a copy's share against the hash that hands out in software:
-- frames through a pair of sockets, as the kernel would give them to the port's socket.

local C = require("core.declare")("port/packet/packet.h")
local fcntl = require("posix.fcntl")
local socket = require("posix.sys.socket")
local unistd = require("posix.unistd")

local byte = string.char

local function random_bytes(n)
  local list = {}
  for i = 1, n do list[i] = byte(math.random(0, 255)) end
  return table.concat(list)
end

local function one_of(...) return (select(math.random(select("#", ...)), ...)) end

local PROTOCOLS = {6, 17, 132, 1, 58, 47}

local function ip4()
  local words, protocol = one_of(5, 5, 5, 6, 15, 4, 0), PROTOCOLS[math.random(6)]
  local fragment = one_of("\0\0", "\0\0", "\64\0", "\32\0", "\0\7", "\31\255")
  return byte(64 + words) .. random_bytes(5) .. fragment .. "\64" .. byte(protocol)
    .. random_bytes(10 + math.max(0, words - 5) * 4 + 8)
end

local function ip6()
  return "\96" .. random_bytes(5) .. byte(PROTOCOLS[math.random(6)]) .. random_bytes(45)
end

-- What is behind the addresses; tagged or not, and now and then cut.
local function rest()
  local type = one_of("\8\0", "\134\221")
  local packet = type == "\8\0" and ip4() or ip6()
  if math.random(10) == 1 then type = one_of("\8\6", "\129\0", "\0\7") end
  if math.random(3) == 1 then
    packet, type = random_bytes(2) .. type .. packet, one_of("\129\0", "\136\168")
  end
  local all = type .. packet
  return math.random(5) == 1 and all:sub(1, math.random(0, #all)) or all
end

local function takes(receiver, sender, frame)
  assert.equal(#frame, socket.send(sender, frame))
  local got = socket.recv(receiver, 4096)
  if got then assert.equal(frame, got) end
  return got ~= nil
end

describe("a share of an interface", function ()
  local a, b

  before_each(function ()
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM, 0)
    fcntl.fcntl(b, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  end)

  after_each(function ()
    unistd.close(a)
    unistd.close(b)
  end)

  local function agrees(by, copies, copy)
    assert.equal(0, C.pg_packet_take_share(b, copies, copy, by))
    local taken = 0
    for _ = 1, 400 do
      local frame = random_bytes(12) .. rest()
      local mine = C.pg_copy_for_frame(frame, #frame, copies, by) == copy
      assert.equal(mine, takes(b, a, frame), ("%d of %d: %s"):format(copy, copies,
        frame:gsub(".", function (c) return ("%02x"):format(c:byte()) end)))
      taken = taken + (mine and 1 or 0)
    end
    return taken
  end

  for name, by in pairs{["ports"] = C.FLOWS_BY_PORTS,
                        ["addresses"] = C.FLOWS_BY_ADDRESSES} do
    for _, copies in ipairs{1, 2, 3, 4, 7, 16, 64, 128} do
      local title = "is what handing out by %s gives a copy of %d"
      it(title:format(name, copies), function ()
        local copy = math.random(0, copies - 1)
        local taken = agrees(by, copies, copy)
        if copies == 1 then assert.equal(400, taken) end
        if copies == 2 then assert.is_true(taken > 40 and taken < 360) end
      end)
    end
  end

  it("takes a frame whose outer tag the kernel has taken out as with it", function ()
    assert.equal(0, C.pg_packet_take_share(b, 2, 1, C.FLOWS_BY_PORTS))
    for _ = 1, 200 do
      local addresses, behind = random_bytes(12), rest()
      local tagged = addresses .. "\129\0\0\7" .. behind
      local mine = C.pg_copy_for_frame(tagged, #tagged, 2, C.FLOWS_BY_PORTS) == 1
      assert.equal(mine, takes(b, a, addresses .. behind))
    end
  end)
end)
