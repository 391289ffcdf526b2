# SPDX-License-Identifier: BSD-2-Clause
# For the scripts beside it, sourced by run: which cases are wanted, a program with our libraries in a namespace, two
# of them that speak, what became of each, counted by group. The namespaces are those of veth_make().
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../../e2e/lib.sh"
lib=$(realpath "${BUILD:-build}/lib")
patterns=() with_all=
group='' groups=()
declare -A passed_of failed_of

# ok, notok: as in e2e/lib.sh, and counted
ok() { echo "ok $1" && passed_of[$group]=$((passed_of[$group] + 1)); }
notok() {
    echo "not ok $1: $(echo "$2" | tr '\n' ' ' | tr -cd '[:print:]')"
    failed_of[$group]=$((failed_of[$group] + 1))
    status=1
}

# begin GROUP: the cases that follow are counted for it
begin() { group=$1 && groups+=("$1") && passed_of[$1]=0 && failed_of[$1]=0; }

# summary: how many passed and failed of each group, and of all
summary() {
    local g passed=0 failed=0
    printf '\n%-10s %7s %7s\n' group passed failed
    for g in "${groups[@]}"; do
        [ $((passed_of[$g] + failed_of[$g])) = 0 ] && continue
        printf '%-10s %7d %7d\n' "$g" "${passed_of[$g]}" "${failed_of[$g]}"
        passed=$((passed + passed_of[$g])) failed=$((failed + failed_of[$g]))
    done
    echo "$passed passed, $failed failed"
}

# wanted NAME [more]: whether that case is to run; with "more" only where it is named, or all are asked for
wanted() {
    local pattern
    [ ${#patterns[@]} = 0 ] && { [ -z "${2:-}" ] || [ -n "$with_all" ]; } && return 0
    for pattern in "${patterns[@]}"; do
        # shellcheck disable=SC2053 # it is a pattern
        [[ $1 == $pattern ]] && return 0
    done
    return 1
}

# missing PROGRAM...: the first that is not installed
missing() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || { echo "$program" && return; }; done
}

# place a | b: sets $inside and $addr, that namespace and its address
place() {
    local -n here=in_$1
    inside=("${here[@]}") addr=10.77.0.1
    [ "$1" = a ] || addr=10.77.0.2
}

# on a | b PROGRAM...: sets $command, that runs it there as an ordinary user, bounded in time with all that it starts
on() {
    place "$1"
    shift
    command=("${inside[@]}" timeout -k 2 $patience "${as_nobody[@]}" env HOME="$tmp/home" LD_LIBRARY_PATH="$lib"
        NORNIC_PORT="udp:$addr" NORNIC_TRACE=1 "$@")
}

# with_files a | b PROGRAM...: the same under nornic run, which shows the files of an adapter
with_files() {
    place "$1"
    shift
    command=("${inside[@]}" timeout -k 2 $patience "${as_nobody[@]}" env HOME="$tmp/home" UCX_IB_GID_INDEX=0
        UCX_NET_DEVICES=nornic0:1 "$nornic" run --files=always --port "udp:$addr" -- "$@")
}

# until_ready NAMESPACE WAIT: until what was started there listens on a TCP port, or to a service of the CM ("cm"); 10
# seconds at most, and no longer than it lives
until_ready() {
    if [ "$2" != cm ]; then
        listening "$1" "$2"
        return
    fi
    for ((i = 0; i < 100; i++)); do
        ip netns exec "$1" "${as_nobody[@]}" "$nornic" stat 2>/dev/null | grep -q 'listens to [1-9]' && return
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
}

staying=  # the server of the next speak() does not end by itself
patience=50 # seconds that a program may take

# run COMMAND...: as in e2e/lib.sh, for as long as on() and with_files() let it
run() {
    timeout $((patience + 10)) "$@" >"$tmp/out" 2>"$tmp/err"
    rc=$?
    out=$(tr -d '\0' <"$tmp/out")
    err=$(tr -d '\0' <"$tmp/err")
}

# speak HOW SERVER-PLACE WAIT CAPTURE SERVER... -- CLIENT...: runs both by `on` or `with_files`, the client in a; $rc,
# $out, $err, $server_rc, ... say what became of them. qperf's server lets its client come before it listens; a client
# that was too fast is refused by the CM, with any adapter, and tried again.
speak() {
    local how=$1 at=$2 wait=$3 capture=$4 b=()
    shift 4
    while [ "$1" != -- ]; do b+=("$1") && shift; done
    shift
    for ((try = 1; try <= 5; try++)); do
        $how "$at" "${b[@]}"
        start "${command[@]}"
        if [ "$at" = a ]; then until_ready "$ns_a" "$wait"; else until_ready "$ns_b" "$wait"; fi
        $how a "$@"
        [ -z "$capture" ] || $how a env NORNIC_CAPTURE="$capture" "$@"
        run "${command[@]}"
        [[ $err == *"UNREACHABLE; error: 1."* || $err == *"Event rejected"* ]] || break
        end_all "$ns_a" "$ns_b"
        wait "$server" 2>/dev/null
        [ -z "$capture" ] || rm -f "$capture"*
    done
    [ -z "$staying" ] || kill -TERM "$server"
    finish
    [ -z "$staying" ] || server_rc=0 # as it was asked to
    end_all "$ns_a" "$ns_b"
}

# alone NAME PATTERN PROGRAM...: under nornic run it ends well and says PATTERN
alone() {
    local name=$1 pattern=$2
    wanted "$name" || return
    shift 2
    with_files a "$@"
    run "${command[@]}"
    if [ $rc = 0 ] && [[ $out =~ $pattern ]]; then ok "$name"
    else notok "$name" "$rc: $(end_of out) $(end_of err)"; fi
}

# build_it NAME SCRIPT: sets $built to where SCRIPT says that the program is; else says why not
build_it() {
    built=$(test/verbs/programs/build/"$2" 2>"$tmp/err")
    case $? in
    0) return 0 ;;
    3) skip "$1" "its source cannot be fetched: $(end_of err | tr '\n' ' ')" ;;
    *) notok "$1" "$(end_of err)" ;;
    esac
    return 1
}

# end_of out | err | server.out | server.err: the last of what was said there
end_of() { tail -c 300 "$tmp/$1"; }

# both_well NAME [PATTERN]: client and server ended well, and the client said PATTERN
both_well() {
    if [ "$rc" = 0 ] && [ "$server_rc" = 0 ] && [[ $out =~ ${2:-} ]]; then ok "$1"
    else
        notok "$1" "client $rc: $(end_of out) $(end_of err)
            server $server_rc: $(end_of server.out) $(end_of server.err)"
    fi
}

# wire NAME CAPTURE: what is in there is as the standard has it, and the captures are removed
wire() {
    if "$nornic" verify --strict "$2"* >"$tmp/verdict" 2>&1; then ok "$1"
    else notok "$1" "$(tail -3 "$tmp/verdict")"; fi
    rm -f "$2"*
}
