-- SPDX-License-Identifier: Apache-2.0
-- Elements that change a packet's bytes, or where it begins and ends.

local element = require("click.element")

local Strip = element.define{
  name = "Strip", summary = "removes bytes from the front of packets",
  arguments = {{"LENGTH", "unsigned", required = true}},
  drops = {"too short"},
}

function Strip:configure(a) self.length = a.LENGTH end

function Strip:process(p)
  local n = self.length
  if p.length < n then return nil, 1 end
  p.data_off = p.data_off + n
  p.length = p.length - n
  return p
end

return {Strip}
