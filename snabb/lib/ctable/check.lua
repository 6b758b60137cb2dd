-- SPDX-License-Identifier: Apache-2.0
-- Looks through a hash table: whether it is as it must be, and what is in it.

local NO_HASH = 0xffffffff

local check = {}

local function expect(condition, fmt, ...)
  if not condition then error("hash table: " .. fmt:format(...), 0) end
end

local function home(table, hash)
  return math.floor(hash * table.scale)
end

--- An error that says what is wrong in the table, if anything is.
function check.run(table)
  local occupancy, furthest, previous = 0, 0, NO_HASH
  for i = 0, table.size + table.max_displacement - 1 do
    local entry = table.entries[i]
    local hash = entry.hash
    if hash ~= NO_HASH then
      local place = home(table, hash)
      expect(table.hash_fn(entry.key) == hash, "entry %d has hash 0x%x, its key 0x%x",
        i, hash, table.hash_fn(entry.key))
      expect(place == i or place < i and previous ~= NO_HASH,
        "entry %d belongs at %d, with no gap between", i, place)
      expect(previous == NO_HASH or previous <= hash,
        "entry %d has a smaller hash than the one before", i)
      occupancy = occupancy + 1
      furthest = math.max(furthest, i - place)
    end
    previous = hash
  end
  expect(occupancy == table.occupancy, "it has %d entries, not %d", occupancy,
    table.occupancy)
  expect(furthest <= table.max_displacement,
    "an entry is displaced by %d, more than %d", furthest, table.max_displacement)
  expect(table.entries[table.size + table.max_displacement].hash == NO_HASH,
    "it has no end")
end

--- Print all places of the table.
function check.dump(table)
  for i = 0, table.size + table.max_displacement - 1 do
    local entry = table.entries[i]
    io.write(i, ":")
    if entry.hash ~= NO_HASH then
      io.write((" hash: %d (distance: %d)\n    key: %s\n  value: %s"):format(entry.hash,
        i - home(table, entry.hash), tostring(entry.key), tostring(entry.value)))
    end
    io.write("\n")
  end
end

return check
