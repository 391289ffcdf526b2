#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Names that others chose: of files in messages, and of processes in `nornic stat`. Sentences bear no control
# characters, and JSON is valid UTF-8.
# Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
. "$(dirname "$0")/lib.sh"
build=$(realpath "${BUILD:-build}")
hostile=$'\e[2J\xff\x9b\r\x7f'

# is_clean FILE: UTF-8, and no control character but the end of a line
is_clean() {
    python3 -c 'import sys
text = open(sys.argv[1], "rb").read().decode()
sys.exit(any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in text))' "$1"
}

# file names, of files that are there and of files that are not
cp pcaps/*rc*.pcap* "$tmp/" 2>/dev/null
some=$(find "$tmp" -name '*.pcap*' | head -n 1)
cp "$some" "$tmp/there$hostile"
for command in explain verify "verify --json" "explain --json" replay sniff\ --read "smc ladder"; do
    for file in "$tmp/missing$hostile" "$tmp/there$hostile"; do
        # shellcheck disable=SC2086
        run "$nornic" $command "$file"
        name="file_$(echo "$command ${file##*/}" | tr -cd 'a-z')"
        if is_clean "$tmp/out" && is_clean "$tmp/err"; then ok "$name"
        else notok "$name" "$(cat -v "$tmp/out" "$tmp/err" | tail -n 3)"; fi
    done
done
run "$nornic" perf --port "udp:$hostile"
if is_clean "$tmp/err" && [ -s "$tmp/err" ]; then ok port
else notok port "$(cat -v "$tmp/err")"; fi

# a process of that name that has a device open
need_namespaces processes
need_no_sanitizer processes
ns_make a || { notok namespace "cannot make one"; exit 1; }

# a runtime directory without room, and a process without descriptors
mkdir -m 700 "$tmp/full" "$tmp/few"
if mount -t tmpfs -o size=64k none "$tmp/full" 2>/dev/null; then
    mkdir -m 700 "$tmp/full/dir"
    cat /dev/zero >"$tmp/full/fill" 2>/dev/null
    run ip netns exec "nn-$$-a" env "NORNIC_RUNTIME_DIR=$tmp/full/dir" "$nornic" perf --port udp:127.0.0.1 127.0.0.1
    umount "$tmp/full"
    if [ $rc != 0 ] && one_sentence "$err" "its file system is full; free space there"; then ok full_directory
    else notok full_directory "$err"; fi
else
    skip full_directory "no tmpfs can be mounted"
fi
for ((most = 5; most <= 10; most++)); do
    run ip netns exec "nn-$$-a" bash -c "ulimit -n $most && exec \"\$0\" \"\$@\"" env "NORNIC_RUNTIME_DIR=$tmp/few" \
        "$nornic" perf --port udp:127.0.0.1 127.0.0.1
    if ! one_sentence "$err" "raise the limit of this process (ulimit -n)" || [ -e "$tmp/few/roce4-0" ]; then break; fi
done
if [ $most = 11 ]; then ok no_descriptor
else notok no_descriptor "with $most descriptors: $err $(ls "$tmp/few")"; fi

here=(ip netns exec "nn-$$-a" env "LD_LIBRARY_PATH=$build/lib" NORNIC_PORT=udp:127.0.0.1)
cp "$(command -v ibv_rc_pingpong)" "$tmp/x"$'\e\xff'
start "${here[@]}" "$tmp/x"$'\e\xff' -g 0
for ((i = 0; i < 200; i++)); do
    "${here[@]}" "$nornic" stat >"$tmp/out" 2>&1
    grep -q 'queue pair' "$tmp/out" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
done
for how in "" --json; do
    # shellcheck disable=SC2086
    run "${here[@]}" "$nornic" stat $how
    if [ -s "$tmp/out" ] && grep -q 'x??\|x\\u001b?' "$tmp/out" && is_clean "$tmp/out"; then ok "process$how"
    else notok "process$how" "$(cat -v "$tmp/out" "$tmp/err" | head -n 5)"; fi
done
kill "$server" 2>/dev/null
exit $status
