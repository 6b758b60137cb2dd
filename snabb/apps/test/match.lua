-- SPDX-License-Identifier: Apache-2.0
-- Match: compares the packets of its input `rx` with those of `comparator`, and tells
-- where they differ. For tests.

local ffi = require("ffi")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")

local Match = {config = {fuzzy = {}, modest = {}}}
Match.__index = Match

--- `fuzzy`: packets of rx that aren't the next of comparator are left out of account;
--- `modest`: comparator may have more, if any was matched.
function Match:new(conf)
  return setmetatable({fuzzy = conf.fuzzy, modest = conf.modest, seen = 0, errs = {}},
    self)
end

local function dump(p) return lib.hexdump(ffi.string(p.data, p.length)) end

local function same(a, b)
  return a.length == b.length
    and ffi.string(a.data, a.length) == ffi.string(b.data, b.length)
end

-- Compare a packet of rx with the next of comparator, if that has come.
local function compare(self, p, comparator)
  local expected = comparator and link.front(comparator)
  if not expected then return end
  if same(p, expected) then
    self.seen = self.seen + 1
    packet.free(link.receive(comparator))
  elseif not self.fuzzy then
    table.insert(self.errs, "Mismatch:\n" .. dump(expected) .. "\n" .. dump(p))
  end
end

function Match:push()
  local rx, comparator = self.input.rx, self.input.comparator
  if not rx then return end
  for _ = 1, link.nreadable(rx) do
    local p = link.receive(rx)
    compare(self, p, comparator)
    packet.free(p)
  end
end

--- What was wrong: an array of texts. What waits in comparator by now is, too.
function Match:errors()
  local comparator = self.input.comparator
  if comparator and not (self.modest and self.seen > 0) then
    for _ = 1, link.nreadable(comparator) do
      local p = link.receive(comparator)
      table.insert(self.errs, "Not matched:\n" .. dump(p))
      packet.free(p)
    end
  end
  return self.errs
end

function Match:report()
  for _, text in ipairs(self:errors()) do print(text) end
end

return {Match = Match}
