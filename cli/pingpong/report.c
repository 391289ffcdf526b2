/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pingpong/pingpong.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/report/json.h"

struct figures {
    double seconds, mbit_per_s, usec_per_iter;
    uint64_t bytes;
    struct roce_counters counters; /* of the device */
};

static struct figures figures_of(const struct pingpong_side *side)
{
    const struct pingpong_options *o = side->options;
    struct figures f = {.seconds = (double)(side->end_ns - side->start_ns) / 1e9,
                        .bytes = (uint64_t)o->size_bytes * o->iters * 2};
    f.mbit_per_s = f.seconds > 0 ? (double)f.bytes * 8 / f.seconds / 1e6 : 0;
    f.usec_per_iter = f.seconds * 1e6 / o->iters;
    if (cli_node_is_iwarp(side->node)) /* the kernel's TCP counts its own */
        return f;
    host_dev_lock(side->node->dev);
    f.counters = roce_dev_counters(host_dev_engine(side->node->dev))->qps;
    host_dev_unlock(side->node->dev);
    return f;
}

static double usec(const struct histogram *h, double fraction)
{
    return (double)histogram_quantile(h, fraction) / 1e3;
}

static void report_json(const struct pingpong_side *side, const struct figures *f)
{
    const struct pingpong_options *o = side->options;
    struct json_object *j = json_object_new_object();
    cli_json_add_text(j, "role", side->is_client ? "client" : "server");
    cli_json_add_text(j, "port", cli_node_port_name(side->node));
    cli_json_add_text(j, "mode", cli_node_port_mode(side->node));
    cli_json_add_text(j, "transport", pingpong_transport_names[o->transport]);
    if (o->transport == PINGPONG_SRQ)
        cli_json_add_count(j, "queue_pairs", o->pairs);
    cli_json_add_count(j, "size", o->size_bytes);
    bool is_iwarp = cli_node_is_iwarp(side->node);
    if (o->transport != PINGPONG_UD && !is_iwarp)
        cli_json_add_count(j, "pmtu", o->pmtu_bytes);
    cli_json_add_count(j, "iters", o->iters);
    cli_json_add_count(j, "bytes", f->bytes);
    cli_json_add_real(j, "seconds", f->seconds);
    cli_json_add_real(j, "mbit_per_s", f->mbit_per_s);
    cli_json_add_real(j, "usec_per_iter", f->usec_per_iter);
    if (side->is_client)
        cli_json_add_usec(j, "round_trip_us", &side->round_trips);
    if (!is_iwarp) {
        cli_json_add_count(j, "retransmitted_pkts", f->counters.retransmitted_pkts);
        cli_json_add_count(j, "rx_ip_id_foreign", f->counters.rx_ip_id_foreign);
    }
    if (o->node.cc.on) {
        cli_json_add_count(j, "np_ecn_marked", f->counters.np_ecn_marked);
        cli_json_add_count(j, "np_cnp_sent", f->counters.np_cnp_sent);
        cli_json_add_count(j, "rp_cnp_handled", f->counters.rp_cnp_handled);
    }
    cli_json_add_count(j, "verified_messages", side->received);
    cli_json_add_count(j, "unacknowledged_messages", side->unacknowledged);
    if (o->transport == PINGPONG_SRQ)
        cli_json_add_count(j, "mixed_messages", side->mixed);
    cli_json_print(j);
}

static void report_text(const struct pingpong_side *side, const struct figures *f)
{
    const struct histogram *h = &side->round_trips;
    /* The first two lines are those of ibv_rc_pingpong. */
    printf("%" PRIu64 " bytes in %.2f seconds = %.2f Mbit/sec\n", f->bytes, f->seconds, f->mbit_per_s);
    printf("%u iters in %.2f seconds = %.2f usec/iter\n", side->options->iters, f->seconds, f->usec_per_iter);
    if (side->is_client)
        printf("round trip: min %.1f, median %.1f, p99 %.1f, p99.9 %.1f, max %.1f usec\n",
               (double)h->min / 1e3, usec(h, 0.5), usec(h, 0.99), usec(h, 0.999), (double)h->max / 1e3);
    printf("%u messages verified", side->received);
    if (!cli_node_is_iwarp(side->node))
        printf(", %" PRIu64 " packets retransmitted", f->counters.retransmitted_pkts);
    putchar('\n');
    if (f->counters.rx_ip_id_foreign > 0)
        printf("%" PRIu64
               " packets bore an identification that no nornic sends: 16 bits of their ICRC protected "
               "them, not 32\n",
               f->counters.rx_ip_id_foreign);
    if (side->options->node.cc.on)
        printf("congestion: %" PRIu64 " marked packets came, %" PRIu64 " CNPs sent, %" PRIu64 " obeyed\n",
               f->counters.np_ecn_marked, f->counters.np_cnp_sent, f->counters.rp_cnp_handled);
    if (side->unacknowledged > 0)
        printf("the peer left before it acknowledged the last %s\n",
               side->unacknowledged == 1 ? "message" : "messages");
    if (side->mixed > 0)
        printf("%u of them held pieces of other queue pairs' messages: the peer has one buffer for all\n",
               side->mixed);
}

void pingpong_report(const struct pingpong_side *side)
{
    struct figures f = figures_of(side);
    if (side->options->json)
        report_json(side, &f);
    else
        report_text(side, &f);
}
