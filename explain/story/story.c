/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/story.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/story/units.h"
#include "nornic/addr.h"

#define HOSTS_MAX 64 /* are told apart */

static bool is_severe(const struct explain_finding *f)
{
    return explain_finding_severity(f->kind) > 0;
}

void explain_story_finding(struct explain_story *story, const struct explain_finding *f)
{
    story->found[f->kind]++;
    if (is_severe(f) && !story->first.number)
        story->first = *f;
}

static bool is_restart(const struct explain_finding *f)
{
    bool is_again = f->kind == EXPLAIN_FIND_RETRANSMISSION || f->kind == EXPLAIN_FIND_READ_REPLAY;
    return is_again && f->why.cause != EXPLAIN_CAUSE_RESTART && !f->why.behind;
}

void explain_story_take(struct explain_story *story, const struct explain_packet *packet,
                        const struct explain_meaning *m)
{
    uint64_t silence_ns;
    story->packets++;
    if (packet->kind == EXPLAIN_OTHER || m->is_recapture) /* what else went over the wire is no part of it */
        return;
    if (!story->first_ns)
        story->first_ns = story->last_ns = packet->time_ns;
    if (packet->time_ns > story->last_ns && explain_pause_of(m, &silence_ns) != EXPLAIN_CAUSE_NONE)
        story->idle_ns += packet->time_ns - story->last_ns;
    story->last_ns = max_u64(story->last_ns, packet->time_ns);
    for (unsigned i = 0; i < m->remark_count; i++) {
        explain_story_finding(story, &m->remarks[i]);
        if (is_restart(&m->remarks[i]))
            story->restarts[m->remarks[i].why.cause]++;
    }
}

/* --- the first sentence: what was sent --- */

/* All flows together. */
struct sum {
    uint32_t flows, hosts;
    const struct explain_flow *only; /* if there is one */
    uint32_t only_index;
    uint64_t requests[2], messages[2], bytes[2], again;
    struct nornic_addr host[HOSTS_MAX];
};

static void add_host(struct sum *sum, const struct nornic_addr *addr)
{
    for (uint32_t i = 0; i < sum->hosts; i++)
        if (memcmp(&sum->host[i], addr, sizeof *addr) == 0)
            return;
    if (sum->hosts < HOSTS_MAX)
        sum->host[sum->hosts++] = *addr;
}

static void add_up(struct sum *sum, const struct explain_analysis *analysis,
                   const struct explain_numbers *numbers)
{
    *sum = (struct sum){0};
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis); i++) {
        const struct explain_flow *f = explain_analysis_flow(analysis, i);
        const struct explain_flow_numbers *n = explain_numbers_of(numbers, i);
        if (!f)
            continue;
        sum->only = sum->flows++ ? NULL : f;
        sum->only_index = i;
        for (unsigned d = 0; d < 2; d++) {
            add_host(sum, &f->addr[d]);
            sum->messages[d] += f->messages[d];
            sum->bytes[d] += n && n->way[d].requests ? n->way[d].bytes : f->bytes[d];
            sum->requests[d] += n ? n->way[d].requests : 0;
            sum->again += f->retransmissions[d];
        }
    }
}

static void put_carried(struct explain_text *out, const struct sum *sum, unsigned direction)
{
    explain_put_count(out, sum->messages[direction], "message", "messages");
    explain_put(out, ", ");
    explain_put_bytes(out, sum->bytes[direction]);
    explain_put(out, ",");
}

static void put_smc(struct explain_text *out, const struct explain_analysis *analysis)
{
    uint32_t conns = explain_analysis_smc_conn_count(analysis);
    uint32_t groups = explain_analysis_smc_group_count(analysis);
    if (!conns && !groups)
        return;
    explain_put(out, "; by SMC-R: ");
    explain_put_count(out, conns, "connection", "connections");
    explain_put(out, " of ");
    explain_put_count(out, groups, "link group", "link groups");
}

static void put_what(struct explain_text *out, const struct explain_story *story, const struct sum *sum,
                     const struct explain_analysis *analysis)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    if (!sum->flows) {
        explain_put(out, "No connected queue pairs speak here: ");
        explain_put_count(out, story->packets, "packet", "packets");
    } else if (sum->only && !sum->messages[1]) {
        explain_printf(out, "%s sent ", nornic_addr_str(&sum->only->addr[0], a));
        put_carried(out, sum, 0);
        explain_printf(out, " to %s", nornic_addr_str(&sum->only->addr[1], b));
    } else if (sum->only) {
        explain_printf(out, "%s sent ", nornic_addr_str(&sum->only->addr[0], a));
        put_carried(out, sum, 0);
        explain_printf(out, " to %s, which sent ", nornic_addr_str(&sum->only->addr[1], b));
        put_carried(out, sum, 1);
        explain_put(out, " back");
    } else {
        struct sum both = {.messages = {sum->messages[0] + sum->messages[1]},
                           .bytes = {sum->bytes[0] + sum->bytes[1]}};
        explain_put_count(out, sum->flows, "flow", "flows");
        explain_printf(out, " between %u%s hosts carried ", sum->hosts,
                       sum->hosts == HOSTS_MAX ? " or more" : "");
        put_carried(out, &both, 0);
    }
    explain_put(out, " in ");
    explain_put_duration(out, story->last_ns - story->first_ns);
    put_smc(out, analysis);
    explain_put(out, ".");
}

/* --- the second: what went wrong --- */

/* "A", "A and B", "A, B and C": the parts that are counted. */
struct list {
    struct explain_text *out;
    unsigned left; /* parts that are still to come */
    bool has_any;
};

static void put_part(struct list *list, uint64_t count, const char *one, const char *many)
{
    if (!count)
        return;
    explain_put(list->out, !list->has_any ? "" : list->left == 1 ? " and " : ", ");
    explain_put_count(list->out, count, one, many);
    list->has_any = true;
    list->left--;
}

static void put_restarts(struct explain_text *out, const struct explain_story *story, const struct sum *sum)
{
    static const struct {
        enum explain_cause cause;
        const char *one, *many;
    } parts[] = {
        {EXPLAIN_CAUSE_NAK_SEQUENCE, "NAK", "NAKs"},
        {EXPLAIN_CAUSE_TIMEOUT, "timeout", "timeouts"},
        {EXPLAIN_CAUSE_IMPLIED_NAK, "answer that skipped another", "answers that skipped others"},
        {EXPLAIN_CAUSE_RNR, "receiver that was not ready", "times a receiver that was not ready"},
        {EXPLAIN_CAUSE_LOCAL, "choice of its own", "choices of its own"},
        {EXPLAIN_CAUSE_UNKNOWN, "cause that cannot be told", "causes that cannot be told"},
    };
    struct list list = {.out = out};
    uint64_t requests = sum->requests[0] + sum->requests[1];
    for (unsigned i = 0; i < array_len(parts); i++)
        list.left += story->restarts[parts[i].cause] != 0;
    explain_put_count(out, sum->again, "packet was", "packets were");
    explain_put(out, " sent again");
    if (requests >= sum->again)
        explain_printf(out, ", %.*f %% of all requests,", sum->again * 10 < requests ? 1 : 0,
                       100.0 * (double)sum->again / (double)requests);
    if (list.left)
        explain_put(out, " because of ");
    for (unsigned i = 0; i < array_len(parts); i++)
        put_part(&list, story->restarts[parts[i].cause], parts[i].one, parts[i].many);
}

static void put_further(struct explain_text *out, const struct explain_story *story)
{
    static const struct {
        enum explain_finding_kind kind;
        const char *one, *many;
    } parts[] = {
        {EXPLAIN_FIND_NAK_FATAL, "NAK ended a connection", "NAKs ended connections"},
        {EXPLAIN_FIND_ICRC, "packet has a bad ICRC", "packets have a bad ICRC"},
        {EXPLAIN_FIND_MALFORMED, "packet is malformed", "packets are malformed"},
        {EXPLAIN_FIND_VIOLATION, "rule is broken", "times a rule is broken"},
        {EXPLAIN_FIND_REORDERED, "packet was overtaken", "packets were overtaken"},
        {EXPLAIN_FIND_CAPTURE_GAP, "gap is the capture's own", "gaps are the capture's own"},
        {EXPLAIN_FIND_ECN_MARK, "packet was marked by a switch", "packets were marked by switches"},
        {EXPLAIN_FIND_CNP, "CNP asked to slow down", "CNPs asked to slow down"},
        {EXPLAIN_FIND_CM_REJECT, "connection was rejected", "connections were rejected"},
        {EXPLAIN_FIND_SMC_DECLINE, "SMC-R offer was declined", "SMC-R offers were declined"},
        {EXPLAIN_FIND_SMC_MOVED, "side of a connection moved to another link",
         "sides of connections moved to another link"},
        {EXPLAIN_FIND_SMC_ABORT, "connection was aborted", "connections were aborted"},
    };
    for (unsigned i = 0; i < array_len(parts); i++)
        if (story->found[parts[i].kind]) {
            explain_put(out, "; ");
            explain_put_count(out, story->found[parts[i].kind], parts[i].one, parts[i].many);
        }
}

static void put_trouble(struct explain_text *out, const struct explain_story *story, const struct sum *sum)
{
    if (sum->again)
        put_restarts(out, story, sum);
    else
        explain_put(out, "Nothing was sent again");
    put_further(out, story);
    if (story->first.number)
        explain_printf(out, "; it began with #%" PRIu64 ": %s", story->first.number, story->first.words);
    explain_put(out, ".");
}

/* --- the third: what it cost --- */

static void put_latency(struct explain_text *out, const struct explain_analysis *analysis,
                        const struct explain_numbers *numbers)
{
    static struct histogram all; /* 30 KiB; emptied each time */
    all = (struct histogram){0};
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis) && i <= EXPLAIN_NUMBERS_FLOWS; i++) {
        const struct explain_flow_numbers *n = explain_numbers_of(numbers, i);
        for (unsigned d = 0; n && d < 2; d++)
            histogram_merge(&all, &n->way[d].latency_ns);
    }
    if (!all.count) {
        explain_put(out, "; no operation was answered in this capture");
        return;
    }
    explain_put(out, "; half of the operations took at most ");
    explain_put_duration(out, histogram_quantile(&all, 0.5));
    explain_put(out, ", the longest ");
    explain_put_duration(out, all.max);
}

static void put_cost(struct explain_text *out, const struct explain_story *story,
                     const struct explain_analysis *analysis, const struct explain_numbers *numbers)
{
    uint64_t span_ns = story->last_ns - story->first_ns;
    if (story->idle_ns && span_ns)
        explain_printf(out, "%.*f %% of the time nothing moved, as senders waited to try again",
                       story->idle_ns * 10 < span_ns ? 1 : 0,
                       100.0 * (double)story->idle_ns / (double)span_ns);
    else
        explain_put(out, "Nobody waited for a timeout");
    put_latency(out, analysis, numbers);
    explain_put(out, ".");
}

bool explain_story_sentence(struct explain_text *out, const struct explain_story *story,
                            const struct explain_analysis *analysis, const struct explain_numbers *numbers,
                            unsigned i)
{
    struct sum sum;
    add_up(&sum, analysis, numbers);
    if (i >= EXPLAIN_STORY_SENTENCES || !story->packets || (i && !sum.flows))
        return false;
    if (i == 0)
        put_what(out, story, &sum, analysis);
    else if (i == 1)
        put_trouble(out, story, &sum);
    else
        put_cost(out, story, analysis, numbers);
    return true;
}
