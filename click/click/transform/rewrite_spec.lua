-- SPDX-License-Identifier: Apache-2.0
-- What is expected is what FastClick's click-xform writes, the last test excepted.
local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local language = require("click.language")
local patterns = require("click.transform.patterns")
local rewrite = require("click.transform.rewrite")

local function read_rules(text)
  local reporter = errors.new()
  return assert(patterns.read{text = text, file = "p", errors = reporter},
    reporter:text())
end

-- The text of the configuration, rewritten; or nil and why not.
local function rewritten(text, rules, most)
  local reporter = errors.new()
  local flat = assert(language.read{text = text, errors = reporter, any_class = true,
    in_place = true}, reporter:text())
  local changed, problem = rewrite.apply(flat, read_rules(rules), most or 100)
  if not changed then return nil, problem end
  return (flatfile.text(changed):gsub("%s+", " "))
end

local NULLS = [[
  elementclass P { input -> Strip($n) -> c :: Counter -> output }
  elementclass P_Replacement { input -> c :: Null($n) -> output }]]

describe("what rewrites patterns", function ()
  it("puts the replacement in their place, with the arguments found", function ()
    assert.equal("i :: Idle; d :: Discard; e :: Discard; x :: Null(14); y :: Null(2); "
      .. "i -> x -> d; i -> y -> e; ",
      rewritten([[i :: Idle -> Strip(14) -> x :: Counter -> d :: Discard;
        i -> Strip(2) -> y :: Counter -> e :: Discard]], NULLS))
  end)

  it("takes parameters of the pattern's classes as free", function ()
    assert.matches("x :: Null%(3%);", rewritten(
      "Idle -> Strip(3) -> x :: Counter -> Discard", (NULLS:gsub("{ ", "{ $n | "))))
  end)

  it("leaves what is connected in other ways", function ()
    for _, text in ipairs{
      "Idle -> Strip(14) -> x :: Counter -> Discard; Idle -> x", -- a way in between
      "Idle -> s :: Strip(14) -> x :: Counter -> Discard; s -> Discard",
      "Idle -> Strip(14) -> x :: Counter(NO_RATE true) -> Discard",
      "Strip(14) -> x :: Counter -> Discard", -- its input isn't in use
      "Idle -> Strip(14) -> x :: Counter",
    } do
      assert.matches("x :: Counter", rewritten(text, NULLS), text)
    end
  end)

  it("wants one value where a name stands twice", function ()
    local rules = [[elementclass P { input -> Strip($n) -> Unstrip($n) -> output }
      elementclass P_Replacement { input -> output }]]
    assert.equal("i :: Idle; d :: Discard; i -> d; ",
      rewritten("i :: Idle -> Strip(4) -> Unstrip(4) -> d :: Discard", rules))
    assert.matches("Unstrip%(5%)",
      rewritten("Idle -> Strip(4) -> Unstrip(5) -> Discard", rules))
  end)

  it("doesn't find a replacement's elements again by the same pattern", function ()
    assert.equal("i :: Idle; d :: Discard; A@2 :: A; P@1/A@2 :: A; "
      .. "i -> A@2 -> P@1/A@2 -> d; ",
      rewritten("i :: Idle -> A -> d :: Discard", [[
        elementclass P { input -> A -> output }
        elementclass P_Replacement { input -> A -> A -> output }]]))
  end)

  it("ends where patterns would make each other for ever", function ()
    assert.same({nil,
      "pattern 'P' is found again and again: 8 replacements, and no end"},
      {rewritten("Idle -> A -> Discard", [[
        elementclass P { input -> A -> output }
        elementclass P_Replacement { input -> B -> B -> output }
        elementclass Q { input -> B -> output }
        elementclass Q_Replacement { input -> A -> output }]], 8)})
  end)
end)
