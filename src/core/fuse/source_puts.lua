-- SPDX-License-Identifier: Apache-2.0
-- The parts of a region's source where packets may leave in the midst of process():
-- apps send more than they return (emit), or links close a loop. Segments return
-- nothing: a packet is put into the array of its exit where it reaches that, and the
-- array is flushed when it is full, and after each burst. A packet that goes round a
-- loop is a call of the segment that begins there, so many calls deep at most.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local unfused = require("core.fuse.unfused")

local puts = {}

--- The most apps of a segment: its function needs upvalues for more than elsewhere.
puts.SEGMENT_APPS = 18

--- What to do with q once it leaves by `out`; `call` names a segment.
function puts.leave(emit, indent, out, call)
  if out.kind == "exit" then
    local form = emit.near[out.exit] and "%sreturn put%d(q) -- %s"
      or "%sreturn put[%d](q) -- %s"
    emit(form, indent, out.exit, out.spec)
  elseif out.closing then
    emit("%sreturn again[%d](q) -- %s", indent, out.closing, out.spec)
  elseif out.kind == "app" then
    emit("%sreturn %s(q, %d)", indent, call(out.to), out.input)
  else
    emit("%sreturn drop(%d, q) -- %s has no link", indent, out.event, out.output)
  end
end

--- Write local variables for the exits by which the app `last` of a segment leaves, if
--- they are up to `most`: calls of such cost a look-up less.
function puts.exits_near(emit, region, last, most)
  local near, n = {}, 0
  for _, out in ipairs(region.outputs[last]) do
    if out.kind == "exit" and not near[out.exit] then
      near[out.exit], n = true, n + 1
    end
  end
  emit.near = n <= most and near or {}
  for x = 1, #region.exits do
    if emit.near[x] then emit("local put%d = put[%d]", x, x) end
  end
end

--- What segments call: put[EXIT](q) and again[LINK](q), for each link that closes a
--- loop.
function puts.begin(emit, region, starting)
  emit("local put, again, fill, depth = {}, {}, R.fill_p, R.depth")
  for x, spec in ipairs(region.exits) do
    emit("do -- exit %d: %s", x, spec)
    emit("local to, full = R.out_p[%d], R.full[%d]", x, x)
    emit("put[%d] = function (q)", x)
    emit("  local n = fill[%d]", x)
    emit("  to[n] = q")
    emit("  fill[%d] = n + 1", x)
    emit("  if n == %d then full() end", region.room - 1)
    emit("end")
    emit("end")
  end
  for i, back in ipairs(region.backs) do
    emit("again[%d] = function (q) -- %s", i, back.spec)
    emit("  local rounds = depth[0]")
    emit("  if rounds == %d then return drop(%d, q) end", unfused.MOST_ROUNDS,
      back.looped)
    emit("  depth[0] = rounds + 1")
    emit("  S[%d](q, %d)", starting[back.to].id, back.input)
    emit("  depth[0] = rounds")
    emit("end")
  end
end

local function emit_output(emit, i, out, starting)
  emit("  %s o == %d then", i == 1 and "if" or "elseif", i)
  if out.emitted then emit("    count(%d, q.length)", out.emitted) end
  emit.tap(emit, "    ", out)
  if out.kind == "none" then
    emit("    return drop(%d, q) -- %s has no link", out.undone, out.output)
  else
    puts.leave(emit, "    ", out, function (name)
      return ("S[%d]"):format(starting[name].id)
    end)
  end
end

--- emit(o, q) of each app that has it.
function puts.emits(emit, region, starting)
  emit.near = {}
  for _, name in ipairs(region.apps) do
    if region.app_of[name].emits then
      local k, outs = region.index[name], region.outputs[name]
      emit("")
      emit("R.emit[%d] = function (o, q) -- %s", k, name)
      for i, out in ipairs(outs) do emit_output(emit, i, out, starting) end
      if #outs > 0 then emit("  end") end
      emit("  return drop(%d, q)", region.strays[k])
      emit("end")
    end
  end
end

--- What is done with a burst of `n` packets (core.fuse.source.burst).
function puts.burst(emit, names)
  emit("  for i = 0, n - 1 do %s(i) end", names.step)
  emit("  %s()", names.all)
end

--- The loop of an entry, and what runs it; `write` are functions of core.fuse.source.
function puts.entry(emit, region, number, spec, starting, write)
  local way = region.ways[number]
  local id = starting[way.to].id
  emit("")
  emit("do -- entry %d: %s", number, spec)
  write.step(emit, region, number, id, way.input)
  emit("local function loop%d(n, step)", number)
  emit("  for i = 0, n - 1 do step(i) end")
  emit("end")
  emit("local fetch, flush_all = R.fetch[%d], R.flush_all", number)
  emit("R.loop[%d] = loop%d", number, number)
  write.run(emit, number, "fetch", function ()
    write.begin_loop(emit, region)
    emit("  if n > 0 then loop%d(n, step%d) end", number, number)
    emit("  flush_all()")
  end)
  emit("end")
end

return puts
