-- SPDX-License-Identifier: Apache-2.0
-- For specs of apps that are fused as they are (core.lift): what comes out of them, in
-- a region and by themselves.

local assert = require("luassert")
local engine = require("core.app")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")

local lifted = {}

--- A class of Snabb's form with the push function, and maybe more methods.
function lifted.class(push, methods)
  local class = regions.class{push = push, new = function (self)
    return setmetatable({salt = {value = 7}}, {__index = self})
  end, salted = function (_, p, salt)
    return packet.append(p, "0123456789", p.length % salt)
  end}
  for name, method in pairs(methods or {}) do class[name] = method end
  return class
end

--- So many texts of random lengths.
function lifted.random_texts(n)
  local list = {}
  for k = 1, n do list[k] = ("%03d"):format(k) .. ("."):rep(math.random(0, 60)) end
  return list
end

local LINKS = {"in.x -> a.input", "a.output -> b.input", "b.output -> out.x"}

--- What comes out of two apps of the push function behind each other, and what they
--- count, when each of the `lists` of texts comes in in a breath; and the number of
--- regions. `methods` as for lifted.class.
function lifted.outcome(push, lists, methods)
  local class = lifted.class(push, methods)
  regions.run_anew({a = {class}, b = {class}}, LINKS)
  local all, fused = {}, #engine.regions
  for _, list in ipairs(lists) do
    texts.send("in.x -> a.input", list)
    engine.breathe()
    for _, text in ipairs(texts.take("b.output -> out.x")) do all[#all + 1] = text end
  end
  local apps = engine.app_table
  local result = {packets = all, bytes = {apps.a.bytes or 0, apps.b.bytes or 0},
                  totals = texts.totals("a.output -> b.input"), held = texts.held()}
  for _, app in pairs(apps) do
    if app.kept then packet.free(app.kept) end
  end
  return result, fused
end

--- Why an app of the class isn't fused, beside another of it.
function lifted.reason(class)
  regions.run_anew({a = {class}, b = {class}}, LINKS)
  assert.equal(0, #engine.regions)
  return engine.not_fused.a
end

--- Assert that random packets come out the same, whether two apps of the push function
--- are fused or not; `fewest`: how many do (default 101).
function lifted.same_both_ways(push, fewest)
  math.randomseed(1)
  local lists = {}
  for i = 1, 10 do lists[i] = lifted.random_texts(math.random(0, 50)) end
  lists[5] = {}
  local before = texts.held()
  engine.lift = true
  local fused, n = lifted.outcome(push, lists)
  assert.equal(1, n, engine.not_fused.a)
  assert.equal(before, texts.held())
  engine.lift = false
  local alone, none = lifted.outcome(push, lists)
  assert.equal(0, none)
  assert.is_true(#alone.packets >= (fewest or 101))
  assert.same(alone, fused)
end

return lifted
