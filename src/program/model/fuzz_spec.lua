-- SPDX-License-Identifier: Apache-2.0
local define = require("testing.fuzz.text_specs").define
define(describe, it, "model", "a model's file", 5000)
