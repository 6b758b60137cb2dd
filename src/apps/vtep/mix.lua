-- SPDX-License-Identifier: Apache-2.0
-- One hash for the packet path: three 32-bit numbers to one, by additions, rotations
-- and exclusive ors alone, which LuaJIT keeps in integer registers. The rotations are
-- those of the last step of Bob Jenkins's lookup3.

local SOURCE = [[
  local bxor, rol, tobit = bit.bxor, bit.rol, bit.tobit
  return function (a, b, c)
    c = tobit(bxor(c, b) - rol(b, 14))
    a = tobit(bxor(a, c) - rol(c, 11))
    b = tobit(bxor(b, a) - rol(a, 25))
    c = tobit(bxor(c, b) - rol(b, 16))
    a = tobit(bxor(a, c) - rol(c, 4))
    b = tobit(bxor(b, a) - rol(a, 14))
    return (tobit(bxor(c, b) - rol(b, 24)))
  end]]

--- A function that hashes the 32-bit numbers a, b and c (c may be a seed) to 32 bits,
--- signed. Each call makes another function with code of its own: what LuaJIT decides
--- about one that slow code uses doesn't touch that of the packet path.
return function ()
  return assert(loadstring(SOURCE, "=mix"))()
end
