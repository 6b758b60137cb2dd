-- SPDX-License-Identifier: Apache-2.0
error("no device here encrypts IPsec packets as it sends them", 0)
