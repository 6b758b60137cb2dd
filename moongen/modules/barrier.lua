-- SPDX-License-Identifier: Apache-2.0
return {new = require("moongen.tasks.locks").barrier}
