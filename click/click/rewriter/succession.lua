-- SPDX-License-Identifier: Apache-2.0
-- What becomes of a rewriter's flows when another router takes over (hot swap). Those
-- of inputs whose specifications haven't changed are kept.

local ffi = require("ffi")
local C = require("core.declare")("native/flows.h")
local inputs = require("click.rewriter.inputs")

local succession = {}

-- Does the input do the same with new flows?
local function is_same(new, old)
  return new ~= nil and old ~= nil and new.kind == old.kind
    and new.forward == old.forward and new.reply == old.reply
    and inputs.text(new, 0) == inputs.text(old, 0)
    and (new.mapper and new.mapper.name) == (old.mapper and old.mapper.name)
end

-- The rewriter's kinds of flows, as pairs with those of the old one.
local function pairs_of(e, old)
  local list = {}
  for _, field in ipairs{"tcp", "other"} do
    if e.native[field] >= 0 and old.native[field] >= 0 then
      list[#list + 1] = {e.native[field], old.native[field]}
    end
  end
  return list
end

local function is_kept(e, old, i)
  return i <= e.ninputs and is_same(e.specs[i], old.specs[i])
end

local function copy(e, old)
  for _, kinds in ipairs(pairs_of(e, old)) do
    for i = 1, old.ninputs do
      if is_kept(e, old, i) then
        C.pg_flows_copy(e.native.flows, kinds[1], old.native.flows, kinds[2], i - 1,
          e:time())
      end
    end
  end
end

-- Let the old flows have the settings of the new kind, and the new flows the old's, so
-- that each counts at its element.
local function swap_settings(new, old)
  new.guarantee, old.guarantee = old.guarantee, new.guarantee
  new.counts, old.counts = old.counts, new.counts
  for i = 0, 2 do new.timeout[i], old.timeout[i] = old.timeout[i], new.timeout[i] end
end

-- Take the old one's flows as they are: at once, however many.
local function adopt(e, old)
  local set, old_set = e.set, old.set
  ffi.copy(e.counts, old.counts, ffi.sizeof(e.counts))
  for _, kinds in ipairs(pairs_of(e, old)) do
    swap_settings(set.flows.kind[kinds[1]], old_set.flows.kind[kinds[2]])
  end
  ffi.fill(old.counts, ffi.sizeof(old.counts))
  local capacity = set.flows.capacity
  set.flows, old_set.flows = old_set.flows, set.flows
  e.native.flows, old.native.flows = set.flows, old_set.flows
  e.native.tcp, old.native.tcp = old.native.tcp, e.native.tcp
  e.native.other, old.native.other = old.native.other, e.native.other
  table.insert(set.users, e.counts)
  table.insert(old_set.users, old.counts)
  for _, kinds in ipairs(pairs_of(e, old)) do
    for i = 1, old.ninputs do
      if not is_kept(e, old, i) then
        C.pg_flows_remove_input(set.flows, kinds[1], i - 1)
      end
    end
  end
  set:set_capacity(capacity, e:time())
end

--- Give the rewriter `e` the flows of `old`, which it replaces: those of inputs that
--- are as they were. If neither shares its flows with others, that takes no time.
function succession.take(e, old)
  if not (old.native and e.native) then return end
  if e.set.sharers == 1 and old.set.sharers == 1 then
    adopt(e, old)
  else
    copy(e, old)
  end
end

return succession
