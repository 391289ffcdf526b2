# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: ibverbs-utils and rdmacm-utils, nornic to nornic, each on one host and in two namespaces. A line is:
# name | what the client waits for | the server: ends, or stays until it is stopped | server | client, @ is its address
# shellcheck shell=bash
begin utils

utils_table() {
    cat <<'TABLE'
rc|18515|ends|ibv_rc_pingpong -g 0 -n 100 -c|ibv_rc_pingpong -g 0 -n 100 -c @
rc_e|18515|ends|ibv_rc_pingpong -g 0 -n 100 -c -e|ibv_rc_pingpong -g 0 -n 100 -c -e @
rc_N|18515|ends|ibv_rc_pingpong -g 0 -n 100 -c -N|ibv_rc_pingpong -g 0 -n 100 -c -N @
rc_t|18515|ends|ibv_rc_pingpong -g 0 -n 100 -t|ibv_rc_pingpong -g 0 -n 100 -t @
rc_j|18515|ends|ibv_rc_pingpong -g 0 -n 100 -c -j|ibv_rc_pingpong -g 0 -n 100 -c -j @
rc_m|18515|ends|ibv_rc_pingpong -g 0 -c -m 4096 -l 3 -s 100000|ibv_rc_pingpong -g 0 -c -m 4096 -l 3 -s 100000 @
uc|18515|ends|ibv_uc_pingpong -g 0 -n 100 -c|ibv_uc_pingpong -g 0 -n 100 -c @
uc_e|18515|ends|ibv_uc_pingpong -g 0 -n 100 -c -e|ibv_uc_pingpong -g 0 -n 100 -c -e @
ud|18515|ends|ibv_ud_pingpong -g 0 -n 100 -c|ibv_ud_pingpong -g 0 -n 100 -c @
ud_e|18515|ends|ibv_ud_pingpong -g 0 -n 100 -c -e|ibv_ud_pingpong -g 0 -n 100 -c -e @
srq|18515|ends|ibv_srq_pingpong -g 0 -n 100 -c|ibv_srq_pingpong -g 0 -n 100 -c @
srq_e|18515|ends|ibv_srq_pingpong -g 0 -n 100 -c -e -q 4|ibv_srq_pingpong -g 0 -n 100 -c -e -q 4 @
xsrq|18515|ends|ibv_xsrq_pingpong -g 0|ibv_xsrq_pingpong -g 0 @
xsrq_e|18515|ends|ibv_xsrq_pingpong -g 0 -e -n 100|ibv_xsrq_pingpong -g 0 -e -n 100 @
rping|cm|ends|rping -s -C 20 -V|rping -c -C 20 -V -a @
rping_q|cm|ends|rping -s -C 20 -V -q|rping -c -C 20 -V -q -a @
ucmatose|cm|ends|ucmatose -c 3|ucmatose -c 3 -s @
ucmatose_m|cm|ends|ucmatose -c 3 -m|ucmatose -c 3 -m -s @
udaddy|cm|ends|udaddy -c 3|udaddy -c 3 -s @
rdma_client|cm|ends|rdma_server|rdma_client -s @
rdma_xclient|cm|ends|rdma_xserver|rdma_xclient -s @
rdma_xclient_x|cm|ends|rdma_xserver -c x|rdma_xclient -c x -s @
cmtime|cm|stays|cmtime -c 10|cmtime -c 10 -s @
rstream|cm|ends|rstream -T verify -S 5000 -C 100|rstream -T verify -S 5000 -C 100 -s @
rstream_async|cm|ends|rstream -T async -S 5000 -C 100|rstream -T async -S 5000 -C 100 -s @
riostream|cm|ends|riostream -T verify -S 5000 -C 100|riostream -T verify -S 5000 -C 100 -s @
TABLE
}

# utils_line NAME PLACE WAIT END SERVER CLIENT
utils_line() {
    local name=$1 server_command client_command address=10.77.0.2
    [ "$2" = b ] || address=10.77.0.1
    read -ra server_command <<<"$5"
    read -ra client_command <<<"${6/@/$address}"
    staying=$([ "$4" = ends ] || echo 1)
    speak on "$2" "$3" '' "${server_command[@]}" -- "${client_command[@]}"
    both_well "$name"
    staying=
}

while IFS='|' read -r name wait end server_line client_line; do
    wanted "utils_${name}" more && utils_line "utils_$name" b "$wait" "$end" "$server_line" "$client_line" </dev/null
    wanted "utils_${name}_one_host" &&
        utils_line "utils_${name}_one_host" a "$wait" "$end" "$server_line" "$client_line" </dev/null
done < <(utils_table)

# a file: what comes out is what went in
utils_rcopy() {
    wanted utils_rcopy || return
    mkdir -m 777 "$tmp/rcopy"
    head -c 3000000 /dev/urandom >"$tmp/rcopy/in"
    chmod 644 "$tmp/rcopy/in"
    staying=1
    speak on a cm '' rcopy -- rcopy "$tmp/rcopy/in" "10.77.0.1:$tmp/rcopy/out"
    staying=
    if [ "$rc" = 0 ] && cmp -s "$tmp/rcopy/in" "$tmp/rcopy/out"; then ok utils_rcopy
    else notok utils_rcopy "$rc: $(end_of err) $(end_of server.err)"; fi
}
utils_rcopy

# utils_mckey NAME OPTION...: who hears the group says so before the sender begins
utils_mckey() {
    local name=$1
    wanted "$name" || return
    shift
    on b stdbuf -oL mckey "$@" -b 10.77.0.2
    start "${command[@]}"
    for ((i = 0; i < 100; i++)); do
        grep -q joined "$tmp/server.out" && break
        sleep 0.1
    done
    on a mckey "$@" -b 10.77.0.1 -s
    run "${command[@]}"
    finish
    both_well "$name"
}
for namespace in "$ns_a" "$ns_b"; do
    ip -n "$namespace" route add 239.77.0.0/16 dev "nn${namespace##*-}"
done
utils_mckey utils_mckey -m 239.77.0.1
utils_mckey utils_mckey_C -m 239.77.0.2 -c 2 -C 20 -S 500
utils_mckey utils_mckey_l -m 239.77.0.3 -l
