-- SPDX-License-Identifier: Apache-2.0
-- What all tables of longest prefix matches of IPv4 addresses have in common (Snabb's
-- lib.lpm.lpm4). Addresses are lib.lpm.ip4's numbers; keys are above 0. A table
-- of a kind has add, remove, entries, search_entry and search_entry_exact, and may have
-- a search and a build() of its own.

local ffi = require("ffi")
local files = require("core.lib.files")
local ip4 = require("lib.lpm.ip4")
local lpm = require("lib.lpm.lpm")
local random = require("lib.lpm.random")
local read32 = require("net.wire.bytes").read32

local LPM4 = setmetatable({}, {__index = lpm.LPM})

local entry = ffi.typeof("struct { uint32_t ip; int32_t key; int32_t length; }")

local VERIFIED = 20000 -- addresses that verify() looks up

for _, name in ipairs{"add", "remove", "entries", "search_entry",
  "search_entry_exact"} do
  LPM4[name] = function () error(name .. "() is left to the kinds of tables", 2) end
end

--- The key of the longest prefix of the address, or nil; search_string() is given it
--- as a text, search_bytes() as the 4 bytes of a packet. The faster tables look in what
--- was there at the last build(), and return 0 for none.
function LPM4:search(ip)
  local found = self:search_entry(ip)
  return found and found.key
end

function LPM4:search_string(text) return self:search(ip4.parse(text)) end

function LPM4:search_bytes(bytes)
  return self:search(read32(ffi.cast("uint8_t *", bytes)))
end

--- The longest prefix of the address, a text, as an `entry`; and the one of the text
--- "192.0.2.0/24" itself. Nil if there is none.
function LPM4:search_entry_string(text) return self:search_entry(ip4.parse(text)) end

function LPM4:search_cidr(text) return self:search_entry_exact(ip4.parse_cidr(text)) end

--- Give the prefix "192.0.2.0/24" a key, in place of the one it may have.
function LPM4:add_string(text, key)
  local ip, length = ip4.parse_cidr(text)
  self:add(ip, length, key)
end

function LPM4:remove_string(text)
  self:remove(ip4.parse_cidr(text))
end

--- Add the prefixes of a file: a prefix and a key on each line.
function LPM4:add_from_file(path)
  for _, line in ipairs(assert(files.lines(path))) do
    local prefix, key = line:match("^(%S+)%s+(%d+)")
    if not prefix then error(("%s: %q isn't a prefix and a key"):format(path, line)) end
    self:add_string(prefix, tonumber(key))
  end
  return self
end

--- Let searches find what was added and removed.
function LPM4:build() return self end

function LPM4.print_entry(_, e)
  print(("%s/%d %d"):format(ip4.tostring(e.ip), e.length, e.key))
end

function LPM4:print_entries()
  for e in self:entries() do self:print_entry(e) end
end

--- Add prefixes by chance, the same each time: `counts` says how many of each length.
function LPM4:add_random_entries(counts)
  counts = counts or {[0] = 1, [8] = 5, [12] = 20, [16] = 200, [19] = 200, [22] = 500,
    [24] = 2000, [28] = 50, [32] = 100}
  local x, total = 2463534242, 0
  for length = 0, 32 do total = total + (counts[length] or 0) end
  self:alloc("lpm4_ents", entry, total)
  self.entry_count = 0
  for length = 0, 32 do
    for _ = 1, counts[length] or 0 do
      x = random.u32(x)
      local e = self.lpm4_ents[self.entry_count]
      e.ip, e.length = ip4.masked(x, length), length
      x = random.u32(x)
      e.key = x % 0x7fff + 1
      local before = self:search_entry_exact(e.ip, length)
      if not before then
        self:add(e.ip, length, e.key)
        self.entry_count = self.entry_count + 1
      end
    end
  end
  return self
end

--- Remove a tenth of them, the same each time.
function LPM4:remove_random_entries()
  local ents, x = self.lpm4_ents, 88675123
  for _ = 1, math.floor(self.entry_count / 10) do
    x = random.u32(x)
    local last = self.entry_count - 1
    local e = ents[x % last + 1] -- not the first, which is of length 0
    self:remove(e.ip, e.length)
    ffi.copy(e, ents + last, ffi.sizeof(entry))
    self.entry_count = last
  end
end

--- Raise an error unless searches find what they do in another table.
function LPM4:verify(trusted)
  local ip = 271828
  for _ = 1, VERIFIED do
    local found, expected = self:search(ip) or 0, trusted:search(ip) or 0
    if found ~= expected then
      error(("%s got %d expected %d"):format(ip4.tostring(ip), found, expected))
    end
    ip = random.u32(ip)
  end
end

--- Raise an error unless entries() has all that was added by chance and is still there.
function LPM4:verify_entries_method()
  local keys = {}
  for e in self:entries() do keys[e.ip * 64 + e.length] = e.key end
  for i = 0, self.entry_count - 1 do
    local e = self.lpm4_ents[i]
    assert(keys[e.ip * 64 + e.length] == e.key, ip4.tostring(e.ip) .. " not found")
  end
end

return {LPM4 = LPM4, entry = entry}
