-- SPDX-License-Identifier: Apache-2.0
-- For specs of lib.port.check: a tree in which veth0 is there, and all capabilities;
-- and port strings that are accepted there or refused.

local assert = require("luassert")
local check = require("lib.port.check")
local failure = require("core.failure")
local fake_tree = require("testing.fake_tree")
local spec = require("lib.port.spec")

local M = {}

local ALL_CAPABILITIES = "000001ffffffffff"

--- {tree =, accepted(text), refused(text, ...)}; the latter takes parts of the
--- sentence.
function M.new()
  local tree = fake_tree.new()
  tree.capabilities(ALL_CAPABILITIES)
  tree.interface("veth0")
  tree.write("dev/net/tun", "")

  local function ready(text) check.ready(spec.parse(text), tree.roots) end

  local function accepted(text) assert.has_no_error(function () ready(text) end) end

  local function refused(text, ...)
    local ok, err = pcall(ready, text)
    assert.is_false(ok, "not refused: " .. text)
    assert.is_true(failure.is(err), tostring(err))
    assert.equal(2, err.status)
    for _, expected in ipairs {"port '" .. text .. "': ", ...} do
      assert.truthy(tostring(err):find(expected, 1, true), tostring(err))
    end
  end

  return {tree = tree, accepted = accepted, refused = refused}
end

return M
