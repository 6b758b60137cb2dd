-- SPDX-License-Identifier: Apache-2.0
return {new = require("moongen.locks").barrier}
