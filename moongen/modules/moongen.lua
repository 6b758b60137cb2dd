-- SPDX-License-Identifier: Apache-2.0
-- MoonGen's name for libmoon's functions.
return setmetatable({}, {__index = require("moongen.tasks.libmoon")})
