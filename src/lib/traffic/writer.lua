-- SPDX-License-Identifier: Apache-2.0
-- Writes the Lua source of the loop that makes packets: one numeric loop with all that
-- is constant in it as a constant, for LuaJIT to compile. Nothing in it makes a table
-- or a string.

local fields = require("lib.traffic.fields")
local MAX_PAYLOAD = require("core.packet").max_payload
local probe = require("lib.traffic.probe")

local M = {}

local function emitter()
  local lines = {}
  return function (fmt, ...)
    lines[#lines + 1] = select("#", ...) > 0 and fmt:format(...) or fmt
  end, lines
end

-- Values ------------------------------------------------------------------------------

-- The expression for the value of setting `i`, and whether it takes turns.
local function value_of(emit, setting, i)
  local spec, low = setting.spec, setting.field.kind == "ip6" and 0 or setting.spec.low
  if spec.kind == "random" then
    emit("local v%d = %.0f + floor(random_at(flow, seed%d) * %.0f)", i, low, i,
      spec.count)
  elseif spec.kind == "range" then
    emit("local v%d = turn%d + %.0f", i, i, low)
  elseif setting.field.kind ~= "ip6" then
    emit("local v%d = list%d[turn%d]", i, i, i)
  end
end

local function write_mac(emit, offset, i)
  emit("local high = floor(v%d * %.17g)", i, 2^-32)
  emit("cast(u16_ptr, data + %d)[0] = rshift(bswap(high), 16)", offset)
  emit("cast(u32_ptr, data + %d)[0] = bswap(v%d - high * 4294967296)", offset + 2, i)
end

local function write_ip6(emit, setting, i)
  if setting.spec.kind == "list" then
    return emit("copy(data + %d, list%d + turn%d, 16)", setting.offset, i, i)
  end
  emit("cast(u64_ptr, data + %d)[0] = bswap(low%d + cast(u64, v%d))",
    setting.offset + 8, i, i)
end

local function write(emit, setting, i)
  local field, offset = setting.field, setting.offset
  if setting.spec.kind == "constant" then
    return emit("pkt.%s:set%s(constant%d)", setting.item.label, field.name, i)
  elseif field.kind == "mac" then return write_mac(emit, offset, i)
  elseif field.kind == "ip6" then return write_ip6(emit, setting, i)
  elseif field.kind == "ip4" then
    return emit("cast(u32_ptr, data + %d)[0] = bswap(v%d)", offset, i)
  end
  emit("pkt.%s:set%s(v%d)", setting.item.label, field.name, i)
end

-- The turns ---------------------------------------------------------------------------

local function takes_turns(setting)
  return setting.spec.kind == "range" or setting.spec.kind == "list"
end

-- The first setting takes the next value with each packet, the second when the first
-- begins again, and so on; all of them begin again after so many flows.
local function emit_turns(emit, settings, flows)
  local depth = 0
  for i, setting in ipairs(settings) do
    if takes_turns(setting) then
      emit("turn%d = turn%d + 1", i, i)
      emit("if turn%d == %.0f then", i, setting.spec.count)
      emit("turn%d = 0", i)
      depth = depth + 1
    end
  end
  for _ = 1, depth do emit("end") end
  if flows == fields.turns(settings) then return end -- they come again by themselves
  emit("flow = flow + 1")
  if flows == math.huge then return end
  emit("if flow == %.0f then", flows)
  emit("flow = 0")
  for i, setting in ipairs(settings) do
    if takes_turns(setting) then emit("turn%d = 0", i) end
  end
  emit("end")
end

-- Checksums ---------------------------------------------------------------------------

local function product(expression, factor)
  return factor == 1 and expression or expression .. " * 256"
end

local function term_text(term, settings)
  if term.sum then return product("c" .. term.sum, term.factor) end
  local value = "v" .. term.setting
  if settings[term.setting].field.bits > 32 then
    value = ("fold32(%s)"):format(value)
  end
  return product(value, term.factor)
end

local function emit_sum(emit, sum, k, job)
  local parts = {("base%d[index]"):format(k)}
  for _, term in ipairs(sum) do parts[#parts + 1] = term_text(term, job.settings) end
  if sum.record and job.template.some then
    parts[#parts + 1] = product("record_sum", sum.record)
  end
  emit("local c%d = 65535 - fold16(%s)", k, table.concat(parts, " + "))
  if sum.zero then emit("if c%d == 0 then c%d = %d end", k, k, sum.zero) end
  emit("cast(u16_ptr, data + %d)[0] = rshift(bswap(c%d), 16)", sum.at, k)
end

local function emit_checksums(emit, job)
  if not job.sums then return emit("pkt:calculateChecksums()") end
  for k, sum in ipairs(job.sums) do emit_sum(emit, sum, k, job) end
end

-- The record --------------------------------------------------------------------------

local function emit_record(emit, job)
  local t = job.template
  if not t.some then return end
  local sum = (job.folds and "fold32(number)" or "number") .. " + time_sum"
  if not t.all then
    emit("local record_sum = 0")
    emit("if records[index] ~= 0 then")
    emit("record_sum = %s", sum)
  else
    emit("local record_sum = %s", sum)
  end
  if t.in_front then
    emit("local at = records[index]")
    emit("local record = cast(probe_ptr, data + at)")
    if job.odd_payload then -- its bytes are the other ones of the sum's 16-bit parts
      emit("if at == %d then record_sum = record_sum * 256 end", job.header_size)
    end
  else
    emit("local record = cast(probe_ptr, data + %d)", job.record_at)
  end
  emit("record.number = bswap(cast(u64, number))")
  emit("record.time = time")
  emit("number = number + 1")
  if not t.all then emit("end") end
end

-- A script's function may write over the record, or cut it off: that one isn't
-- numbered.
local function emit_record_check(emit, job)
  local t = job.template
  if not (job.user and t.some) then return end
  emit("local at = records[index]")
  emit("if at ~= 0 then")
  emit("local record = cast(probe_ptr, data + at)")
  emit("if size < at + %d or record.magic ~= %d", probe.SIZE, probe.MAGIC)
  emit("or record.number ~= bswap(cast(u64, number - 1)) then number = number - 1 end")
  emit("end")
end

-- The loop ----------------------------------------------------------------------------

local function emit_template(emit, t)
  if t.length == 1 then
    emit("local index, size = 0, %d", t.sizes[0])
    emit("local data = p.data")
    emit("copy(data, bytes, %d)", t.head)
  else
    emit("local index = round[cursor]")
    emit("local size = sizes[index]")
    emit("local data = p.data")
    emit("copy(data, bytes + index * %d, %d)", t.stride, t.head)
    emit("cursor = cursor + 1")
    emit("if cursor == %d then cursor = 0 end", t.length)
  end
  if t.largest <= t.head then return end
  local guard = t.smallest <= t.head
  if guard then emit("if size > %d then", t.head) end
  emit("fill(data + %d, size - %d)", t.head, t.head)
  if guard then emit("end") end
end

local function emit_user(emit, job)
  if not job.user then return end
  emit("user(pkt, sent)")
  emit("if p.length ~= size then")
  emit("size = p.length")
  emit("if size < %d or size > %d then refuse(p) end",
    job.header_size, MAX_PAYLOAD)
  emit("pkt:setLength(size)")
  emit("end")
end

local function emit_packet(emit, job)
  emit("local p = allocate()")
  emit_template(emit, job.template)
  emit("p.length = size")
  emit("local pkt = stack(p)")
  local varying, constant = {}, {}
  for i, setting in ipairs(job.settings) do
    if setting.spec.kind ~= "constant" then
      varying[#varying + 1] = i
      value_of(emit, setting, i)
      write(emit, setting, i)
    elseif setting.field.checksum then
      constant[#constant + 1] = i
    end
  end
  emit_record(emit, job)
  emit_user(emit, job)
  emit_record_check(emit, job)
  emit_checksums(emit, job)
  if not job.sums then -- that overwrote those that are set
    for _, i in ipairs(constant) do write(emit, job.settings[i], i) end
    for _, i in ipairs(varying) do
      if job.settings[i].field.checksum then write(emit, job.settings[i], i) end
    end
  end
  emit("transmit(output, p)")
end

local NAMES = {"allocate", "transmit", "copy", "fill", "cast", "bswap", "rshift",
  "floor", "random_at", "fold16", "fold32", "u16_ptr", "u32_ptr", "u64_ptr", "u64",
  "probe_ptr", "advance", "gap_of", "arrivals", "refuse", "state", "schedule", "stack",
  "user", "bytes", "round", "sizes", "records"}

local function emit_upvalues(emit, job)
  for _, name in ipairs(NAMES) do emit("local %s = A.%s", name, name) end
  for i, setting in ipairs(job.settings) do
    for _, name in ipairs{"seed", "low", "list", "constant"} do
      if job.arguments[name .. i] then emit("local %s%d = A.%s%d", name, i, name, i) end
    end
    if takes_turns(setting) then job.turns[#job.turns + 1] = i end
  end
  for k in ipairs(job.sums or {}) do emit("local base%d = A.base%d", k, k) end
end

local function emit_state(emit, job, store)
  local form = store and "state.%s = %s" or "local %s = state.%s"
  local function line(name, field)
    if store then name, field = field, name end
    emit(form, name, field)
  end
  for _, name in ipairs{"sent", "length", "wire", "number", "flow", "cursor"} do
    line(name, name)
  end
  for _, i in ipairs(job.turns) do
    line("turn" .. i, ("turns[%d]"):format(i - 1))
  end
end

--- The source of a chunk that, called with a table of what it needs (job.arguments and
--- what NAMES lists), returns the function (output, n, now, time, time_sum): it sends
--- to the link `output` up to `n` packets, those that are due at `now`. `job` is a
--- table of `template`, `settings`, `sums` (or nil: calculateChecksums), `flows`,
--- `user` (true: a function is called for each packet), `paced`, `record_at` (its
--- offset, where it is behind the payload), `header_size`, `odd_payload` (has it an odd
--- number of bytes?), `folds` (are numbers too large to be added up as they are?).
function M.source(job)
  local emit, lines = emitter()
  job.turns = {}
  emit("local A = ...")
  emit_upvalues(emit, job)
  emit("return function (output, n, now, time, time_sum)")
  emit_state(emit, job, false)
  emit("for _ = 1, n do")
  if job.paced then emit("if schedule.due > now then break end") end
  emit_packet(emit, job)
  if job.paced then emit("advance(schedule, gap_of(arrivals, size))") end
  emit("sent = sent + 1")
  local one_size = job.template.length == 1 and not job.user and job.template.smallest
  if not one_size then
    emit("length = length + size")
    emit("wire = wire + (size < 60 and 60 or size)")
  end
  emit_turns(emit, job.settings, job.flows)
  emit("end")
  if one_size then
    emit("length = sent * %d", one_size)
    emit("wire = sent * %d", math.max(one_size, 60))
  end
  emit_state(emit, job, true)
  emit("end")
  return table.concat(lines, "\n")
end

return M
