-- SPDX-License-Identifier: Apache-2.0
-- What the elements ARPTable and ARPQuerier share: both have an `arp_table`
-- (click.net.arp_table).

local arguments = require("click.arguments")
local engine = require("core.app")
local text_of = require("click.language.text")
local wire = require("click.net.wire")

local arp_handlers = {}

local BROADCAST = ("\255"):rep(6)

--- A clock for tables: milliseconds; as of this breath's beginning, if time is real.
function arp_handlers.clock(router)
  if router.clock and router.clock.simulated then
    return function () return math.floor(router:steady() * 1000) end
  end
  return function () return engine.now() * 1000 end
end

--- Look for what has expired from time to time.
function arp_handlers.age(router, list)
  local after = list:first_look()
  if not after then return end
  local timer
  timer = router:timer(function ()
    list:slim(list.clock())
    timer:after((list:first_look() or 60) + 1)
  end)
  timer:after(after)
end

--- Give the new element the old one's table, with the new one's settings.
function arp_handlers.swap(new, old)
  local mine, theirs = new.arp_table, old.arp_table
  for _, field in ipairs{"entries", "oldest", "newest", "count", "length", "drops"} do
    mine[field], theirs[field] = theirs[field], mine[field]
  end
  for _, e in pairs(mine.entries) do mine:date(e, e.live_at) end
end

local INSERT = {{"IP", "ip", required = true}, {"ETH", "eth", required = true}}
local DELETE = {{"IP", "ip", required = true}}

-- Parse the words of a handler's text; the values, or nil and what is wrong.
local function parse(e, specs, text)
  local problems = {}
  local reporter = setmetatable({error = function (_, fmt, ...)
    problems[#problems + 1] = fmt:format(...)
  end}, {__index = e})
  local values = arguments.parse(specs, text_of.words(text), reporter)
  return values, table.concat(problems, "\n")
end

local function insert(e, text)
  local a, problem = parse(e, INSERT, text)
  if not a then return problem end
  e.arp_table:insert(wire.word_of(a.IP), a.ETH)
end

local function delete(e, text)
  local a, problem = parse(e, DELETE, text)
  if not a then return problem end
  e.arp_table:insert(wire.word_of(a.IP), BROADCAST)
end

local function number(field)
  return {read = function (e) return ("%d"):format(e.arp_table[field]) end}
end

--- Handlers about the table.
function arp_handlers.of_table()
  return {
    table = {read = function (e) return e.arp_table:text() end},
    count = number("count"), length = number("length"),
    insert = {write = insert}, delete = {write = delete},
    clear = {write = function (e) e.arp_table:clear() end},
  }
end

return arp_handlers
