-- SPDX-License-Identifier: Apache-2.0
-- What the classes ipv4 and ipv6 have alike: the text of addresses, and a pseudo
-- header.

local ffi = require("ffi")
local text_of = require("net.address.address").text
local check = require("lib.protocol.check")
local htons = require("core.lib").htons
local C, copy = ffi.C, ffi.copy

ffi.cdef[[
int inet_pton(int family, const char *text, void *address);
]]

local address = {}

--- Give the class pton, ntop and pton_cidr for addresses of `ctype` in the address
--- family `family` (<sys/socket.h>), whose name is `name`.
function address.attach(class, family, ctype, name)
  ctype = ffi.typeof(ctype)
  local size = ffi.sizeof(ctype)

  --- The address; false and a sentence if the text is none.
  function class:pton(text)
    if type(text) ~= "string" then check.text(name, text) end
    local result = ctype()
    if C.inet_pton(family, text, result) == 1 then return result end
    return false, ("malformed %s address: %s"):format(name, text)
  end

  --- Its text.
  function class:ntop(pointer)
    if type(pointer) ~= "cdata" or tonumber(pointer) then
      check.bytes("ntop", pointer, size)
    end
    return text_of(ffi.string(pointer, size))
  end

  --- Address and prefix length of "ADDRESS/LENGTH"; raises an error if the text is of
  --- another form. The address is as from pton.
  function class:pton_cidr(text)
    if type(text) ~= "string" then check.text(name, text) end
    local prefix, length = text:match("^([^/]*)/(%d+)$")
    if not prefix then
      error(("invalid prefix %s: write ADDRESS/LENGTH"):format(text), 2)
    end
    return (self:pton(prefix)), tonumber(length)
  end
end

--- Give the class pseudo_header(length, protocol): what the checksum of `length` bytes
--- of the protocol takes in besides them, good until the next call. `ctype` is that
--- header: `addresses` bytes of them at its start, `ulp_length` and `ulp_protocol`.
function address.pseudo_header(class, addresses, ctype)
  ctype = ffi.typeof(ctype)

  function class:pseudo_header(length, protocol)
    local ph = self._ph
    if not ph then
      ph = ctype()
      self._ph = ph
    end
    copy(ph, self:header().src_ip, addresses)
    if type(length) ~= "number" then length = check.number("pseudo_header", length) end
    ph.ulp_length = htons(length)
    if type(protocol) ~= "number" then
      protocol = check.number("pseudo_header", protocol)
    end
    ph.ulp_protocol = protocol
    return ph
  end
end

return address
