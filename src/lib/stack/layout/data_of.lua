-- SPDX-License-Identifier: Apache-2.0
-- Where a packet's bytes begin, for slow code: `p.data` runs a function of the packet
-- path's, which slow code keeps away from.

--- The address of the first byte of `p`, a packet under any type.
return function (p)
  return p.buf_addr + p.data_off
end
