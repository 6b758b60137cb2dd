-- SPDX-License-Identifier: Apache-2.0
-- For specs: frames that a kernel leaves to be segmented, as strings, through the C of
-- net/gso. `data` is a table with the fields of a struct virtio_net_hdr.

local ffi = require("ffi")
local C = require("core.native")
local packet = require("core.packet")

ffi.cdef [[
struct testing_offload {
  uint8_t flags, gso_type;
  uint16_t hdr_len, gso_size, csum_start, csum_offset;
};
struct testing_layers {
  struct { uint16_t at; uint8_t kind; } of[8];
  uint16_t count, l4, end;
  uint8_t protocol;
};
struct testing_unsegmented {
  struct testing_layers layers;
  uint32_t payload;
  uint16_t size, count;
  bool cwr_once;
  uint8_t headers[512];
};
struct testing_joined {
  struct testing_offload offload;
  uint16_t count, headers_length;
  uint8_t headers[142];
};
bool pg_unsegmented(struct testing_unsegmented *u, uint32_t n, uint32_t length,
                    const struct testing_offload *offload);
void pg_segment_headers(const struct testing_unsegmented *u, uint32_t i,
                        uint8_t *packet);
uint16_t pg_join(struct testing_joined *j, struct packet **packets, uint16_t n);
]]

local FIELDS = {"flags", "gso_type", "hdr_len", "gso_size", "csum_start", "csum_offset"}

local offload = {}

local function understood(text, data)
  local u, d = ffi.new("struct testing_unsegmented"), ffi.new("struct testing_offload")
  for _, field in ipairs(FIELDS) do d[field] = data[field] or 0 end
  local n = math.min(#text, 512)
  ffi.copy(u.headers, text, n)
  return C.pg_unsegmented(u, n, #text, d) and u or nil
end

--- The layers found in the frame; nil if it can't be cut up.
function offload.layers(text, data)
  local u = understood(text, data)
  return u and u.layers
end

--- The packets that the frame `text` is, an array; nil if it can't be cut up.
function offload.segments(text, data)
  local u = understood(text, data)
  if not u then return nil end
  local packets, at = {}, u.layers["end"]
  for i = 0, u.count - 1 do
    local part = text:sub(at + 1 + i * u.size, at + (i + 1) * u.size)
    local buffer = ffi.new("uint8_t[?]", at + #part)
    ffi.copy(buffer + at, part, #part)
    C.pg_segment_headers(u, i, buffer)
    packets[i + 1] = ffi.string(buffer, at + #part)
  end
  return packets
end

--- How many of the packets (an array of strings) can be sent as one; and that frame:
--- {headers, payload, offload}.
function offload.join(packets)
  local list = ffi.new("struct packet *[?]", #packets)
  local j = ffi.new("struct testing_joined")
  for i, text in ipairs(packets) do list[i - 1] = packet.from_string(text) end
  local count = C.pg_join(j, list, #packets)
  local joined = {headers = ffi.string(j.headers, j.headers_length), payload = "",
    offload = {}}
  for i = 1, count do
    joined.payload = joined.payload .. packets[i]:sub(j.headers_length + 1)
  end
  for _, field in ipairs(FIELDS) do joined.offload[field] = j.offload[field] end
  for i = 0, #packets - 1 do packet.free(list[i]) end
  return count, joined
end

return offload
