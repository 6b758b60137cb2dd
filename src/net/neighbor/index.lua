-- SPDX-License-Identifier: Apache-2.0
-- A cache's entries by IP address: numbers (words with a sign), or strings of 4 or 16
-- bytes. They stand in tables of net.flow, whose hash is keyed: Lua's own hash of
-- numbers isn't, and whoever chooses addresses could have all of them collide.

local bit = require("bit")
local failure = require("core.failure")
local ffi = require("ffi")
local flow = require("net.flow.flow")
local key = require("net.neighbor.key")

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local index = {}

local Index = {}
Index.__index = Index

-- Entries of numbers that were looked for of late are in `recent`, too, by `recent_ip`,
-- where no hash is needed.
local RECENT = 256
local NOBODY = {}

local words_t = ffi.typeof("int32_t[?]")
local word = words_t(1)

local function recent_place(ip)
  return band(bxor(rshift(ip, 24), rshift(ip, 16), ip), RECENT - 1)
end

-- A table of flows, and its records' entries by number.
local function table_of(key_type, limit)
  return {flows = flow.new{key = key_type, limit = limit}, at = {}}
end

--- An empty index for up to `limit` entries.
function index.new(limit)
  local self = {limit = limit, words = table_of("int32_t", limit),
    strings = table_of(key.type, limit), recent = {}, recent_ip = words_t(RECENT)}
  for i = 0, RECENT - 1 do self.recent[i] = NOBODY end
  return setmetatable(self, Index)
end

--- The entry for the address of `n` bytes at the pointer, or nil.
function Index:find_at(pointer, n)
  local strings = self.strings
  return strings.at[strings.flows:find(key.at(pointer, n))] or nil
end

--- The entry for the address, or nil.
function Index:find(ip)
  if type(ip) == "string" then return self:find_at(ip, #ip) end
  local at = recent_place(ip)
  local e = self.recent_ip[at] == ip and self.recent[at]
  if e and e.ip == ip then return e end
  local words = self.words
  word[0] = ip
  e = words.at[words.flows:find(word)]
  if not e then return nil end
  self.recent_ip[at], self.recent[at] = ip, e
  return e
end

--- Put the entry in, by e.ip, for which there is none.
function Index:put(e)
  local is_word = type(e.ip) == "number"
  local place = is_word and self.words or self.strings
  word[0] = is_word and e.ip or 0
  local number = place.flows:add(is_word and word or key.of(e.ip))
  if number == 0 then failure.raise("there is no memory for another neighbour") end
  place.at[number] = e
  e.place, e.number = place, number
end

--- Take the entry out; it has no address any more.
function Index:take(e)
  e.place.flows:remove(e.number)
  e.place.at[e.number] = false
  e.ip = nil
end

return index
