-- SPDX-License-Identifier: Apache-2.0
-- Between a card and those who share it: copies what comes from the wire, or goes
-- there, to the apps that mirror it. From `wire` to `inside`, and from `inside` to
-- `wire`; copies go to `mirror1` and so on. The argument has two lists of their
-- numbers: `received` and `sent`.

local packet = require("core.packet")
local MOST_MIRRORS = require("apps.intel_mp.pool").MOST_MIRRORS

local WIRE, INSIDE = 1, 2

local Mirror = {inputs = {"wire", "inside"}, outputs = {"wire", "inside"}, emits = true}
Mirror.__index = Mirror
for i = 1, MOST_MIRRORS do Mirror.outputs[INSIDE + i] = "mirror" .. i end

function Mirror:new(arg)
  return setmetatable({[WIRE] = arg.received, [INSIDE] = arg.sent}, self)
end

function Mirror:process(p, input)
  local copies = self[input]
  for i = 1, #copies do self.emit(INSIDE + copies[i], packet.clone(p)) end
  return p, WIRE + INSIDE - input
end

return Mirror
