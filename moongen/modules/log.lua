-- SPDX-License-Identifier: Apache-2.0
require("colors")
return require("moongen.log")
