#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a guest: the host's files, read only, and a shell on the serial
# line. The kernel's command line names FOLDER, which can be written to, TREE (Perigee's)
# and HUGEPAGES.

PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /host
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /*.ko*; do insmod "$module" || echo "insmod $module failed"; done
share() { # TAG FOLDER OPTIONS
  mkdir -p "$2"
  mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" "$1" "$2"
}
share root /host ro,cache=loose
cd /host || exec sh
for folder in tmp run root; do mount -t tmpfs tmpfs $folder; done
mkdir -p run/shm
for folder in proc sys dev; do mount --move /$folder $folder; done
mkdir -p dev/shm dev/pts dev/hugepages
mount -t tmpfs tmpfs dev/shm
mount -t devpts devpts dev/pts
[ "$HUGEPAGES" = 0 ] || {
  echo "$HUGEPAGES" > proc/sys/vm/nr_hugepages
  mount -t hugetlbfs none dev/hugepages
}
share tree "/host$TREE" ro,cache=loose
share folder "/host$FOLDER" cache=none
mount --bind "/host$TREE/build/guest/perigee" "/host$TREE/perigee"
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
export TERM=linux
unset TREE HUGEPAGES BOOT_IMAGE
ip link set lo up
cd /host || exit
exec chroot . /bin/sh -c "$SHELL_COMMAND"
