/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/story.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "explain/story/iwarp.h"
#include "explain/story/units.h"
#include "nornic/addr.h"
#include "roce/opcode.h"

#define ADDRS_MAX 64 /* are told apart */

static void note(struct explain_story_count *c, uint64_t number, bool is_likely)
{
    c->number = c->count++ ? c->number : number;
    c->likely += is_likely;
}

void explain_story_finding(struct explain_story *story, const struct explain_finding *f)
{
    bool is_on_way = f->kind == EXPLAIN_FIND_LOST_ON_WAY || f->kind == EXPLAIN_FIND_DAMAGED_ON_WAY;
    note(&story->found[f->kind], f->number, is_on_way && f->why.sure == EXPLAIN_SURE_LIKELY);
    story->found[f->kind].perhaps +=
        is_on_way && f->why.cause == EXPLAIN_CAUSE_UNKNOWN && f->why.sure == EXPLAIN_SURE_UNKNOWN;
    story->missing += f->packets;
    story->late += f->kind == EXPLAIN_FIND_REORDERED;
}

static bool is_restart(const struct explain_finding *f)
{
    bool is_again = f->kind == EXPLAIN_FIND_RETRANSMISSION || f->kind == EXPLAIN_FIND_READ_REPLAY;
    return is_again && f->why.cause != EXPLAIN_CAUSE_RESTART && !f->why.behind;
}

/* The reason for the sender to begin again: the answer that told it to, if that is known; else its own
 * packet. */
static void note_restart(struct explain_story *story, const struct explain_finding *f)
{
    const struct explain_why *why = &f->why;
    if (why->cause == EXPLAIN_CAUSE_SELECTIVE_ACK) { /* one may ask for several */
        bool is_same = story->restarts[why->cause].count && story->sack_number == why->evidence[0].number;
        story->sack_number = why->evidence[0].number;
        if (!is_same)
            note(&story->restarts[why->cause], story->sack_number, why->sure == EXPLAIN_SURE_LIKELY);
        return;
    }
    note(&story->restarts[why->cause],
         why->trigger && why->cause != EXPLAIN_CAUSE_STALE_TIMER ? why->trigger : f->number,
         why->sure == EXPLAIN_SURE_LIKELY);
}

static bool is_resumed(const struct explain_meaning *m)
{
    uint64_t silence_ns;
    for (unsigned i = 0; i < m->remark_count; i++)
        if (m->remarks[i].kind == EXPLAIN_FIND_CM_RETRY)
            return true;
    return explain_pause_of(m, &silence_ns) != EXPLAIN_CAUSE_NONE;
}

void explain_story_take(struct explain_story *story, const struct explain_packet *packet,
                        const struct explain_meaning *m)
{
    story->first_ns = story->packets++ ? story->first_ns : packet->time_ns;
    story->last_ns = max_u64(story->last_ns, packet->time_ns);
    if (packet->kind == EXPLAIN_OTHER) /* the other packets on the wire are no part of it */
        return;
    if (m->is_recapture)
        return;
    bool is_unread = packet->kind == EXPLAIN_ROCE && packet->verdict != ROCE_RX_TAKEN &&
                     packet->len_bytes < packet->wire_bytes;
    if (is_unread && !story->unread++)
        story->unread_number = packet->number;
    if (!story->explained++)
        story->explained_first_ns = story->explained_last_ns = packet->time_ns;
    if (packet->time_ns > story->explained_last_ns && is_resumed(m))
        story->idle_ns += packet->time_ns - story->explained_last_ns;
    story->explained_last_ns = max_u64(story->explained_last_ns, packet->time_ns);
    for (unsigned i = 0; i < m->remark_count; i++) {
        explain_story_finding(story, &m->remarks[i]);
        if (is_restart(&m->remarks[i]))
            note_restart(story, &m->remarks[i]);
    }
}

static uint64_t span_of(const struct explain_story *story)
{
    return story->explained ? story->explained_last_ns - story->explained_first_ns
                            : story->last_ns - story->first_ns;
}

/* --- the first sentence: the packets that were sent --- */

/* All flows together. */
struct sum {
    uint32_t flows, addrs;
    const struct explain_flow *only; /* if there is one */
    bool has_answers;                /* a service with answers to its requests */
    bool is_skewed;                  /* the clocks of a flow's directions differ */
    uint64_t requests, messages[2], bytes[2], again;
    struct nornic_addr addr[ADDRS_MAX];
};

static void add_addr(struct sum *sum, const struct nornic_addr *addr)
{
    for (uint32_t i = 0; i < sum->addrs; i++)
        if (memcmp(&sum->addr[i], addr, sizeof *addr) == 0)
            return;
    if (sum->addrs < ADDRS_MAX)
        sum->addr[sum->addrs++] = *addr;
}

static void add_up(struct sum *sum, const struct explain_analysis *analysis)
{
    const struct explain_forgotten *forgotten = explain_analysis_forgotten(analysis);
    *sum = (struct sum){.flows = forgotten->count,
                        .has_answers = forgotten->count,
                        .requests = forgotten->requests,
                        .messages = {forgotten->messages},
                        .bytes = {forgotten->carried_bytes},
                        .again = forgotten->retransmissions};
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis); i++) {
        const struct explain_flow *f = explain_analysis_flow(analysis, i);
        if (!f)
            continue;
        sum->only = sum->flows++ ? NULL : f;
        sum->is_skewed |= f->skew_ns != 0;
        sum->has_answers |= f->service != ROCE_SERVICE_UC && f->service != ROCE_SERVICE_UD;
        for (unsigned d = 0; d < 2; d++) {
            add_addr(sum, &f->addr[d]);
            sum->messages[d] += f->messages[d];
            sum->bytes[d] += f->carried_bytes[d];
            sum->requests += f->requests[d];
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

static void put_unread(struct explain_text *out, const struct explain_story *story)
{
    bool is_one = story->unread == 1;
    if (story->unread == story->explained)
        explain_put(out, is_one ? "The only RoCE packet is" : "All RoCE packets are");
    else
        explain_put_count(out, story->unread, "RoCE packet is", "RoCE packets are");
    explain_printf(out, " cut within %s headers (%s#%" PRIu64 "), so that no queue pair is known: ",
                   is_one ? "its" : "their", is_one ? "" : "first: ", story->unread_number);
}

static void put_no_flow(struct explain_text *out, const struct explain_story *story)
{
    if (story->unread)
        put_unread(out, story);
    else
        explain_put(out, "No connected queue pairs speak here: ");
    explain_put_count(out, story->packets, "packet", "packets");
}

/* Adds one flow. With answers alone in the capture, it is not known what they answer. */
static void put_flow(struct explain_text *out, const struct sum *sum)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    const struct explain_flow *f = sum->only;
    explain_printf(out, "%s sent ", nornic_addr_str(&f->addr[0], a));
    if (sum->has_answers && !sum->requests && !sum->messages[0] && f->packets[0] && !f->packets[1]) {
        explain_put_count(out, f->packets[0], "answer", "answers");
        explain_printf(out, " to %s", nornic_addr_str(&f->addr[1], b));
        return;
    }
    put_carried(out, sum, 0);
    explain_printf(out, " to %s", nornic_addr_str(&f->addr[1], b));
    if (!sum->messages[1])
        return;
    explain_put(out, ", which sent ");
    put_carried(out, sum, 1);
    explain_put(out, " back");
}

/* Packets that the capture holds more than once are counted once. */
static void put_twice(struct explain_text *out, const struct explain_analysis *analysis)
{
    const struct explain_seen_twice *twice = explain_analysis_twice(analysis);
    if (!twice->packets)
        return;
    explain_put(out, "; ");
    explain_put_count(out, twice->packets, "packet that the capture holds once more is",
                      "packets that the capture holds once more are");
    explain_printf(out, " left out (%s#%" PRIu64 ")", twice->packets == 1 ? "" : "first: ", twice->first);
}

static void put_what(struct explain_text *out, const struct explain_story *story, const struct sum *sum,
                     const struct explain_analysis *analysis)
{
    bool is_iwarp = !sum->flows && explain_story_iwarp(out, analysis);
    if (!sum->flows && !is_iwarp) {
        put_no_flow(out, story);
    } else if (sum->only) {
        put_flow(out, sum);
    } else if (sum->flows) {
        struct sum both = {.messages = {sum->messages[0] + sum->messages[1]},
                           .bytes = {sum->bytes[0] + sum->bytes[1]}};
        explain_put_count(out, sum->flows, "flow", "flows");
        explain_printf(out, " between %u%s addresses carried ", sum->addrs,
                       sum->addrs == ADDRS_MAX ? " or more" : "");
        put_carried(out, &both, 0);
    }
    explain_put(out, " in ");
    explain_put_duration(out, span_of(story));
    put_smc(out, analysis);
    if (sum->flows)
        explain_story_iwarp_too(out, analysis);
    if (sum->only && sum->has_answers && !sum->only->packets[0] != !sum->only->packets[1])
        explain_put(out, "; the other direction is not in this capture");
    put_twice(out, analysis);
    explain_put(out, ".");
}

/* --- the second: the errors --- */

/* "A", "A and B", "A, B and C": the parts that are counted. */
struct list {
    struct explain_text *out;
    unsigned left; /* parts that are still to come */
    bool has_any;
};

/* "4 NAKs (first: #3, 1 likely)"; of packets on their way also "1 perhaps". */
static void put_counted(struct explain_text *out, const struct explain_story_count *c, const char *one,
                        const char *many)
{
    explain_put_count(out, c->count, one, many);
    explain_printf(out, " (%s#%" PRIu64, c->count == 1 ? "" : "first: ", c->number);
    if (c->likely == c->count)
        explain_put(out, ", likely");
    else if (c->likely)
        explain_printf(out, ", %" PRIu64 " likely", c->likely);
    if (c->perhaps == c->count)
        explain_put(out, ", perhaps");
    else if (c->perhaps)
        explain_printf(out, ", %" PRIu64 " perhaps", c->perhaps);
    explain_put(out, ")");
}

static void put_part(struct list *list, const struct explain_story_count *c, const char *one,
                     const char *many)
{
    if (!c->count)
        return;
    explain_put(list->out, !list->has_any ? "" : list->left == 1 ? " and " : ", ");
    put_counted(list->out, c, one, many);
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
        {EXPLAIN_CAUSE_SELECTIVE_ACK, "selective acknowledgement", "selective acknowledgements"},
        {EXPLAIN_CAUSE_TIMEOUT, "timeout", "timeouts"},
        {EXPLAIN_CAUSE_STALE_TIMER, "timer that an answer should have stopped",
         "timers that answers should have stopped"},
        {EXPLAIN_CAUSE_IMPLIED_NAK, "answer that skipped another", "answers that skipped others"},
        {EXPLAIN_CAUSE_RNR, "receiver that was not ready", "times a receiver that was not ready"},
        {EXPLAIN_CAUSE_UNKNOWN, "cause that cannot be told", "causes that cannot be told"},
    };
    struct list list = {.out = out};
    for (unsigned i = 0; i < array_len(parts); i++)
        list.left += story->restarts[parts[i].cause].count != 0;
    explain_put_count(out, sum->again, "packet was", "packets were");
    explain_put(out, " sent again");
    if (sum->requests >= sum->again)
        explain_printf(out, ", %.*f %% of all requests,", sum->again * 10 < sum->requests ? 1 : 0,
                       100.0 * (double)sum->again / (double)sum->requests);
    if (list.left)
        explain_put(out, " because of ");
    for (unsigned i = 0; i < array_len(parts); i++)
        put_part(&list, &story->restarts[parts[i].cause], parts[i].one, parts[i].many);
}

/* Returns whether packets that were sent again, or the rest of the sentence, tell of these findings
 * already. */
static bool is_told_elsewhere(const struct explain_story *story, enum explain_finding_kind kind,
                              bool is_again)
{
    if (kind == EXPLAIN_FIND_PSN_GAP)
        return is_again || story->found[EXPLAIN_FIND_CAPTURE_GAP].count || story->missing > story->late;
    return is_again && (kind == EXPLAIN_FIND_NAK_SEQUENCE || kind == EXPLAIN_FIND_SELECTIVE_ACK ||
                        kind == EXPLAIN_FIND_RNR);
}

/* Tells of packets that never came, if nothing was sent again. */
static void put_missing(struct explain_text *out, const struct explain_story *story, bool is_again)
{
    if (is_again || story->missing <= story->late || story->found[EXPLAIN_FIND_CAPTURE_GAP].count)
        return;
    uint64_t count = story->missing - story->late;
    explain_put(out, out->len ? "; " : "");
    explain_put_count(out, count, "packet is missing", "packets are missing");
    explain_printf(out, " (%sbefore #%" PRIu64 ")",
                   count == 1 ? "" : "first: ", story->found[EXPLAIN_FIND_PSN_GAP].number);
}

/* The words of the story for findings of a kind, of one and of several, in this order. */
static const struct {
    enum explain_finding_kind kind;
    const char *one, *many;
} parts[] = {
    {EXPLAIN_FIND_NAK_SEQUENCE, "NAK says that a packet is missing", "NAKs say that packets are missing"},
    {EXPLAIN_FIND_SELECTIVE_ACK, "selective acknowledgement lacks a packet",
     "selective acknowledgements lack packets"},
    {EXPLAIN_FIND_PROBE, "probe asked what had come", "probes asked what had come"},
    {EXPLAIN_FIND_RNR, "packet found no receive", "packets found no receive"},
    {EXPLAIN_FIND_PSN_GAP, "gap is in the PSNs", "gaps are in the PSNs"}, /* filled later */
    {EXPLAIN_FIND_NAK_FATAL, "NAK ended a connection", "NAKs ended connections"},
    {EXPLAIN_FIND_ICRC, "packet has a bad ICRC", "packets have a bad ICRC"},
    {EXPLAIN_FIND_MALFORMED, "packet is malformed", "packets are malformed"},
    {EXPLAIN_FIND_VIOLATION, "rule is broken", "times a rule is broken"},
    {EXPLAIN_FIND_REORDERED, "packet was overtaken", "packets were overtaken"},
    {EXPLAIN_FIND_CAPTURE_GAP, "gap in a capture was none on the wire",
     "gaps in captures were none on the wire"},
    {EXPLAIN_FIND_MISSING_ACK, "request has no answer here", "requests have no answer here"},
    {EXPLAIN_FIND_GHOST_ACK, "answer is to nothing that is here", "answers are to nothing that is here"},
    {EXPLAIN_FIND_ECN_MARK, "packet was marked by a switch", "packets were marked by switches"},
    {EXPLAIN_FIND_CNP, "CNP asked to slow down", "CNPs asked to slow down"},
    {EXPLAIN_FIND_PAUSED, "time a flow stood still for a pause", "times a flow stood still for a pause"},
    {EXPLAIN_FIND_DCBX, "DCBX setting does not fit RoCE", "DCBX settings do not fit RoCE"},
    {EXPLAIN_FIND_CM_REJECT, "connection was rejected", "connections were rejected"},
    {EXPLAIN_FIND_CM_RETRY, "connection message was sent again", "connection messages were sent again"},
    {EXPLAIN_FIND_SMC_DECLINE, "SMC-R offer was declined: plain TCP",
     "SMC-R offers were declined: plain TCP"},
    {EXPLAIN_FIND_SMC_HANDSHAKE, "CLC message is wrong", "CLC messages are wrong"},
    {EXPLAIN_FIND_SMC_MESSAGE, "message is no LLC or CDC message that can be",
     "messages are no LLC or CDC messages that can be"},
    {EXPLAIN_FIND_SMC_LINK, "link is not what was announced", "links are not what was announced"},
    {EXPLAIN_FIND_SMC_LINK_GONE, "link was deleted", "links were deleted"},
    {EXPLAIN_FIND_SMC_REFUSED, "LLC request was refused", "LLC requests were refused"},
    {EXPLAIN_FIND_SMC_UNASKED, "LLC response has no request", "LLC responses have no request"},
    {EXPLAIN_FIND_SMC_UNANSWERED, "LLC request has no response", "LLC requests have no response"},
    {EXPLAIN_FIND_SMC_TOKEN, "CDC message is for no connection", "CDC messages are for no connection"},
    {EXPLAIN_FIND_SMC_SEQUENCE, "CDC message is out of sequence", "CDC messages are out of sequence"},
    {EXPLAIN_FIND_SMC_CURSOR, "cursor cannot be", "cursors cannot be"},
    {EXPLAIN_FIND_SMC_WRITE, "write is where none is allowed", "writes are where none is allowed"},
    {EXPLAIN_FIND_SMC_AFTER_CLOSE, "write is behind the end of sending",
     "writes are behind the end of sending"},
    {EXPLAIN_FIND_SMC_MOVED, "side of a connection moved to another link",
     "sides of connections moved to another link"},
    {EXPLAIN_FIND_SMC_LOST, "connection lost data in a failover", "times data was lost in a failover"},
    {EXPLAIN_FIND_SMC_ABORT, "connection was aborted", "connections were aborted"},
    {EXPLAIN_FIND_TCP_AGAIN, "segment was sent again by TCP, of which RDMAP sees nothing",
     "segments were sent again by TCP, of which RDMAP sees nothing"},
    {EXPLAIN_FIND_IWARP_GAP, "piece of an iWARP stream is not in this capture",
     "pieces of iWARP streams are not in this capture"},
    {EXPLAIN_FIND_IWARP_REFUSED, "iWARP connection was refused", "iWARP connections were refused"},
    {EXPLAIN_FIND_IWARP_SETUP, "MPA frame is wrong", "times an MPA frame is wrong"},
    {EXPLAIN_FIND_IWARP_EARLY, "FPDU came before its turn", "FPDUs came before their turn"},
    {EXPLAIN_FIND_IWARP_CRC, "FPDU has a bad CRC", "FPDUs have a bad CRC"},
    {EXPLAIN_FIND_IWARP_FRAMING, "FPDU cannot be", "FPDUs cannot be"},
    {EXPLAIN_FIND_IWARP_SEQUENCE, "MSN, MO or TO is out of sequence", "MSNs, MOs or TOs are out of sequence"},
    {EXPLAIN_FIND_IWARP_OPCODE, "segment is what its opcode forbids",
     "segments are what their opcodes forbid"},
    {EXPLAIN_FIND_IWARP_RESPONSE, "response answers nothing, or something else",
     "responses answer nothing, or something else"},
    {EXPLAIN_FIND_IWARP_LIMIT, "Read is more than was agreed", "Reads are more than was agreed"},
    {EXPLAIN_FIND_IWARP_TERMINATE, "stream was terminated", "streams were terminated"},
    {EXPLAIN_FIND_IWARP_AFTER_END, "message is behind a Terminate", "messages are behind a Terminate"},
    {EXPLAIN_FIND_IWARP_CUT_OFF, "stream ended within an FPDU", "streams ended within an FPDU"},
    {EXPLAIN_FIND_IWARP_UNANSWERED, "Read or atomic has no answer here",
     "Reads or atomics have no answer here"},
    {EXPLAIN_FIND_LOST_ON_WAY, "packet was lost on its way", "packets were lost on their way"},
    {EXPLAIN_FIND_DAMAGED_ON_WAY, "packet was damaged on its way", "packets were damaged on their way"},
};

static void put_further(struct explain_text *out, const struct explain_story *story, bool is_again)
{
    put_missing(out, story, is_again);
    for (unsigned i = 0; i < array_len(parts); i++) {
        const struct explain_story_count *c = &story->found[parts[i].kind];
        if (!c->count || is_told_elsewhere(story, parts[i].kind, is_again))
            continue;
        explain_put(out, out->len ? "; " : "");
        put_counted(out, c, parts[i].one, parts[i].many);
    }
}

/* One finding, however many answers there are. */
static void put_clocks(struct explain_text *out, const struct explain_story *story, const struct sum *sum)
{
    const struct explain_story_count *c = &story->found[EXPLAIN_FIND_CLOCKS];
    if (!c->count)
        return;
    explain_put(out, out->len ? "; " : "");
    explain_printf(out, "%s (#%" PRIu64 ")",
                   sum->is_skewed ? "the clocks of the two directions differ" : "records are out of order",
                   c->number);
}

/* Empty if there is nothing to tell. */
static void put_trouble(struct explain_text *out, const struct explain_story *story, const struct sum *sum,
                        const struct explain_analysis *analysis)
{
    if (sum->again)
        put_restarts(out, story, sum);
    else if (sum->flows ||
             (explain_analysis_iwarp_conn_count(analysis) && !story->found[EXPLAIN_FIND_TCP_AGAIN].count))
        explain_put(out, "Nothing was sent again");
    put_clocks(out, story, sum);
    put_further(out, story, sum->again);
    explain_put(out, out->len ? "." : "");
}

/* --- the third: the cost --- */

/* Of all flows that have numbers, and clocks that agree; of those with packets that the capture misses,
 * the operations that an answer of its own ended. False: some were left out for that. */
static bool gather(struct explain_latency *all, const struct explain_analysis *analysis,
                   const struct explain_numbers *numbers)
{
    uint64_t count = 0;
    *all = (struct explain_latency){0};
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis) && i <= EXPLAIN_NUMBERS_FLOWS; i++) {
        const struct explain_flow_numbers *n = explain_numbers_of(numbers, i);
        const struct explain_flow *f = explain_analysis_flow(analysis, i);
        for (unsigned d = 0; n && d < 2; d++) {
            if (f && explain_is_timed(f))
                explain_latency_merge(all, &n->way[d].latency, n->is_holey);
            count += n->way[d].latency.all.count + n->way[d].untimed;
        }
    }
    return all->all.count == count;
}

static void put_latency(struct explain_text *out, const struct explain_analysis *analysis,
                        const struct explain_numbers *numbers)
{
    static struct explain_latency all; /* 46 KiB */
    bool is_complete = gather(&all, analysis, numbers);
    explain_put(out, out->len ? "; " : "");
    if (!all.all.count) {
        explain_put(out, is_complete ? "no operation was answered in this capture"
                                     : "how long operations took cannot be told");
        return;
    }
    if (all.all.count == 1) {
        explain_put(out,
                    is_complete ? "the one operation took " : "the one operation with its own answer took ");
        explain_put_duration(out, all.all.max);
        return;
    }
    explain_printf(out, "half of the operations%s took at most ",
                   is_complete ? "" : " with an answer of their own");
    explain_put_duration(out, explain_latency_quantile(&all, 0.5));
    explain_put(out, ", the longest ");
    explain_put_duration(out, all.all.max);
}

static bool has_waits(const struct explain_story *story)
{
    return story->restarts[EXPLAIN_CAUSE_TIMEOUT].count || story->restarts[EXPLAIN_CAUSE_RNR].count ||
           story->restarts[EXPLAIN_CAUSE_UNKNOWN].count || story->found[EXPLAIN_FIND_CM_RETRY].count;
}

static void put_cost(struct explain_text *out, const struct explain_story *story, const struct sum *sum,
                     const struct explain_analysis *analysis, const struct explain_numbers *numbers)
{
    uint64_t span_ns = span_of(story);
    if (story->idle_ns && span_ns)
        explain_printf(out, "%.*f %% of the time nothing moved, as senders waited to try again",
                       story->idle_ns * 10 < span_ns ? 1 : 0,
                       100.0 * (double)story->idle_ns / (double)span_ns);
    else if (sum->flows && !has_waits(story))
        explain_put(out, "Nobody waited for a timeout");
    if (sum->has_answers)
        put_latency(out, analysis, numbers);
    if (out->len)
        out->bytes[0] = (char)toupper((unsigned char)out->bytes[0]);
    explain_put(out, out->len ? "." : "");
}

bool explain_story_sentence(struct explain_text *out, const struct explain_story *story,
                            const struct explain_analysis *analysis, const struct explain_numbers *numbers,
                            unsigned i)
{
    struct explain_text sentence = {0};
    struct sum sum;
    add_up(&sum, analysis);
    if (i >= EXPLAIN_STORY_SENTENCES || !story->packets)
        return false;
    if (i == 0)
        put_what(&sentence, story, &sum, analysis);
    else if (i == 1)
        put_trouble(&sentence, story, &sum, analysis);
    else
        put_cost(&sentence, story, &sum, analysis, numbers);
    bool has_any = sentence.len;
    if (has_any)
        explain_put(out, sentence.bytes);
    explain_text_free(&sentence);
    return has_any;
}
