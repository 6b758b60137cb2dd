#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a guest that tools/guest/boot starts: it mounts the image read-only,
# and its init takes over.

PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /image
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /*.ko*; do insmod "$module" || echo "insmod $module failed"; done
mount -t ext4 -o ro /dev/vda /image || exec sh
for folder in proc sys dev; do mount --move /$folder /image/$folder; done
exec switch_root /image /sbin/init
