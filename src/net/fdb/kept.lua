-- SPDX-License-Identifier: Apache-2.0
-- Forwarding databases that outlive the process (net.keep): learned entries go on, at
-- the ports that their numbers stand for now. Static ones are the configuration's.

local C = require("core.declare")("net/fdb/fdb.h")
local fdb = require("net.fdb.fdb")
local tables = require("net.keep.tables")

local kept = {}

local LAYOUT = "fdb_entry 1" -- of struct fdb_entry: another number with each change
local GROUP = 1 -- in the first byte of an address, which is a key's lowest

local function port_of(record) return record.age.note[1] + record.age.note[2] * 256 end

local function set_port(record, port)
  record.age.note[1], record.age.note[2] = port % 256, math.floor(port / 256)
end

--- An item for net.keep of the database. `o`: of; notes (a text) and port(number,
--- notes), which says what port the number of a former process is now; nil and why it
--- is none; optional: segment(number, notes), the same of segments, and used(port), for
--- each entry that goes on.
function kept.item(database, o)
  local f, now_port = database.fdb, nil

  local function check(record, notes)
    if record.age.list == C.FDB_STATIC then return tables.PASS end
    if record.key % 2 == GROUP then return tables.BAD end
    local port, why = o.port(port_of(record), notes)
    if not port then return why end
    now_port = port
    set_port(record, port)
    if not o.segment then return nil end
    local mac, old = fdb.of_key(record.key)
    local segment, problem = o.segment(old, notes)
    if not segment then return problem end
    record.key = fdb.key(mac, segment)
  end

  return tables.item{of = o.of, layout = LAYOUT, flows = database.flows,
    notes = o.notes, per_second = 1, check = check,
    now = function () return f.now - 1 end,
    used = o.used and function () o.used(now_port) end}
end

--- For kept.item(): notes, and a function port(), for ports of such names, by number,
--- from 0 or 1 on.
function kept.by_name(names)
  local lines, numbers = {}, {}
  for i = 0, #names do
    if names[i] then
      lines[#lines + 1] = ("%d %s\n"):format(i, names[i])
      numbers[names[i]] = i
    end
  end
  local read, before = nil, {}
  local function port(number, notes)
    if read ~= notes then
      read, before = notes, {}
      for n, name in notes:gmatch("(%d+) ([^\n]*)\n") do before[tonumber(n)] = name end
    end
    local now = before[number] and numbers[before[number]]
    if not now then return nil, "of a port that is gone" end
    return now
  end
  return table.concat(lines), port
end

return kept
