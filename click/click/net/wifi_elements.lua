-- SPDX-License-Identifier: Apache-2.0
-- Arguments and handlers that many elements of wireless networks have.

local element = require("click.element")
local wifi = require("click.net.wifi")

local wifi_elements = {}

--- Arguments: whether to say what is seen; the network, which may be missing, or not;
--- the rates of stations; the element's own Ethernet address.
wifi_elements.DEBUG = {"DEBUG", "bool", default = false, keyword = true}
wifi_elements.INFO = {"WIRELESS_INFO", "element", class = "WirelessInfo",
  keyword = true}
wifi_elements.NEEDED_INFO = {"WIRELESS_INFO", "element", class = "WirelessInfo",
  keyword = true, required = true}
wifi_elements.RT = {"RT", "element", class = "AvailableRates", keyword = true,
  required = true}
wifi_elements.ETH = {"ETH", "eth", default = wifi.NOBODY, keyword = true}

--- A handler for the field, an Ethernet address.
function wifi_elements.eth(field)
  local handler = element.data(field, "eth")
  function handler.read(self) return wifi.eth_text(self[field]) end
  return handler
end

--- A handler for the field `debug`.
function wifi_elements.debug() return element.data("debug", "bool") end

return wifi_elements
