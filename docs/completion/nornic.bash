# SPDX-License-Identifier: BSD-2-Clause
# bash completion, made by `nornic help --completion bash` of the tables that the parser reads
_nornic_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_nornic_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
}
_nornic_interfaces() { _nornic_words "$(ls /sys/class/net)"; }
_nornic_ports() {
    _nornic_words 'udp: xdp: packet: memory'
    [[ ${COMPREPLY[*]} != *: ]] || compopt -o nospace 2>/dev/null
}
_nornic() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    COMPREPLY=()
    # --port=xdp:eth0 comes as the words --port = xdp : eth0
    if [[ $cur == : || $prev == : ]]; then
        [[ $cur != : ]] || cur=
        _nornic_interfaces
        return
    fi
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)) || [[ $command == help ]]; then
        _nornic_words 'demo help pingpong rping udaddy cmatose rdma-client rdma-server smc explain header replay sniff verify perf ports stat run keep'
        return
    fi
    if [[ $command == smc ]]; then
        if ((COMP_CWORD == 2)); then
            _nornic_words 'listen connect service enable disable status stat ladder'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    case "$command $prev" in
    "demo --act") ;;
    "demo --file-size") ;;
    "demo --loss") ;;
    "demo --seed") ;;
    "demo --size") ;;
    "demo --count") ;;
    "demo --time" | "demo -T") ;;
    "demo --port") _nornic_words 'auto xdp packet udp memory' ;;
    "demo --mtu") ;;
    "demo --output" | "demo -o") _nornic_files ;;
    "demo --color") _nornic_words 'auto always never' ;;
    "help --completion") ;;
    "pingpong --tcp-port" | "pingpong -p") ;;
    "pingpong --transport") _nornic_words 'rc uc ud srq' ;;
    "pingpong --num-qp" | "pingpong -q") ;;
    "pingpong --size" | "pingpong -s") ;;
    "pingpong --mtu" | "pingpong -m") ;;
    "pingpong --rx-depth" | "pingpong -r") ;;
    "pingpong --iters" | "pingpong -n") ;;
    "pingpong --sl" | "pingpong -l") ;;
    "pingpong --timeout" | "pingpong -t") ;;
    "pingpong --port") _nornic_ports ;;
    "pingpong --gid-idx" | "pingpong -g") ;;
    "pingpong --spin") ;;
    "pingpong --capture") _nornic_files ;;
    "pingpong --loss") ;;
    "pingpong --duplicate") ;;
    "pingpong --reorder") ;;
    "pingpong --corrupt") ;;
    "pingpong --ecn") ;;
    "pingpong --seed") ;;
    "pingpong --mpa-rev") ;;
    "pingpong --rtr") _nornic_words 'both write read none' ;;
    "rping --address" | "rping -a") ;;
    "rping --source" | "rping -I") ;;
    "rping --service-port" | "rping -p") ;;
    "rping --count" | "rping -C") ;;
    "rping --size" | "rping -S") ;;
    "rping --timeout" | "rping -t") ;;
    "rping --port") _nornic_ports ;;
    "rping --gid-idx" | "rping -g") ;;
    "rping --spin") ;;
    "rping --capture") _nornic_files ;;
    "rping --loss") ;;
    "rping --duplicate") ;;
    "rping --reorder") ;;
    "rping --corrupt") ;;
    "rping --ecn") ;;
    "rping --seed") ;;
    "rping --mpa-rev") ;;
    "rping --rtr") _nornic_words 'both write read none' ;;
    "udaddy --server" | "udaddy -s") ;;
    "udaddy --bind" | "udaddy -b") ;;
    "udaddy --connections" | "udaddy -c") ;;
    "udaddy --count" | "udaddy -C") ;;
    "udaddy --size" | "udaddy -S") ;;
    "udaddy --service-port" | "udaddy -p") ;;
    "udaddy --timeout" | "udaddy -t") ;;
    "udaddy --port") _nornic_ports ;;
    "udaddy --gid-idx" | "udaddy -g") ;;
    "udaddy --spin") ;;
    "udaddy --capture") _nornic_files ;;
    "udaddy --loss") ;;
    "udaddy --duplicate") ;;
    "udaddy --reorder") ;;
    "udaddy --corrupt") ;;
    "udaddy --ecn") ;;
    "udaddy --seed") ;;
    "udaddy --mpa-rev") ;;
    "udaddy --rtr") _nornic_words 'both write read none' ;;
    "cmatose --server" | "cmatose -s") ;;
    "cmatose --bind" | "cmatose -b") ;;
    "cmatose --connections" | "cmatose -c") ;;
    "cmatose --count" | "cmatose -C") ;;
    "cmatose --size" | "cmatose -S") ;;
    "cmatose --service-port" | "cmatose -p") ;;
    "cmatose --timeout" | "cmatose -t") ;;
    "cmatose --port") _nornic_ports ;;
    "cmatose --gid-idx" | "cmatose -g") ;;
    "cmatose --spin") ;;
    "cmatose --capture") _nornic_files ;;
    "cmatose --loss") ;;
    "cmatose --duplicate") ;;
    "cmatose --reorder") ;;
    "cmatose --corrupt") ;;
    "cmatose --ecn") ;;
    "cmatose --seed") ;;
    "cmatose --mpa-rev") ;;
    "cmatose --rtr") _nornic_words 'both write read none' ;;
    "rdma-client --server" | "rdma-client -s") ;;
    "rdma-client --service-port" | "rdma-client -p") ;;
    "rdma-client --timeout" | "rdma-client -t") ;;
    "rdma-client --port") _nornic_ports ;;
    "rdma-client --gid-idx" | "rdma-client -g") ;;
    "rdma-client --spin") ;;
    "rdma-client --capture") _nornic_files ;;
    "rdma-client --loss") ;;
    "rdma-client --duplicate") ;;
    "rdma-client --reorder") ;;
    "rdma-client --corrupt") ;;
    "rdma-client --ecn") ;;
    "rdma-client --seed") ;;
    "rdma-client --mpa-rev") ;;
    "rdma-client --rtr") _nornic_words 'both write read none' ;;
    "rdma-server --bind" | "rdma-server -s") ;;
    "rdma-server --service-port" | "rdma-server -p") ;;
    "rdma-server --timeout" | "rdma-server -t") ;;
    "rdma-server --port") _nornic_ports ;;
    "rdma-server --gid-idx" | "rdma-server -g") ;;
    "rdma-server --spin") ;;
    "rdma-server --capture") _nornic_files ;;
    "rdma-server --loss") ;;
    "rdma-server --duplicate") ;;
    "rdma-server --reorder") ;;
    "rdma-server --corrupt") ;;
    "rdma-server --ecn") ;;
    "rdma-server --seed") ;;
    "rdma-server --mpa-rev") ;;
    "rdma-server --rtr") _nornic_words 'both write read none' ;;
    "smc listen --device" | "smc listen -d") ;;
    "smc listen --max-links") ;;
    "smc listen --ueid") ;;
    "smc listen --rcvbuf") ;;
    "smc listen --sndbuf") ;;
    "smc listen --input" | "smc listen -i") _nornic_files ;;
    "smc listen --output" | "smc listen -o") _nornic_files ;;
    "smc listen --idle") ;;
    "smc listen --capture") _nornic_files ;;
    "smc listen --trace") _nornic_files ;;
    "smc listen --loss") ;;
    "smc listen --seed") ;;
    "smc connect --wait" | "smc connect -w") ;;
    "smc connect --device" | "smc connect -d") ;;
    "smc connect --max-links") ;;
    "smc connect --ueid") ;;
    "smc connect --rcvbuf") ;;
    "smc connect --sndbuf") ;;
    "smc connect --input" | "smc connect -i") _nornic_files ;;
    "smc connect --output" | "smc connect -o") _nornic_files ;;
    "smc connect --idle") ;;
    "smc connect --capture") _nornic_files ;;
    "smc connect --trace") _nornic_files ;;
    "smc connect --loss") ;;
    "smc connect --seed") ;;
    "smc service --device" | "smc service -d") ;;
    "smc service --max-links") ;;
    "smc service --ueid") ;;
    "smc service --peers") ;;
    "smc service --socket") _nornic_files ;;
    "smc service --idle") ;;
    "smc service --capture") _nornic_files ;;
    "smc service --trace") _nornic_files ;;
    "smc stat --pid") ;;
    "explain --html") _nornic_files ;;
    "explain --filter" | "explain -f") ;;
    "explain --csv") _nornic_words 'none operations flows iwarp-operations iwarp' ;;
    "explain --rule") ;;
    "explain --quiz") ;;
    "explain --link-speed") ;;
    "explain --interface" | "explain -i") _nornic_interfaces ;;
    "explain --count" | "explain -c") ;;
    "explain --time" | "explain -T") ;;
    "explain --color") _nornic_words 'auto always never' ;;
    "replay --as") ;;
    "replay --scenario") _nornic_files ;;
    "replay --interface" | "replay -i") _nornic_interfaces ;;
    "replay --output" | "replay -o") _nornic_files ;;
    "replay --speed") ;;
    "sniff --interface" | "sniff -i") _nornic_interfaces ;;
    "sniff --output" | "sniff -o") _nornic_files ;;
    "sniff --count" | "sniff -c") ;;
    "sniff --time" | "sniff -T") ;;
    "sniff --rotate-size") ;;
    "sniff --rotate-count") ;;
    "perf --op") _nornic_words 'send write write-imm read fetch-add cmp-swap masked-fetch-add masked-cmp-swap' ;;
    "perf --size" | "perf -s") ;;
    "perf --iters" | "perf -n") ;;
    "perf --time" | "perf -T") ;;
    "perf --depth" | "perf -d") ;;
    "perf --qps" | "perf -q") ;;
    "perf --window" | "perf -W") ;;
    "perf --mtu" | "perf -m") ;;
    "perf --warmup" | "perf -w") ;;
    "perf --tcp-port" | "perf -p") ;;
    "perf --timeout" | "perf -t") ;;
    "perf --port") _nornic_ports ;;
    "perf --gid-idx" | "perf -g") ;;
    "perf --spin") ;;
    "perf --capture") _nornic_files ;;
    "perf --loss") ;;
    "perf --duplicate") ;;
    "perf --reorder") ;;
    "perf --corrupt") ;;
    "perf --ecn") ;;
    "perf --seed") ;;
    "perf --mpa-rev") ;;
    "perf --rtr") _nornic_words 'both write read none' ;;
    "run --port") _nornic_ports ;;
    "run --capture") _nornic_files ;;
    "run --files") _nornic_words 'auto always never' ;;
    "run --faults") _nornic_files ;;
    "run --loss") ;;
    "run --duplicate") ;;
    "run --reorder") ;;
    "run --corrupt") ;;
    "run --ecn") ;;
    "run --seed") ;;
    "run --service") _nornic_files ;;
    "run --ueid") ;;
    "run --peers") ;;
    "demo "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --act --file-size --loss --seed --size --count --time --port --mtu --ipv6 --output --json --color --keep --help'
        fi ;;
    "help "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --completion --help'
        fi ;;
    "pingpong "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --tcp-port --transport --num-qp --size --mtu --rx-depth --iters --sl --chk --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "rping "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --server --client --address --source --service-port --count --size --verbose --persistent --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "udaddy "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --server --bind --connections --count --size --service-port --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "cmatose "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --server --bind --connections --count --size --service-port --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "rdma-client "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --server --service-port --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "rdma-server "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --bind --service-port --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "smc listen "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --keep --device --max-links --ueid --rcvbuf --sndbuf --require-smc --tcp --input --output --sum --ipv4 --ipv6 --idle --capture --trace --loss --seed --json --quiet --help'
        fi ;;
    "smc connect "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --wait --device --max-links --ueid --rcvbuf --sndbuf --require-smc --tcp --input --output --sum --ipv4 --ipv6 --idle --capture --trace --loss --seed --json --quiet --help'
        fi ;;
    "smc service "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --device --max-links --ueid --peers --socket --foreground --on-demand --idle --capture --trace --no-sandbox --help'
        fi ;;
    "smc enable "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --help'
        else
            _nornic_files
        fi ;;
    "smc disable "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --help'
        else
            _nornic_files
        fi ;;
    "smc status "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --json --help'
        fi ;;
    "smc stat "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --pid --watch --json --help'
        fi ;;
    "smc ladder "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --all --failover --help'
        else
            _nornic_files
        fi ;;
    "explain "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --verbose --json --ladder --html --whole --filter --csv --join --rule --quiz --answers --link-speed --strict --all --interface --iwarp --count --time --no-sandbox --color --help'
        else
            _nornic_files
        fi ;;
    "header "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --help'
        fi ;;
    "replay "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --as --scenario --all --json --no-sandbox --rewrite --interface --output --speed --help'
        else
            _nornic_files
        fi ;;
    "sniff "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --interface --output --count --time --rotate-size --rotate-count --no-promiscuous --quiet --json --no-sandbox --help'
        fi ;;
    "verify "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --strict --json --no-sandbox --help'
        else
            _nornic_files
        fi ;;
    "perf "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --op --size --iters --time --depth --qps --window --mtu --latency --verify --warmup --tcp-port --timeout --json --port --gid-idx --ipv6 --roce-v1 --events --spin --capture --loss --duplicate --reorder --corrupt --ecn --seed --cc --mpa-rev --no-crc --markers --rtr --help'
        fi ;;
    "ports "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --json --help'
        fi ;;
    "stat "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --json --help'
        fi ;;
    "run "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --port --capture --files --trace --stat --faults --loss --duplicate --reorder --corrupt --ecn --seed --smc --service --ueid --peers --help'
        fi ;;
    "keep "*)
        if [[ $cur == -* ]]; then
            _nornic_words ' --help'
        fi ;;
    esac
}
complete -F _nornic nornic
