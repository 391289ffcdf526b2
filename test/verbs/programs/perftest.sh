# SPDX-License-Identifier: BSD-2-Clause
# Sourced by run: perftest's matrix. A line is a test over a service, a column an option: x runs always, + with --all
# or by name (perftest_write_bw_RC_b), . is not there: an option that the test has not (-b, -q: latency; inline data:
# reads and atomics; SRQ: all but SEND; events: WRITE), or that perftest has not over that service (UC, XRC: -R; UC:
# SRQ). UC and UD send messages that the receiver's socket has room for: what they lose stays lost, and perftest waits.
# shellcheck shell=bash
begin perftest

perftest_table() {
    cat <<'TABLE'
test       service plain -R -e -I srq -b -q -a
write_bw   RC      x     x  .  +  .   x  x  x
write_bw   UC      x     .  .  +  .   +  +  .
write_bw   XRC     x     .  .  +  .   +  +  +
write_lat  RC      x     +  .  x  .   .  .  +
write_lat  UC      x     .  .  +  .   .  .  .
write_lat  XRC     x     .  .  +  .   .  .  +
read_bw    RC      x     +  x  .  .   x  +  +
read_bw    XRC     x     .  +  .  .   +  +  +
read_lat   RC      x     +  +  .  .   .  .  +
read_lat   XRC     x     .  +  .  .   .  .  +
send_bw    RC      x     +  x  x  x   x  x  +
send_bw    UC      x     .  +  +  .   +  +  .
send_bw    UD      x     +  +  +  +   +  +  +
send_bw    XRC     x     .  +  +  .   +  +  +
send_lat   RC      x     +  x  +  +   .  .  +
send_lat   UC      x     .  +  +  .   .  .  .
send_lat   UD      x     x  +  +  +   .  .  +
send_lat   XRC     x     .  +  +  .   .  .  +
atomic_bw  RC      x     +  x  .  .   x  x  .
atomic_bw  XRC     x     .  +  .  .   +  +  .
atomic_lat RC      x     +  +  .  .   .  .  .
atomic_lat XRC     x     .  +  .  .   .  .  .
TABLE
}

# perftest_options TEST SERVICE COLUMN: sets $options
perftest_options() {
    options=(-F -x 0 -n 50 -c "$2")
    [[ $3 == -a || $1 == *_lat || $1 == atomic* || $2 == R* || $2 == X* ]] || options+=(-s 1024)
    case $3 in
    plain) ;;
    -I) options+=(-I 64 -s 64) ;;
    srq) options+=(--use-srq) ;;
    -q) options+=(-q 16) ;;
    -a) options=(-F -x 0 -n 5 -a -c "$2") ;;
    *) options+=("$3") ;;
    esac
}

# perftest_cell TEST SERVICE COLUMN [more]
perftest_cell() {
    local name=perftest_$1_$2_${3#-} wait=18515 capture=
    wanted "$name" "${4:-}" || return
    [ "$3" != -R ] || wait=cm
    [ "$3" = -a ] || capture=$tmp/captures/$name.pcapng
    perftest_options "$1" "$2" "$3"
    [ "$3" = -a ] && patience=170
    speak on b $wait "$capture" "ib_$1" "${options[@]}" -- "ib_$1" "${options[@]}" 10.77.0.2
    patience=50
    both_well "$name" $'\n [0-9]+ +[0-9]+ '
    [ -z "$capture" ] || wire "capture_$name" "$capture"
}

perftest_matrix() {
    local test service marks columns
    read -r test service columns
    read -ra columns <<<"$columns"
    while read -r test service marks; do
        read -ra marks <<<"$marks"
        for at in "${!columns[@]}"; do
            case ${marks[at]} in
            x) perftest_cell "$test" "$service" "${columns[at]}" ;;
            +) perftest_cell "$test" "$service" "${columns[at]}" more ;;
            esac </dev/null
        done
    done
}

perftest_matrix < <(perftest_table)
