-- SPDX-License-Identifier: Apache-2.0
-- `perigee libmoon`: the program moongen under another of its names.

return require("program.moongen")
