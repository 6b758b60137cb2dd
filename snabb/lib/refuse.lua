-- SPDX-License-Identifier: Apache-2.0
-- Refuses arguments of Snabb's driver apps that Perigee's port can't honour, by name:
-- a program that runs on without them would see or send other packets than with Snabb.
-- Those that only say how a driver does its work (sizes of rings) are taken.

local failure = require("core.failure")

local function is_off(value, default)
  return value == nil or value == false or value == default
end

--- Raise a usage failure if one of `keys` is set in `conf`, the argument of the app
--- `class` on `port`. `keys`: {KEY = what to do instead}. False means that a key isn't
--- set, and so does its value in `defaults` (optional).
return function (class, port, conf, keys, defaults)
  for key, instead in pairs(keys) do
    if not is_off(conf[key], defaults and defaults[key]) then
      failure.usage("%s on %s: '%s' isn't there: %s", class, port, key, instead)
    end
  end
end
