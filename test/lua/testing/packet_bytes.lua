-- SPDX-License-Identifier: Apache-2.0
-- For specs: packets' bytes as texts, and the packets made of them.

local packet = require("core.packet")

local packet_bytes = {}

--- The text with other bytes behind the first `at`: a text, or numbers.
function packet_bytes.changed(text, at, ...)
  local bytes = ...
  if type(bytes) == "number" then bytes = string.char(...) end
  return text:sub(1, at) .. bytes .. text:sub(at + #bytes + 1)
end

--- Is the checksum of the IPv4 header right with which the text begins?
function packet_bytes.is_sound(text)
  local total = 0
  for i = 1, text:byte(1) % 16 * 4, 2 do
    total = total + text:byte(i) * 256 + text:byte(i + 1)
  end
  return total % 65535 == 0
end

--- A packet of Click's that has no annotations yet.
function packet_bytes.blank(text)
  local p = packet.from_string(text)
  require("click.note").clear(p)
  return p
end

--- One whose network header begins at `network` (data_off; 0: nowhere), and whose
--- transport header begins `header` bytes (a number) behind that.
function packet_bytes.noted(text, header, network)
  local p = packet_bytes.blank(text)
  local note = require("click.note")
  p.note16[note.NETWORK_HEADER] = network or p.data_off
  if header then p.note16[note.TRANSPORT_HEADER] = p.data_off + header end
  return p
end

return packet_bytes
