-- SPDX-License-Identifier: Apache-2.0
return require("moongen.pacing.limiter")
