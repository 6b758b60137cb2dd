# SPDX-License-Identifier: Apache-2.0
"""What the system tests share: running Perigee, capture files, namespaces."""
