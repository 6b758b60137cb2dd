-- SPDX-License-Identifier: Apache-2.0
return require("moongen.tasks.turbo")
