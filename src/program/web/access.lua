-- SPDX-License-Identifier: Apache-2.0
-- Who may ask the page's server for something. Pages of others in the same browser
-- can't: they'd need a header that only our page sends, also under a name that is made
-- to mean this address (DNS rebinding): Host is a number, or a name that was allowed.
-- Whoever else can reach the port needs the token. Pure, but for new tokens.

local bit = require("bit")
local http = require("net.http.messages")

local access = {}

local TOKEN_BYTES = 16

--- A new token: hexadecimal digits.
function access.new_token()
  local file = assert(io.open("/dev/urandom", "rb"))
  local bytes = file:read(TOKEN_BYTES)
  file:close()
  return (bytes:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

--- Are the two strings the same? Takes as long wherever they differ.
function access.same(given, wanted)
  local different = bit.bxor(#given, #wanted)
  for i = 1, #given do
    local at = (i - 1) % math.max(1, #wanted) + 1
    different = bit.bor(different, bit.bxor(given:byte(i), wanted:byte(at) or 0))
  end
  return different == 0
end

--- Why the request (net.http.messages) is refused: a sentence; nil if it isn't.
--- `allowed`: hosts = the set of names that Host may have besides numbers and
--- localhost, token = the token, or nil if none is needed.
function access.refusal(request, allowed)
  local headers = request.headers
  local host = http.foreign_host(request, allowed.hosts)
  if host then
    return ("the name '%s' isn't allowed; if it is right, add --host NAME"):format(host)
  end
  if request.method == "GET" or request.method == "HEAD" then return nil end
  if headers["x-perigee"] ~= "1" then return "this isn't asked by the page" end
  if allowed.token then
    local given = (headers.authorization or ""):match("^Bearer (%S+)$") or ""
    if not access.same(given, allowed.token) then
      return "the token is missing or wrong: open the address that "
        .. "`perigee web` printed"
    end
  end
end

return access
