-- SPDX-License-Identifier: Apache-2.0
-- How elements fit together, in Click's words. The configurations are read by the
-- language; classes are real ones.

local click = require("testing.click")

local function complaints(text)
  local r, problems = click.router(text)
  if r then r:close() end
  return r and "" or problems:gsub("Router could not be initialized!\n$", "")
end

local function letters(text, name)
  local r, problems = click.router(text)
  assert(r, problems)
  local p = r:find(name).processing
  r:close()
  return p.inputs .. "/" .. p.outputs
end

describe("click.router.hookup", function ()
  it("refuses ports that a class doesn't have", function ()
    assert.equal("spec:1: 'd :: Discard' has no input 1\n"
      .. "spec:1: 'i :: InfiniteSource' has no output 1\n",
      complaints("i :: InfiniteSource; d :: Discard; i[1] -> [1]d; i -> d"))
  end)

  it("spreads push and pull over agnostic elements", function ()
    local text = "InfiniteSource -> n :: Null -> q :: Queue -> m :: Null -> Discard"
    assert.equal("h/h", letters(text, "n"))
    assert.equal("l/l", letters(text, "m"))
    assert.equal("h/l", letters(text, "q"))
    assert.equal("a/a", letters("Idle -> n :: Null -> Idle", "n"))
  end)

  it("keeps flows apart that don't lead to each other", function ()
    local text = "InfiniteSource -> s :: Suppressor -> Queue -> [1]s[1] -> Discard"
    assert.equal("hl/hl", letters(text, "s"))
    assert.equal("", complaints("InfiniteSource -> i :: Idle; i -> Unqueue -> Discard"))
  end)

  it("refuses push joined to pull, and both through one element", function ()
    assert.equal("'s :: TimedSource' push output 0 connected to 'u :: Unqueue' pull "
      .. "input 0\n", complaints("s :: TimedSource -> u :: Unqueue -> Discard"))
    assert.equal("agnostic 'n :: Null' in mixed context: push input 0, pull output 0\n",
      complaints("TimedSource -> n :: Null -> Unqueue -> Discard"))
  end)

  it("wants each port connected, and what pushes or pulls once", function ()
    assert.equal("spec:1: illegal reuse of 's :: InfiniteSource' push output 0\n",
      complaints("s :: InfiniteSource -> Discard; s -> Discard"))
    assert.equal("spec:1: illegal reuse of 'u :: Unqueue' pull input 0\n",
      complaints("u :: Unqueue -> Discard; Idle -> u; Idle -> u"))
    assert.equal("spec:1: 'q :: Queue' input 0 unused\nspec:1: 'n :: Null' output 0 "
      .. "unused\n", complaints("q :: Queue -> Unqueue -> n :: Null"))
    assert.equal("", complaints("d :: Discard; InfiniteSource -> d; TimedSource -> d"))
  end)

  it("takes a connection that is written twice as one", function ()
    assert.equal("", complaints("s :: InfiniteSource -> d :: Discard; s -> d"))
  end)
end)
