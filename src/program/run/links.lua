-- SPDX-License-Identifier: Apache-2.0
-- Links as graph files write them: "a.output -> b.input", where `output` and `input`
-- may be left out, and chains of apps, "a -> b -> c". Pure.

local config = require("core.config")

local links = {}

local function ends_of(part)
  local name, port = part:match("^%s*([%w_@/]+)%.([%w_]+)%s*$")
  if not name then name = part:match("^%s*([%w_@/]+)%s*$") end
  return name, port
end

--- The links that `text` stands for, a list of {from, output, to, input, spec =}; nil
--- and a sentence if it stands for none.
function links.of(text)
  local list, last, last_port = {}, nil, nil
  local n = 0
  for part in (text .. "->"):gmatch("(.-)%->") do
    local name, port = ends_of(part)
    if not name then return nil, "write 'app.output -> app.input'" end
    n = n + 1
    if n > 1 then
      if n > 2 and last_port then
        return nil, ("'%s.%s' is in the midst of a chain, where apps are named "
          .. "without input or output; write two links"):format(last, last_port)
      end
      local from = {last, n == 2 and last_port or "output", name, port or "input"}
      from.spec = config.format_link(unpack(from))
      list[#list + 1] = from
    end
    last, last_port = name, port
  end
  if n < 2 then return nil, "write 'app.output -> app.input'" end
  return list
end

return links
