-- SPDX-License-Identifier: Apache-2.0
-- Expected is what click-pretty writes (Click 2.1), but that it knows no class here.
local errors = require("click.errors")
local html = require("click.pages.html")
local language = require("click.language")

local TEXT = [[i :: Idle -> q :: Queue(5, "<x>") -> d :: Discard;
InfiniteSource -> Queue -> [0] Null -> Discard]]

local function expand(template, defines)
  local reporter = errors.new()
  local flat = assert(language.read{text = TEXT, errors = reporter, any_class = true},
    reporter:text())
  return html.page{text = TEXT, file = "f", flat = flat, errors = reporter,
    template = template, defines = defines,
    kind = function (_, is_output) return is_output and "push" or "pull" end,
    is_class = function () return false end,
    class_url = function (class) return class ~= "Null" and "x/" .. class or nil end}
end

describe("A template of click-pretty", function ()
  it("leaves what isn't a tag, and nothing of one without a meaning", function ()
    assert.equal("ab <!-- c --> 1 < 2", expand("a<~foo x=1>b <!-- c --> 1 < 2"))
    assert.equal("a", expand("a<~"))
  end)

  it("lists elements, and classes, in the alphabet's order", function ()
    assert.equal("d Discard@7 i InfiniteSource@4 Null@6 q Queue@5",
      expand('<~elements entry="<~name>" sep=" ">'))
    assert.equal("Discard:d,Discard@7 | Idle:i | InfiniteSource:InfiniteSource@4 | "
      .. "Null:Null@6 | Queue:q,Queue@5",
      expand([[<~elements typeentry='<~type>:<~typerefs entry="<~name>" sep=",">'
        sep=" | ">]]))
  end)

  it("divides a list into columns", function ()
    local function column(n)
      return expand(('<~elements entry="<~name>" sep=" " column="%d/3">'):format(n))
    end
    assert.equal("d Discard@7 i", column(1))
    assert.equal("InfiniteSource@4 Null@6 q", column(2))
    assert.equal("Queue@5", column(3))
    assert.equal("", column(4))
  end)

  local function of_q(entry)
    return expand("<~elements entry='<~if test=\"<~name>\" eq=q then=\"<~x>\">'>",
      {x = entry})
  end

  it("says what an element is", function ()
    assert.equal('5, &quot;&lt;x&gt;&quot;|(5, ...)|', of_q("<~config>|"
      .. "<~config limit=3 parens>|<~anonymous>"))
    assert.equal('<a href="#e-q">q</a> <a href="x/Queue">q</a>'
      .. ' <a href="x/Queue">Queue</a>',
      of_q("<~name link> <~name link=type> <~type link>"))
    assert.equal('<a href="#e-q">C</a>, 1 input 1', of_q(
      '<~configlink text=C sep=", "><~ninputs english> <~noutputs>'))
  end)

  it("says what its ports are connected to", function ()
    assert.equal("0 pull from i [0]; 0 push to d [0]", of_q(
      "<~inputs entry='<~port> <~processing> from <~inputconnections "
      .. 'entry="<~name> [<~port>]">; \'><~outputs entry=\'<~port> <~processing> to '
      .. "<~outputconnections entry=\"<~name> [<~port>]\">'>"))
    assert.equal("none 1,none 1,none 0,none 0,none 1,none 1,none 1", expand(
      '<~elements entry="<~inputs><~outputs><~ninputs>" sep="," inputentry="none "'
      .. ' noinputentry="none ">'))
  end)

  it("compares numbers as numbers", function ()
    local function compare(text)
      return expand(("<~if test=3 %s then=yes else=no>"):format(text))
    end
    assert.equal("yes no yes no yes yes", table.concat({compare("lt=12"),
      compare("gt=12"), compare("ge=3"), compare("eq=x"), compare("ne=x"),
      compare("")}, " "))
    assert.equal("no", expand("<~if test='<~foo>' then=yes else=no>"))
  end)

  it("has tags that are defined, but within themselves", function ()
    assert.equal("<b>d</b>", expand('<~elements entry="<~x>" column="1/7">',
      {x = "<b><~name></b>"}))
    assert.error_matches(function () expand("<~x>", {x = "<~x>"}) end,
      "template: a tag contains itself")
  end)
end)
