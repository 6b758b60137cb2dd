-- SPDX-License-Identifier: Apache-2.0
-- `perigee MoonGen`: the program moongen under another of its names.

return require("program.moongen")
