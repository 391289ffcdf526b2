# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: QEMU migrates a guest of 1 GiB by rdma:, from one namespace to the other, as it was built. Without
# KVM, so that any machine and any user can; the guest (guest.c) looks at its memory all the time.
# shellcheck shell=bash
begin qemu

# guest_build: $tmp/guest, a kernel for -kernel
guest_build() {
    gcc -m32 -O2 -Wall -Wextra -ffreestanding -fno-stack-protector -fno-pie -fno-asynchronous-unwind-tables \
        -fcf-protection=none -nostdlib -static -no-pie -Wl,--build-id=none,-Ttext=0x101000 \
        -Wl,--section-start=.multiboot=0x100000 -o "$tmp/guest" test/verbs/programs/guest.c 2>"$tmp/err"
}

# migrate_guest NAME LINE [URI [--stopped] [CAPABILITY...]]: LINE: what the guest is told
migrate_guest() {
    local name=$1 line=$2 dir qemu
    wanted "$name" "${more:-}" || return
    shift 2
    guest_build || { notok "$name" "gcc: $(end_of err)" && return; }
    patience=400
    for dir in source target; do
        rm -rf "${tmp:?}/home/$dir"
        "${as_nobody[@]}" mkdir "$tmp/home/$dir"
    done
    qemu=(qemu-system-x86_64 -accel tcg -m 1G -nodefaults -display none -kernel "$tmp/guest" -append "$line")
    on b "${qemu[@]}" -serial "file:$tmp/home/target/said" -qmp "unix:$tmp/home/target/qmp,server=on,wait=off" \
        -incoming defer
    start "${command[@]}"
    on a "${qemu[@]}" -serial "file:$tmp/home/source/said" -qmp "unix:$tmp/home/source/qmp,server=on,wait=off"
    "${command[@]}" >"$tmp/source.out" 2>"$tmp/source.err" &
    e2e_pids+=($!)
    run "${as_nobody[@]}" test/verbs/programs/migrate.py "$tmp/home/source" "$tmp/home/target" "$@"
    end_all "$ns_a" "$ns_b"
    wait "$server" 2>/dev/null
    if [ $rc = 0 ] && [[ $out == passes* ]]; then
        echo "# $name: $out"
        ok "$name"
    else notok "$name" "$rc: $out $err source: $(end_of source.err) target: $(end_of server.err)"; fi
    patience=50
}
uri=rdma:10.77.0.2:4444
migrate_guest qemu_migrate_stopped 'every=8 dirty=4' $uri --stopped
# By name or with --all: a guest that runs. Without KVM, QEMU 7.2 loses now and then what is written to a page while
# it looks for pages to send again, over TCP as well (qemu_migrate_running_tcp; docs/verbs.md).
more=more
migrate_guest qemu_migrate_running 'every=8 dirty=16' $uri
migrate_guest qemu_migrate_running_pinned 'every=8 dirty=16' $uri rdma-pin-all
migrate_guest qemu_migrate_running_tcp 'every=8 dirty=16' tcp:10.77.0.2:4444
more=
