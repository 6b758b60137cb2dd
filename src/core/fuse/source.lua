-- SPDX-License-Identifier: Apache-2.0
-- Writes the Lua source of a fused region: one function for each linear run of apps (a
-- segment), and one loop for each entry. Apps and functions are upvalues, which LuaJIT
-- takes as constants; each loop is numeric and in a function of its own. A segment
-- returns the packet and the number of the exit it takes, or nothing. Where packets may
-- leave in the midst of process() it puts them into the exit's array itself
-- (core.fuse.source_puts).

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local puts = require("core.fuse.source_puts")
local segments = require("core.fuse.segments")

local source = {}

-- A Lua function has at most 60 upvalues and 200 locals. What is beyond these
-- numbers takes a slower form, with tables.
local SEGMENT_APPS = 24
local SEGMENT_WAYS = 6 -- out of a segment, into others
local LOOP_EXITS = 20

-- emit(format, ...) adds a line to emit.lines; emit.app is the number of the app that
-- it deals with, if any, which emit.app_at keeps by line. emit.tapped is the set of the
-- links for each of whose packets seen() is to be called.
local Emitter = {}

function Emitter:__call(fmt, ...)
  local at = #self.lines + 1
  self.lines[at] = select("#", ...) > 0 and fmt:format(...) or fmt
  self.app_at[at] = self.app
end

local function emitter()
  return setmetatable({lines = {}, app_at = {}, tapped = {}}, Emitter)
end

-- Numbers of the segments that the last app of `segment` leads to, sorted; and a
-- function that gives the expression by which the segment calls one of them.
local function following(region, segment, starting)
  local seen, ids = {}, {}
  for _, out in ipairs(region.outputs[segment.apps[#segment.apps]]) do
    local id = out.kind == "app" and not out.closing and starting[out.to].id
    if id and not seen[id] then
      seen[id] = true
      ids[#ids + 1] = id
    end
  end
  table.sort(ids)
  local form = #ids <= SEGMENT_WAYS and "segment%d" or "S[%d]"
  return ids, function (name) return form:format(starting[name].id) end
end

-- q goes into the link of `out`, which may be tapped.
local function tap(emit, indent, out)
  if emit.tapped[out.spec or false] then emit("%sseen(%q, q)", indent, out.spec) end
end

-- What to do with q once it leaves by `out`; `call` names a segment.
local function leave(emit, indent, out, call)
  if out.kind == "exit" then
    emit("%sreturn q, %d -- %s", indent, out.exit, out.spec)
  elseif out.kind == "app" then
    emit("%sp, e = %s(q, %d)", indent, call(out.to), out.input)
    emit("%sreturn p, e", indent)
  else
    emit("%sreturn drop(%d, q) -- %s has no link", indent, out.event, out.output)
  end
end

-- The call of an app's process(), whose result is in q and o, and what becomes of a
-- packet that it doesn't pass on. An app that says how much longer it makes packets
-- (lengthens) costs no look at their lengths.
local function emit_call(emit, region, name, input)
  local k, known = region.index[name], region.lengthens[region.index[name]]
  if not known then emit("  before = p.length") end
  emit("  q, o = process%d(%s, p, %s) -- %s", k,
    region.bound[k] and "nil" or "app" .. k, input, name)
  -- `q ~= p` costs nothing where LuaJIT sees that it is the same packet, and then
  -- nor does the length, which nothing needs.
  emit("  if q ~= p and (not q or q == nil) then")
  emit("    return lose(%d, o, p, %s, q)", k, known and "p.length" or "before")
  emit("  end")
  if known then return end
  emit("  size = q.length")
  emit("  if size ~= before then grow(%d, size - before) end", k)
end

-- `input` is the number of the app's input, or the name of a variable.
local function emit_app(emit, region, name, input, last, call)
  local k, outs = region.index[name], region.outputs[name]
  local away = region.puts and puts.leave or leave
  emit.app = k
  emit_call(emit, region, name, input)
  for i = 2, #outs do
    emit("  if o == %d then", i)
    if outs[i].kind ~= "none" then emit("    count(%d, q.length)", outs[i].event) end
    tap(emit, "    ", outs[i])
    away(emit, "    ", outs[i], call)
    emit("  end")
  end
  if #outs == 0 then return emit("  return drop(%d, q)", region.astray[k]) end
  emit("  if o and o ~= 1 then return drop(%d, q) end", region.astray[k])
  tap(emit, "  ", outs[1])
  if last then
    if outs[1].closing then emit("  count(%d, q.length)", outs[1].event) end
    return away(emit, "  ", outs[1], call)
  end
  emit("  p = q")
end

-- Segments are written from the last to the first: each finds those it leads
-- to in S. The `do` keeps to the 200 locals a Lua function may have.
local function emit_segment(emit, region, segment, starting)
  local ids, call = following(region, segment, starting)
  emit("")
  emit("do -- segment %d: %s", segment.id, table.concat(segment.apps, ", "))
  for _, name in ipairs(segment.apps) do
    local k = region.index[name]
    emit("local process%d = R.process[%d]", k, k)
    if not region.bound[k] then emit("local app%d = R.app[%d]", k, k) end
  end
  if #ids <= SEGMENT_WAYS then
    for _, id in ipairs(ids) do emit("local segment%d = S[%d]", id, id) end
  end
  if region.puts then
    puts.exits_near(emit, region, segment.apps[#segment.apps], SEGMENT_WAYS)
  end
  emit("S[%d] = function (p, input)", segment.id)
  emit("  local q, o, e, size, before")
  local input = "input"
  for i, name in ipairs(segment.apps) do
    emit_app(emit, region, name, input, i == #segment.apps, call)
    input = (region.outputs[name][1] or {}).input
  end
  emit.app = nil
  emit("end")
  emit("end")
end

-- The loop of an entry from which more exits can be reached than a function can
-- have local variables and upvalues for.
local function emit_wide_entry(emit, region, number, id, input, exits)
  emit("local out, counts = R.out, R.fill")
  source.step(emit, region, number, id, input)
  emit("local function loop%d(n, step, out, counts)", number)
  emit("  for i = 0, n - 1 do")
  emit("    local q, e = step(i)")
  emit("    if e then")
  emit("      out[e][counts[e]] = q")
  emit("      counts[e] = counts[e] + 1")
  emit("    end")
  emit("  end")
  emit("end")
  emit("local fetch, flush = R.fetch[%d], R.flush", number)
  emit("local exits = {%s}", table.concat(exits, ", "))
  emit("R.loop[%d], R.wide[%d] = loop%d, true", number, number, number)
  source.run(emit, number, "fetch", function ()
    emit("  for i = 1, #exits do counts[exits[i]] = 0 end")
    source.begin_loop(emit, region)
    emit("  loop%d(n, step%d, out, counts)", number, number)
    emit("  for i = 1, #exits do")
    emit("    flush[exits[i]](out[exits[i]], counts[exits[i]])")
    emit("  end")
  end)
  emit("end")
end

--- Write what a loop does for packet `i`, a function in which segment and array are
--- constants. The loop's own function has no upvalues: for these, LuaJIT makes sure
--- that it is that function; so each packet that comes back to the loop from the trace
--- of another way writes to the stack whose frame it is, in halves, and reads it whole,
--- for which the CPU has to wait. Nor does such a packet know its number soon, as the
--- trace leaves it as a double: where packets go many ways, it is also in memory.
function source.step(emit, region, number, id, input)
  emit("local segment%d = S[%d]", id, id)
  if region.spread then emit("local next = R.next_p") end
  emit("local function step%d(i)", number)
  if region.spread then
    emit("  i = next[0]")
    emit("  next[0] = i + 1")
  end
  emit("  local q, e = segment%d(packets[i], %d)", id, input)
  emit("  return q, e")
  emit("end")
  emit("R.step[%d] = step%d", number, number)
end

--- Write what is to be done before such a loop; `next` is another name for that memory.
function source.begin_loop(emit, region, next)
  if region.spread then emit("  %s[0] = 0", next or "next") end
end

--- Write what runs an entry: a burst is fetched, and passed on by what body() writes of
--- its number `n`. (pass(n) is apart for who watches what is fetched: Region:watch. The
--- body is in both, as calls between two loops cost a burst: LuaJIT writes their frames
--- to the stack before the second, and reads them after it.)
function source.run(emit, number, fetch, body)
  emit("local function pass(n)")
  body()
  emit("end")
  emit("local full, more = R.full_burst[%d], R.more[%d]", number, number)
  emit("R.pass[%d] = pass", number)
  emit("R.run[%d] = function ()", number)
  emit("  local n = %s(packets)", fetch)
  body()
  emit("  if n == full then more() end")
  emit("  return n")
  emit("end")
end

-- The loop over a burst's `n` packets, which leave by the `exits` (numbers). `names`
-- has the names of the function for each, step, and of the exits' arrays, to (with %d).
local function emit_loop(emit, region, exits, names)
  for _, x in ipairs(exits) do
    emit("  local n%d = 0", x)
    if region.weighed[x] then emit("  local bytes%d = 0", x) end
  end
  emit("  for i = 0, n - 1 do")
  emit("    local q, e = %s(i)", names.step)
  for i, x in ipairs(exits) do
    emit("    %s e == %d then", i == 1 and "if" or "elseif", x)
    emit("      %s[n%d] = q", names.to:format(x), x)
    emit("      n%d = tobit(n%d + 1)", x, x)
    if region.weighed[x] then
      emit("      bytes%d = tobit(bytes%d + q.length)", x, x)
    end
  end
  if #exits > 0 then emit("    end") else emit("    if e then error(q) end") end
  emit("  end")
end

-- What follows it.
local function emit_flush(emit, region, exits, names)
  for _, x in ipairs(exits) do
    emit("  %s(%s, n%d%s)", names.flush:format(x), names.out:format(x), x,
      region.weighed[x] and ", bytes" .. x or "")
  end
end

-- Of an entry in the region's own source.
local NAMES = {step = "step", to = "to%d", flush = "flush%d", out = "out%d"}

--- The exits (numbers) that packets of entry `number` may reach.
function source.exits(region, number)
  return segments.exits_from(region, region.ways[number].to)
end

--- Are these too many for a function to have local variables and upvalues for?
function source.is_wide(region, number)
  return not region.puts and #source.exits(region, number) > LOOP_EXITS
end

--- Write what is done with a burst of `n` packets of entry `number`. `names` has the
--- names of what that needs: step, and next (source.step); of each exit out, its array,
--- also as the variable `to`, and flush (all with %d); all, which flushes all of them.
function source.burst(emit, region, number, names)
  source.begin_loop(emit, region, names.next)
  if region.puts then return puts.burst(emit, names) end
  local exits = source.exits(region, number)
  emit_loop(emit, region, exits, names)
  emit_flush(emit, region, exits, names)
end

local function emit_entry(emit, region, number, spec, starting)
  local to, input = region.ways[number].to, region.ways[number].input
  local exits = source.exits(region, number)
  emit("")
  emit("do -- entry %d: %s", number, spec)
  if source.is_wide(region, number) then
    return emit_wide_entry(emit, region, number, starting[to].id, input, exits)
  end
  source.step(emit, region, number, starting[to].id, input)
  local names, outs = {}, {}
  for i, x in ipairs(exits) do
    emit("local out%d, flush%d = R.out_p[%d], R.flush[%d]", x, x, x, x)
    names[i], outs[i] = ", to" .. x, ", out" .. x
  end
  local near = "step, tobit" .. table.concat(names) -- tobit keeps counts int
  local given = ("step%d, tobit"):format(number) .. table.concat(outs)
  emit("local function loop%d(n, %s)", number, near)
  emit_loop(emit, region, exits, NAMES)
  local counts = {}
  for _, x in ipairs(exits) do
    counts[#counts + 1] = "n" .. x
    if region.weighed[x] then counts[#counts + 1] = "bytes" .. x end
  end
  emit("  return %s", table.concat(counts, ", "))
  emit("end")
  emit("local fetch%d = R.fetch[%d]", number, number)
  emit("R.loop[%d] = loop%d", number, number)
  source.run(emit, number, "fetch" .. number, function ()
    source.begin_loop(emit, region)
    emit("  %sloop%d(n, %s)", #counts > 0 and
      ("local %s = "):format(table.concat(counts, ", ")) or "", number, given)
    emit_flush(emit, region, exits, NAMES)
  end)
  emit("end")
end

--- The source of `region` as a string, and the numbers of the apps that its lines deal
--- with, {[LINE] = number}. The region has, beside what regions.find gives: app_of (by
--- name); index (a number for each app); outputs (for each app a list of {kind = "app",
--- "exit" or "none", to =, input = the number of that app's input, closing = the number
--- of the link if it closes a loop, exit =, spec =, output =, event =, emitted =});
--- ways (by entry, {to =, input =}); astray (by number of the app, the event of an
--- output it doesn't have); lengthens and bound (by number of the app, what it says by
--- these names: doc/apps.md); spread: whether its packets go many ways; and weighed:
--- by exit, whether the bytes that leave must be added up. With `tapped`, a set of
--- links within the region or out of it, seen(LINK, PACKET) of the region is called for
--- packets of those.
function source.generate(region, tapped)
  local emit = emitter()
  emit.tapped, emit.tap = tapped or emit.tapped, tap
  local list, starting = segments.of(region, region.puts and puts.SEGMENT_APPS
    or SEGMENT_APPS)
  emit("local R = ...")
  emit("local drop, lose, grow, count = R.drop, R.lose, R.grow, R.count")
  emit("local packets, tobit = R.packets_p, bit.tobit")
  if tapped then emit("local seen = R.seen") end
  emit("local S = R.segment")
  if region.puts then puts.begin(emit, region, starting) end
  for i = #list, 1, -1 do emit_segment(emit, region, list[i], starting) end
  if region.puts then puts.emits(emit, region, starting) end
  for number, spec in ipairs(region.entries) do
    if region.puts then
      puts.entry(emit, region, number, spec, starting, source)
    else
      emit_entry(emit, region, number, spec, starting)
    end
  end
  return table.concat(emit.lines, "\n") .. "\n", emit.app_at
end

return source
