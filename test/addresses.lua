-- SPDX-License-Identifier: Apache-2.0
-- For test_addresses.py: reads lines of a text, a tab and a number from standard input;
-- writes the address that the text is, and that plus and minus the number.

local address = require("lib.stack.address")

local function shown(a, is_ip4)
  if a == nil then return "none" end
  return is_ip4 and address.ip4ToString(a) or tostring(a)
end

for line in io.lines() do
  local text, n = line:match("^([^\t]*)\t(.*)$")
  n = tonumber(n)
  local a, is_ip4 = address.parseIPAddress(text)
  local more, less
  if is_ip4 then
    local ip = address.Ip4()
    ip:set(a)
    more, less = ip + n, ip - n
  elseif a then
    more, less = a + n, a - n
  end
  print(shown(a, is_ip4), shown(more, is_ip4), shown(less, is_ip4))
end
