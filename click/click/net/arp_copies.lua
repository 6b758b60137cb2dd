-- SPDX-License-Identifier: Apache-2.0
-- ARPQueriers of which there are copies on several CPUs. An ARP reply comes to one of
-- them, which notifies the others; each has a table of its own. One asks for all.

local bit = require("bit")
local bytes = require("net.wire.bytes")
local ffi = require("ffi")
local news = require("core.cpus.news")
local tables = require("core.lib.tables")

local arp_copies = {}

local LOOK_SECONDS = 1e-3 -- while packets wait

--- Is the element one of several copies? Then it hears from the others from now on.
function arp_copies.join(e)
  local copy = e.router.options and e.router.options.copy
  if not copy or copy.of < 2 then return end
  e.news = news.open("ARPQuerier " .. e.name, copy.number)
  local list = e.arp_table
  list.capacity = math.ceil(list.capacity / copy.of)
  e.timer = e.router:timer(function ()
    e:hear()
    arp_copies.wait(e)
  end)
end

--- The element is no more.
function arp_copies.leave(e)
  if not e.news then return end
  e.timer:unschedule()
  e.news:close()
  e.news = nil
end

--- Look for answers from time to time, while packets wait for one.
function arp_copies.wait(e)
  if e.arp_table.length > 0 and not e.timer:scheduled() then
    e.timer:after(LOOK_SECONDS)
  end
end

-- An IPv4 address, a word with a sign, without one.
local function unsigned(ip) return ip % 2 ^ 32 end

--- May the element ask for the address, or has another copy just done so?
function arp_copies.may_ask(e, ip)
  local list = e.arp_table
  local entry = list:find(ip)
  local pause = entry and entry.polls > list.early and list.later or list.between
  return e.news:may_ask(unsigned(ip), e.clock(), pause)
end

local address = ffi.new("uint8_t[6]")

--- Tell the others that the address is at `eth`.
function arp_copies.tell(e, ip, eth)
  ffi.copy(address, eth, 6)
  e.news:tell(unsigned(ip), bytes.read48(address))
end

local function eth_of(value)
  bytes.write48(address, value)
  return ffi.string(address, 6)
end

--- Call learn(e, ip, eth) for what others have told.
function arp_copies.hear(e, learn)
  for key, value in function () return e.news:next() end do
    learn(e, bit.tobit(key), eth_of(value))
  end
end

-- What handlers of all copies say together (program.click.joined) -----------------

--- A table of all copies' entries: of each address the one that is known, and was heard
--- of last; the oldest first.
function arp_copies.join_tables(texts)
  local by_ip, list = {}, {}
  for _, text in ipairs(texts) do
    for ip, known, line, age in text:gmatch("(%S+) (%d) (%S+ (%S+))\n") do
      local entry = {known = known, age = tonumber(age),
        line = ("%s %s %s\n"):format(ip, known, line)}
      local other = by_ip[ip]
      if not other or other.known < known
        or other.known == known and other.age > entry.age then
        by_ip[ip] = entry
      end
    end
  end
  for _, entry in pairs(by_ip) do list[#list + 1] = entry end
  table.sort(list, function (a, b)
    return a.age > b.age or a.age == b.age and a.line < b.line
  end)
  return table.concat(tables.field(list, "line"))
end

--- The first text with each number the sum of all texts' numbers in that place.
function arp_copies.sum_lines(texts)
  local sums = {}
  for _, text in ipairs(texts) do
    local n = 0
    for digits in text:gmatch("%d+") do
      n = n + 1
      sums[n] = (sums[n] or 0) + tonumber(digits)
    end
  end
  local n = 0
  return (texts[1]:gsub("%d+", function ()
    n = n + 1
    return ("%d"):format(sums[n])
  end))
end

return arp_copies
