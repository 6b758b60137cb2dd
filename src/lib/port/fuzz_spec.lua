-- SPDX-License-Identifier: Apache-2.0
local define = require("testing.fuzz.text_specs").define
define(describe, it, "ports", "port strings", 10000)
