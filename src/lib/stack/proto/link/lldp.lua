-- SPDX-License-Identifier: Apache-2.0
-- One TLV of LLDP; others follow until the one of type 0.
return {
  name = "lldp", title = "LLDP", source = "IEEE 802.1AB-2016, clause 8.4",
  over = {eth = 0x88cc},
  below = {eth = {Dst = "01:80:c2:00:00:0e"}},
  next = function (header)
    if header:getType() ~= 0 then return "lldp" end
  end,
  fields = {
    {"Type", 7, default = 1, values = {
      [0] = "end", "chassis ID", "port ID", "time to live", "port description",
      "system name", "system description", "system capabilities", "management address",
      [127] = "organizational",
    }},
    {"Length", 9, length = "variable"},
  },
  variable = {"value", from = "Length"},
}
