-- SPDX-License-Identifier: Apache-2.0
-- The family of Click: FastClick's configurations, on Perigee's engine. It sets no
-- globals and has no options of its own.

return {}
