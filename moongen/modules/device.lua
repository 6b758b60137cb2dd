-- SPDX-License-Identifier: Apache-2.0
local device = require("moongen.devices.device")
local buffers = require("moongen.packets.buffer")
require("moongen.measure.methods").add(device, buffers)
return device
