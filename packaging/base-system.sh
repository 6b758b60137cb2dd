# SPDX-License-Identifier: Apache-2.0
# What the scripts beside it share: a fresh base system of Debian or Ubuntu, made with
# debootstrap and kept in build/chroot-SUITE.tar, and running commands in it. The scripts
# run in the root of the tree. Where they take a SUITE, an architecture may stand behind it
# (bookworm:arm64): programs of another than this machine's are run by QEMU's user mode.

UBUNTU="focal jammy noble oracular plucky questing resolute"
UBUNTU_MIRROR=http://archive.ubuntu.com/ubuntu
UBUNTU_PORTS=http://ports.ubuntu.com/ubuntu-ports # for other CPUs than x86
HANDLERS=/proc/sys/fs/binfmt_misc
DEBIAN_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# fail SENTENCE...: end with it.
fail() {
  echo "$0: $*" >&2
  exit 1
}

# is_ubuntu SUITE
is_ubuntu() {
  case " $UBUNTU " in *" $1 "*) ;; *) return 1 ;; esac
}

# Where apt fetches packages from on this machine.
debian_mirror() {
  sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    grep -v -e security -e ubuntu | head -n 1
}

# ubuntu_keys: sets keys, the file of Ubuntu's keys. Debian has them in a package, but not
# Debian 12: its next release has, which apt fetches and checks by Debian's keys.
ubuntu_keys() {
  keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  [ ! -e $keys ] || return 0
  keys=$PWD/build/ubuntu-keys/usr/share/keyrings/ubuntu-archive-keyring.gpg
  [ ! -e "$keys" ] || return 0
  [ -e $DEBIAN_KEYS ] || fail "Ubuntu's keys are missing: apt-get install ubuntu-keyring"
  rm -rf build/ubuntu-keys
  mkdir -p build/ubuntu-keys/lists/partial
  (
    cd build/ubuntu-keys
    echo "deb [signed-by=$DEBIAN_KEYS] $(debian_mirror) trixie main" >sources.list
    apt() {
      apt-get -q -o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$PWD/lists" -o Dir::Cache::pkgcache= \
        -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
    }
    apt update && apt download ubuntu-keyring && dpkg-deb -x ./*.deb .
  ) && [ -e "$keys" ] || {
    rm -rf build/ubuntu-keys
    fail "Ubuntu's keys couldn't be fetched from Debian: apt-get install ubuntu-keyring"
  }
}

# name_of SUITE: a part of the name of a file or folder for it.
name_of() {
  case $1 in *:*) echo "${1%%:*}-${1#*:}" ;; *) echo "$1" ;; esac
}

# let_run SUITE: let programs of its architecture run here, by the handler that Debian's QEMU
# brings for the kernel (binfmt_misc). systemd registers it; where there is none, we do.
let_run() {
  case $1 in *:*) set -- "${1#*:}" ;; *) return 0 ;; esac
  [ "$1" != "$(dpkg --print-architecture)" ] || return 0
  case $1 in
  amd64) cpu=x86_64 ;;
  arm64) cpu=aarch64 ;;
  *) fail "'$1' is no architecture that Perigee runs on; there are amd64 and arm64" ;;
  esac
  [ ! -e $HANDLERS/qemu-$cpu ] || return 0
  handler=/usr/lib/binfmt.d/qemu-$cpu.conf
  [ -e $handler ] || fail "programs of $1 can't be run here: apt-get install qemu-user-static" \
    "(from Debian 13 on: qemu-user-binfmt)"
  [ -e $HANDLERS/register ] || mount -t binfmt_misc binfmt_misc $HANDLERS ||
    fail "programs of $1 can't be run here: $HANDLERS can't be mounted"
  cat $handler >$HANDLERS/register
}

# bootstrap SUITE FOLDER [OPTION...]: OPTIONs are debootstrap's.
bootstrap() {
  suite=${1%%:*} folder=$2 arch=
  case $1 in *:*) arch=${1#*:} ;; esac
  shift 2
  command -v debootstrap >/dev/null || fail "debootstrap is missing: apt-get install debootstrap"
  set -- --variant=minbase ${arch:+"--arch=$arch"} "$@"
  if is_ubuntu "$suite"; then
    ubuntu_keys
    [ "$arch" != arm64 ] || UBUNTU_MIRROR=$UBUNTU_PORTS
    debootstrap --components=main,universe --keyring="$keys" "$@" \
      "$suite" "$folder" "${MIRROR:-$UBUNTU_MIRROR}" /usr/share/debootstrap/scripts/gutsy
  else
    debootstrap "$@" "$suite" "$folder" "${MIRROR:-$(debian_mirror)}"
  fi
}

# base_of SUITE: the archive of its base system, which is made if there is none.
base_of() {
  base=$PWD/build/chroot-$(name_of "$1").tar
  [ ! -e "$base" ] || return 0
  mkdir -p build
  fresh=$(mktemp -d)
  bootstrap "$1" "$fresh" || {
    rm -rf --one-file-system "$fresh"
    fail "debootstrap couldn't make a base system of '$1'"
  }
  rm -rf "$fresh"/var/cache/apt/archives/*.deb
  tar -C "$fresh" --one-file-system -cf "$base.new" . && mv "$base.new" "$base"
  rm -rf --one-file-system "$fresh"
}

# enter SUITE: unpack its base system in the folder $root, which is removed at the end; or
# in the folder $ROOT, which stays.
enter() {
  [ "$(id -u)" = 0 ] || fail "wants root, for debootstrap and chroot"
  let_run "$1"
  base_of "$1"
  root=${ROOT:-$(mktemp -d)}
  trap leave EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  if [ ! -e "$root/usr" ]; then
    mkdir -p "$root"
    tar -C "$root" -xf "$base"
  fi
  prepare
}

# prepare: make the system in $root ready for commands.
prepare() {
  chmod 755 "$root"
  for file in /etc/resolv.conf /etc/hosts; do cp "$file" "$root$file"; done
  for file in /etc/apt/apt.conf.d/*proxy*; do
    [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"
  done
  # Services that packages bring don't start.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  mount --rbind "$root" "$root" # network namespaces want a root that is a mount point
  mount -t proc proc "$root/proc"
  mount -o ro --bind /sys "$root/sys"
  mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/dev/net"
  mount -t tmpfs none "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=666 none "$root/dev/pts"
  device net/tun 666 10 200
  device kvm 660 10 232
}

# device NAME MODE MAJOR MINOR: make it, if there is one outside.
device() {
  [ ! -e "/dev/$1" ] || [ -e "$root/dev/$1" ] || mknod -m "$2" "$root/dev/$1" c "$3" "$4"
}

leave() {
  unmount
  [ -n "${ROOT-}" ] || rm -rf --one-file-system "$root"
}

# unmount: what enter mounted.
unmount() {
  for place in dev/pts dev/shm sys proc .; do
    umount -l "$root/$place" 2>/dev/null || :
  done
}

# inside COMMAND...: run it in the base system.
inside() {
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive HOME=/root LANG=C.UTF-8 TERM="${TERM-dumb}" \
    ${http_proxy:+http_proxy=$http_proxy} "$@"
}
