-- SPDX-License-Identifier: Apache-2.0
-- Devices have the functions of this module from the start.
return {DROP = -1}
