#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the Debian packages of the groups named (build, test, tools, interop, verbs, preload, distro), as far as they
# are missing.
#   deps.sh GROUP...          as root: installs; otherwise: names what is missing and exits 2
#   deps.sh --check GROUP...  only says what is missing: exits 2 if anything is
#   deps.sh --list GROUP...   prints the packages, with commas between them
set -euo pipefail

build="gcc g++ make clang llvm libc6-dev linux-libc-dev pkg-config libxdp-dev libbpf-dev libpcap-dev libmnl-dev
       libisal-dev libjson-c-dev libssl-dev zlib1g-dev iproute2 libibverbs-dev librdmacm-dev"
test="ccache libcriterion-dev python3 git util-linux procps iputils-ping"
tools="clang-format clang-tidy cppcheck libclang-rt-dev tshark python3-scapy tcpdump ethtool nftables iperf3 chromium
       fonts-dejavu-core man-db time zsh fish ibverbs-utils rdmacm-utils perftest valgrind curl socat
       nginx-light redis-server redis-tools openssh-server openssh-client openssh-sftp-server"
interop="gcc libc6-dev libmnl-dev linux-libc-dev qemu-system-x86 busybox-static dash kmod cpio xz-utils
         ibverbs-utils ibverbs-providers rdmacm-utils
         tshark tcpdump ethtool iputils-ping nftables perftest iperf3"
verbs="ucx-utils libfabric-bin openmpi-bin libopenmpi-dev mpich libmpich-dev python3-mpi4py python3-numpy hpcc
       ibverbs-utils rdmacm-utils perftest qperf fio tgt libiscsi-dev e2fsprogs tshark qemu-system-x86 libgloo-dev
       dapl2-utils g++ python3 util-linux"
distro="mmdebstrap util-linux iproute2"
preload="iperf3 socat curl nginx-light redis-server redis-tools memcached openssh-server openssh-client
         openssh-sftp-server postgresql nodejs python3 default-jdk-headless xz-utils"

check= list=
[ "${1:-}" = --check ] && { check=1; shift; }
[ "${1:-}" = --list ] && { list=1; shift; }
[ $# -gt 0 ] || { echo "deps.sh: name a group: build, test, tools, interop, verbs, preload or distro" >&2; exit 2; }
if [ -z "$list" ] && ! command -v dpkg-query >/dev/null; then
    [ -n "$check" ] || echo "deps: no dpkg here; install by hand what test/tools/deps.sh lists" >&2
    exit 0
fi

wanted=
for group in "$@"; do
    case $group in
    build | test | tools | interop | verbs | preload | distro) wanted+=" ${!group}" ;;
    *) echo "deps.sh: no group '$group'; there are build, test, tools, interop, verbs, preload, distro" >&2 && exit 2 ;;
    esac
done
if [ -n "$list" ]; then
    echo $wanted | tr ' ' ','
    exit 0
fi
here=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' | awk '$1 == "ii" { print $2 }' | sort -u)
missing=$(comm -13 <(printf '%s\n' "$here") <(printf '%s\n' $wanted | sort -u) | paste -sd' ')

if [ -z "$missing" ]; then
    [ -n "$check" ] || echo "deps: everything of $* is here"
elif [ -n "$check" ]; then
    echo "Packages are missing: $missing. As root: apt-get install $missing" >&2
    exit 2
elif [ "$(id -u)" != 0 ]; then
    echo "deps: packages are missing, and only root can install them: apt-get install $missing" >&2
    exit 2
else
    echo "deps: installing $missing"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    export DEBIAN_FRONTEND=noninteractive
    install="apt-get -q install -y --no-install-recommends $missing"
    if ! { apt-get -q update && $install; } </dev/null >"$log" 2>&1; then
        tail -20 "$log" >&2
        echo "deps: apt-get could not install $missing (its last lines are above)" >&2
        exit 2
    fi
fi
