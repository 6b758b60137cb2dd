-- SPDX-License-Identifier: Apache-2.0
local errors = require("click.errors")
local language = require("click.language")
local picture = require("click.router.picture")
local registry = require("click.registry")

local function drawn(text)
  local reporter = errors.new()
  local flat = language.read{text = text, errors = reporter, class_of = registry.find}
  return picture.text(flat, registry.find, reporter), reporter:text()
end

local EXPECTED = [[
// Push connections are solid, pull connections dashed.
digraph click {
  node [shape=record, fontname=sans, fontsize=10];
  "InfiniteSource@1" [label="{InfiniteSource@1\na\|\"b\"}"];
  "s" [label="{s\nSwitch|{<o0>0|<o1>1}}"];
  "d" [label="{d\nDiscard}"];
  subgraph "cluster_c" {
    label="c";
    "c/q" [label="{q\nQueue}"];
    subgraph "cluster_c/@2" {
      label="@2";
      "c/@2/Unqueue@1" [label="{Unqueue@1}"];
    }
  }
  "c/@2/Unqueue@1" -> "s";
  "s":o0 -> "d";
  "s":o1 -> "d";
  "InfiniteSource@1" -> "c/q";
  "c/q" -> "c/@2/Unqueue@1" [style=dashed, arrowhead=empty];
}
]]

describe("A picture", function ()
  it("has ports, compounds, and push and pull connections", function ()
    assert.equal(EXPECTED, (drawn(
      'InfiniteSource(a|"b") -> c :: { input -> q :: Queue -> { input -> Unqueue -> '
      .. 'output } -> output } -> s :: Switch -> d :: Discard; s[1] -> d')))
  end)

  it("isn't there of what doesn't fit together", function ()
    local text, problem = drawn("Idle -> Unqueue -> Unqueue -> Discard")
    assert.is_nil(text)
    assert.truthy(problem:find("push output 0 connected to", 1, true), problem)
  end)
end)
