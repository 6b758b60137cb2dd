-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
require("core.declare")("native/flows.h")
local C = require("core.declare")("net/keep/keep.h")
local dumps = require("testing.click_dumps")
local ffi = require("ffi")
local keep = require("net.keep.keep")
local outliving = require("testing.kept")
local random = require("testing.fuzz.random")
local stderr = require("testing.stderr")

local FIELDS = "src sport dst dport proto"
local PATTERN = "pattern 9.0.0.9 1024-65535# - - 0 1"
ffi.cdef "int truncate(const char *path, long length);"

local MUTANTS = os.getenv("PERIGEE_LONG") and 100000 or 2000

local function rewriter(arguments, class)
  return click.unit(("%s(%s)"):format(class or "IPRewriter", arguments),
    {inputs = 2, outputs = 2})
end

local function pass(...) return dumps.pass(FIELDS, ...) end

local function kept(unit)
  local item = unit.element:kept_state()
  item.of = "nat"
  keep.records(item)
end

local again = outliving.again

local function path() return keep.folder("spec") .. "/nat" end

describe("Flows that outlive the process", function ()
  before_each(outliving.set_up)
  after_each(outliving.tear_down)

  local OUT = "1.0.0.%d 7 2.0.0.2 80 %s"

  local function started(arguments)
    local unit = rewriter(arguments or PATTERN .. ", drop")
    kept(unit)
    for i = 1, 3 do
      pass(unit, OUT:format(i, "T"))
      pass(unit, OUT:format(i, "U"))
    end
    return unit
  end

  it("are rewritten as before, there and back", function ()
    started()
    again()
    local unit = rewriter(PATTERN .. ", drop")
    kept(unit)
    assert.equal("perigee: --keep spec: nat goes on with 6 of 6 records\n",
      stderr.told())
    assert.equal("9.0.0.9 1028 2.0.0.2 80 T", pass(unit, OUT:format(3, "T")))
    assert.equal("2.0.0.2 80 1.0.0.2 7 U", pass(unit, "2.0.0.2 80 9.0.0.9 1027 U", 2))
    assert.equal(6, unit:read("table_size"))
    -- A port that is taken isn't given again.
    assert.equal("9.0.0.9 1025 2.0.0.2 80 T", pass(unit, OUT:format(4, "T")))
  end)

  it("are those of inputs that do the same", function ()
    started()
    again()
    local unit = rewriter("pattern 9.0.0.8 1024-65535# - - 0 1, drop")
    kept(unit)
    assert.equal("perigee: --keep spec: nat goes on with 0 of 6 records; not used: 6 "
      .. "of an input that is another now\n", stderr.told())
    assert.equal(0, unit:read("table_size"))
  end)

  it("are no more than the capacity", function ()
    started()
    again()
    local unit = rewriter(PATTERN .. ", drop, MAPPING_CAPACITY 4")
    kept(unit)
    assert.truthy(stderr.told():find("with 4 of 6 records; not used: 2 above the "
      .. "capacity", 1, true), stderr.told())
  end)

  it("go when their time is over", function ()
    local unit = started()
    local flows = unit.element.native.flows
    for i = 1, 3 do
      flows.flow[i].age.list = 1
      flows.flow[i].age.expiry = unit.element:time() - i
    end
    again()
    local unit2 = rewriter(PATTERN .. ", drop")
    kept(unit2)
    assert.truthy(stderr.told():find("with 3 of 6 records; not used: 3 out of time", 1,
      true), stderr.told())
  end)

  it("have the sequence numbers that they had, or go", function ()
    local unit = started()
    assert.is_true(C.pg_flow_shift(unit.element.native.flows, 2, 1, 5))
    again()
    kept(rewriter(PATTERN .. ", drop"))
    assert.truthy(stderr.told():find("1 whose TCP sequence numbers were changed", 1,
      true), stderr.told())
  end)

  it("stay with a router that replaces this one", function ()
    local old = started()
    local unit = rewriter(PATTERN .. ", drop")
    unit.element:take_state(old.element)
    kept(unit)
    pass(unit, OUT:format(9, "T"))
    again()
    local unit2 = rewriter(PATTERN .. ", drop")
    kept(unit2)
    assert.equal(7, unit2:read("table_size"))
  end)

  it("have this layout; another one is called so", function ()
    local FIELDS_OF = {"key", "age", "number", "ip_change", "l4_change", "output",
      "kind", "input", "state", "protocol", "reply_note", "shifted"}
    local offsets = {}
    for i, field in ipairs(FIELDS_OF) do
      offsets[i] = ffi.offsetof("struct click_flow", field)
    end
    assert.same({0, 24, 48, 52, 54, 56, 58, 59, 60, 61, 62, 63}, offsets)
    assert.equal("click_flow 1", started().element:kept_state().layout)
  end)

  -- All flows of a table are in it by their keys, and it can be used and emptied.
  local function is_sound(unit)
    local flows = unit.element.native.flows
    local n = 0
    for kind = 0, flows.kinds - 1 do
      unit.element.set:table(kind, 0)
    end
    for i = 1, flows.records.top - 1 do
      local f = flows.flow[i]
      if f.kind ~= C.NO_FLOW then
        n = n + 1
        assert(f.kind < flows.kinds and f.input < 2 and f.output[0] < 2
          and f.output[1] < 2 and f.age.list < C.FLOW_LISTS)
        assert.equal(i, math.floor(C.pg_flows_find(flows, f.kind, f.key[0]) / 2))
      end
    end
    assert.equal(n, flows.records.count)
    pass(unit, OUT:format(1, "T"))
    unit:write("clear")
    assert.equal(0, unit:read("table_size"))
  end

  -- Bytes in four places of a file: header, notes, bits, records; and where these are.
  local function parts_of(file)
    local h = keep.look(path()).header
    local list = {}
    for _, at in ipairs{0, tonumber(h.notes_at), tonumber(h.bits_at),
                        tonumber(h.records_at)} do
      file:seek("set", at)
      list[#list + 1] = {at = at, bytes = file:read(700)}
    end
    return list
  end

  local header = ffi.new("struct keep_header")

  -- A header's checksum is made right in half of the files.
  local function with_sum(bytes)
    ffi.copy(header, bytes, ffi.sizeof(header))
    C.pg_keep_set_sum(header)
    return ffi.string(header, ffi.sizeof(header)) .. bytes:sub(ffi.sizeof(header) + 1)
  end

  local BYTES = {0, 1, 2, 7, 63, 64, 127, 128, 254, 255}

  local function mutant(bytes, chance)
    for _ = 1, chance:range(1, 6) do
      local at = chance:range(1, #bytes)
      local byte = chance:range(0, 1) == 0 and BYTES[chance:range(1, #BYTES)]
        or chance:range(0, 255)
      bytes = bytes:sub(1, at - 1) .. string.char(byte) .. bytes:sub(at + 1)
    end
    return bytes
  end

  -- Write a mutant over the file.
  local function spoil(parts, size, chance)
    local file = assert(io.open(path(), "r+b"))
    local which = chance:range(1, #parts)
    for i, part in ipairs(parts) do
      local bytes = i == which and mutant(part.bytes, chance) or part.bytes
      if i == 1 and chance:range(0, 1) == 1 then bytes = with_sum(bytes) end
      file:seek("set", part.at)
      file:write(bytes)
    end
    file:close()
    if chance:range(1, 20) == 1 then ffi.C.truncate(path(), chance:range(0, size)) end
  end

  it("come to no harm by any file #slow", function ()
    local seed = os.time()
    started()
    local whole = assert(io.open(path(), "rb"))
    local size, parts = whole:seek("end"), parts_of(whole)
    whole:close()
    local used = 0
    for n = 1, MUTANTS do
      local chance = random.new(seed, n)
      spoil(parts, size, chance)
      again()
      local before = keep.counts.used
      local unit = rewriter(PATTERN .. ", drop")
      local ok, problem = pcall(function ()
        kept(unit)
        is_sound(unit)
      end)
      assert(ok, ("seed %d, mutant %d: %s"):format(seed, n, tostring(problem)))
      used = used + keep.counts.used - before
      assert(not stderr.told():find("isn't kept"), stderr.told())
      stderr.keep()
      unit.element:cleanup()
    end
    assert.truthy(used > MUTANTS) -- most files can be used in part
  end)
end)
