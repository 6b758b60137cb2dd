-- SPDX-License-Identifier: Apache-2.0
-- The old module of all headers: they are known without it.
require("packet")
return require("ffi").C
