-- SPDX-License-Identifier: Apache-2.0
-- Wireless frames for specs.

local click = require("testing.click")
local wifi = require("click.net.wifi")

local wireless = {}

--- A station, its access point, and another.
wireless.STATION, wireless.POINT, wireless.OTHER = "\2\0\0\0\0\1", "\6\0\0\0\0\9",
  "\2\0\0\0\0\2"

--- A header with these first bytes and addresses; `sequence`: its number and fragment.
function wireless.header(first, second, to, from, third, sequence)
  return string.char(first, second) .. "\0\0" .. to .. from .. third
    .. wifi.little16(sequence or 0)
end

--- A frame of such a subtype from the station to its access point.
function wireless.request(subtype, body)
  return wireless.header(subtype, 0, wireless.POINT, wireless.STATION, wireless.POINT,
    0x150) .. body
end

--- Elements with a name and rates.
function wireless.name_and_rates(name)
  return wifi.element(wifi.SSID, name) .. wifi.element(wifi.RATES, "\130\132\11\22")
end

--- A beacon of the access point, with a channel and more rates.
function wireless.beacon(name, channel)
  return wireless.header(wifi.BEACON, 0, wifi.ALL, wireless.POINT, wireless.POINT,
      0x120)
    .. ("\0"):rep(8) .. wifi.little16(100) .. wifi.little16(0x11)
    .. wireless.name_and_rates(name) .. wifi.element(wifi.CHANNEL, string.char(channel))
    .. wifi.element(wifi.TIM, "\0\1\0\0") .. wifi.element(wifi.MORE_RATES, "\140\18\24")
end

--- The WirelessInfo of the access point's network `g9`, and AvailableRates.
function wireless.network()
  local info = click.unit("WirelessInfo(SSID g9, BSSID 06:00:00:00:00:09, CHANNEL 11)")
  local rates = click.unit("AvailableRates(DEFAULT 2 4 11 22 12 18 24 36 48 72)")
  return info, rates
end

return wireless
