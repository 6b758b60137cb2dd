-- SPDX-License-Identifier: Apache-2.0
local errors = require("click.errors")
local html = require("click.pages.html")
local language = require("click.language")
local registry = require("click.registry")

local TEXT = [[
// a router
elementclass W { $n | input -> Strip($n) -> q :: Counter -> output }
i :: InfiniteSource(DATA \<00>) -> /* <b> */ W(14) -> q :: Queue;
q [0] -> Unqueue -> (input -> Print("a & b")
# 7 "else"
  -> output) -> d :: Discard
define($x "1)")
]]

local function page_of(text)
  local reporter = errors.new()
  local flat = assert(language.read{text = text, errors = reporter, any_class = true},
    reporter:text())
  return html.page{text = text, file = "a<b", flat = flat, errors = reporter,
    kind = function (_, is_output) return is_output and "push" or "pull" end,
    is_class = registry.find, class_url = function (class) return "x/" .. class end}
end

describe("a configuration as a page", function ()
  local page = page_of(TEXT)

  it("has the text as it was, with colours", function ()
    local text = page:match("<pre>(.-)</pre>"):gsub("<[^>]*>", "")
    for entity, sign in pairs{lt = "<", gt = ">", quot = '"'} do
      text = text:gsub("&" .. entity .. ";", sign)
    end
    assert.equal(TEXT, (text:gsub("&amp;", "&")))
    for _, piece in ipairs{
      '<span class="c-cmt">// a router</span>', '<span class="c-kw">define</span>',
      '<span class="c-cfg">$x &quot;1)&quot;</span>',
      '<a class="c-cd" href="x/Unqueue">Unqueue</a>',
      '-&gt; q :: <a class="c-cd" href="x/Counter">', -- another's q
    } do
      assert.is_truthy(page:find(piece, 1, true), piece)
    end
  end)

  it("has nothing but links that lead somewhere", function ()
    local ids, n = {}, 0
    for id in page:gmatch('id="([^"]*)"') do
      assert.is_nil(ids[id], id)
      ids[id] = true
    end
    for id in page:gmatch('href="#([^"]*)"') do
      assert.is_true(ids[id], id)
      n = n + 1
    end
    assert.is_true(n > 10 and ids["e-q"] and ids["et-W@2/q"])
  end)

  it("tells what elements are connected to", function ()
    assert.is_truthy(page:find("<tr><td>output</td><td>0</td><td>push</td>\n"
      .. '    <td>-&gt;</td><td>[0] <a href="#et-q">q</a></td></tr>', 1, true))
    assert.is_truthy(page:find("<title>a&lt;b</title>", 1, true))
  end)
end)
