#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The two libraries serve programs of every rdma-core from 34 to 65, and build with headers of later ones.
# test/verbs/abi/ has the names of rdma-core. The programs here are linked with libraries made of these names,
# which no machine needs to have installed. Lines: "ok NAME", "not ok NAME: why", "skip NAME: why".
# machine: it opens a device at 127.0.0.1 of the machine
. "$(dirname "$0")/lib.sh"
build=${BUILD:-build}
lib=$(realpath "$build/lib")
abi=test/verbs/abi
private_nodes=(34 57 59 64 65)

# facts LIBRARY: its rows as "NODE NAME"; a private name once for each private node
facts() {
    grep -v '^#' "$abi/$1.txt" | while read -r node name _; do
        [ "$node" = IBVERBS_PRIVATE ] || { echo "$node $name"; continue; }
        for n in "${private_nodes[@]}"; do echo "IBVERBS_PRIVATE_$n ${name/%_N/_$n}"; done
    done
}

# --- each name is there in its node, and no other ---
for library in libibverbs librdmacm; do
    facts $library | sort >"$tmp/$library.facts"
    nm -D --defined-only "$lib/$library.so.1" | awk '$3 ~ /@/ { print $3 }' | sed -E 's/(.*[^@])@+(.*)/\2 \1/' |
        grep -v '^NORNIC_PRIVATE_0 ' | sort >"$tmp/$library.ours"
    if differ=$(diff "$tmp/$library.facts" "$tmp/$library.ours"); then ok names_$library
    else notok names_$library "$differ"; fi
done

# --- headers of tomorrow: verbs/ compiles without a warning ---
headers=$(ls /usr/include/infiniband/*.h /usr/include/rdma/{rdma_cma,rdma_verbs,rsocket}.h)
"$abi/later_headers.py" "$abi/libibverbs.txt,$abi/librdmacm.txt" "$tmp/later" <<<"$headers" >"$tmp/grown"
compile=("${CC:-gcc}" -fsyntax-only $(make -s print-TIDY_CFLAGS) $(make -s print-WARN) -Werror -isystem "$tmp/later")
printf '#include <infiniband/verbs.h>\nint main(void) { return LATER_VERBS_1; }\n' >"$tmp/grown.c"
if ! "${compile[@]}" "$tmp/grown.c" 2>"$tmp/why"; then
    notok later_headers "the headers have not grown ($(cat "$tmp/grown")): $(head -5 "$tmp/why")"
elif ls verbs/*.c verbs/*/*.c | xargs -P "$(nproc)" -n 16 "${compile[@]}" 2>"$tmp/why"; then ok later_headers
else notok later_headers "$(grep -E 'error|warning' "$tmp/why" | head -10)"; fi

need_no_sanitizer programs

# --- programs that are linked with rdma-core's names ---

# stand_in LIBRARY FACTS: $tmp/LIBRARY.so.1 that has the rows of the file FACTS, each in its node
stand_in() {
    awk '{ nodes[$1] = nodes[$1] " " $2 ";"; if (!seen[$2]++) functions = functions "void " $2 "(void) { }\n" }
         END { printf "%s", functions >c
               for (n in nodes) print n " { global:" nodes[n] " };" >map }' \
        c="$tmp/$1.c" map="$tmp/$1.map" "$2"
    cc -w -ffreestanding -shared -fPIC -Wl,-soname,"$1.so.1" -Wl,--version-script="$tmp/$1.map" \
        -o "$tmp/$1.so.1" "$tmp/$1.c"
}

# over_nornic PROGRAM: runs it with a device of this machine's own address
over_nornic() { run "$nornic" run --files=never --port udp:127.0.0.1 -- "$@"; }

# a program that needs each name of one node before main() (-z now) starts
starts() {
    local library=$1 node=$2 case
    case=${node//./_}
    awk -v n="$node" '$1 == n' "$tmp/$library.facts" >"$tmp/node"
    stand_in "$library" "$tmp/node"
    {
        echo '#include <stdio.h>'
        awk '{ print "extern char " $2 "[];" } ' "$tmp/node"
        echo 'static char *const names[] = {'
        awk '{ print $2 "," }' "$tmp/node"
        echo '}; int main(void) { unsigned i, n = 0; for (i = 0; i < sizeof names / sizeof *names; i++)'
        echo 'n += names[i] != 0; printf("%u names\n", n); return 0; }'
    } >"$tmp/starts.c"
    cc -w -ffreestanding -fPIC -Wl,-z,now -o "$tmp/starts" "$tmp/starts.c" "$tmp/$library.so.1"
    rm "$tmp/$library.so.1"
    over_nornic "$tmp/starts"
    if [ "$rc" = 0 ] && [ "$out" = "$(wc -l <"$tmp/node") names" ]; then ok "starts_$case"
    else notok "starts_$case" "$rc: $out $err"; fi
}
for library in libibverbs librdmacm; do
    for node in $(cut -d' ' -f1 "$tmp/$library.facts" | uniq); do starts $library "$node"; done
done

# call_of NAME: a call of a private name in C, and what it has to answer
call_of() {
    local failed='errno == EOPNOTSUPP'
    case $1 in
    ibv_query_gid_type | ibv_wr_opcode_str | verbs_allow_disassociate_destroy) ;; # test/verbs/programs/newer.c
    __verbs_log | *_set_ops | *_uninit_context | *_heap_destroy | *_heap_free | verbs_register_driver_*)
        echo "void $1(); $1(0, 0, \"\");" ;;
    __ioctl_final_num_attrs) echo "unsigned $1(); is(!$1(0, 0) && $failed, \"$1\");" ;;
    _verbs_init_and_alloc_context | *_heap_alloc | *_cc_shared_init | verbs_open_device)
        echo "void *$1(); is(!$1(0, 0, 0) && $failed, \"$1\");" ;;
    *_export_dmabuf_fd | *_sysfs_file) echo "int $1(); is($1(0, 0, 0) == -1 && $failed, \"$1\");" ;;
    *) echo "int $1(); is($1(0, 0, 0) == EOPNOTSUPP, \"$1\");" ;;
    esac
}

# each private name, called in each node
for n in "${private_nodes[@]}"; do
    awk -v n="IBVERBS_PRIVATE_$n" '$1 == n' "$tmp/libibverbs.facts" >"$tmp/node"
    stand_in libibverbs "$tmp/node"
    {
        printf '#include <errno.h>\n#include <stdio.h>\nstatic int wrong;\n'
        echo 'static void is(int right, const char *name) { if (!right) wrong++, puts(name); errno = 0; }'
        echo 'int main(void) {'
        while read -r _ name; do call_of "$name"; done <"$tmp/node"
        echo 'return wrong; }'
    } >"$tmp/calls.c"
    cc -w -std=gnu11 -o "$tmp/calls" "$tmp/calls.c" "$tmp/libibverbs.so.1"
    rm "$tmp/libibverbs.so.1"
    over_nornic "$tmp/calls"
    if [ "$rc" = 0 ] && [ -z "$out" ]; then ok "private_calls_$n"
    else notok "private_calls_$n" "$rc: $out $err"; fi
done

# a program of the newest rdma-core, and its private names in each of the nodes
for n in "${private_nodes[@]}"; do
    grep -vE "^IBVERBS_PRIVATE_" "$tmp/libibverbs.facts" >"$tmp/node"
    grep "^IBVERBS_PRIVATE_$n " "$tmp/libibverbs.facts" >>"$tmp/node"
    stand_in libibverbs "$tmp/node"
    stand_in librdmacm "$tmp/librdmacm.facts"
    cc -Wall -std=gnu11 -o "$tmp/newer" test/verbs/programs/newer.c "$tmp/libibverbs.so.1" "$tmp/librdmacm.so.1"
    rm "$tmp/libibverbs.so.1" "$tmp/librdmacm.so.1"
    over_nornic "$tmp/newer"
    if [ "$rc" = 0 ] && [ "$out" = "30 answers are right" ]; then ok "newer_$n"
    else notok "newer_$n" "$rc: $out $err"; fi
done
exit $status
