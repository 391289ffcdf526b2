/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that comes again with every byte that no hop changes, its IPv4 identification among them, was sent
 * once, if its sender counts identifications: somebody copied it. What tells who:
 *
 *   - Other tags, hops left, MAC addresses, link or interface: the capture sees the packet at two places of
 *     its way. A copy that the network makes goes the way of the original.
 *   - Nearly all packets between two ends come twice: the capture does it. A few of many: the network does.
 *   - What came before comes again in its order, far behind: the capture was appended to itself.
 *
 * Where a sender does not count (IPv6 has no identification), what it sends again has the same bytes as
 * well. But it does so only when it was asked to, or when its timer has run out: what comes at once, and
 * before anything came from the other end, is a copy. So is what bears the time of the original, or comes as
 * late behind it as the packet before it came behind its own.
 *
 * Memory is bounded: the newest packets are remembered in a ring, and the senders in a table in which one may
 * take another's place. */
#include "explain/flow/twice/twice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/flow/half/ids.h"
#include "explain/flow/twice/identity.h"
#include "explain/flow/twice/seen.h"
#include "explain/packet/sender.h"

#define WAYS          256
#define SURE_PACKETS  8                 /* so many tell whether all come twice, */
#define MINOR_PACKETS 16                /* and so many that only few do */
#define SHARE_MOST    32                /* packets between two ends that are looked at, */
#define LOOK_BACK     128               /* among so many */
#define RUN_SURE      4                 /* packets in a row that come again in their order, far behind, */
#define RUN_LONG      16                /* and wherever it is */
#define RUN_STEP      8                 /* the order of two captures of the same differs by so much */
#define AT_ONCE_NS    (10 * NS_PER_US)  /* no ack timer and no RNR timer is shorter */
#define SOON_NS       (500 * NS_PER_US) /* no sender's timer runs out before */
#define ELSEWHERE_NS  (2 * NS_PER_MS)   /* between two places of a packet's way */
#define FAR_NS        (200 * NS_PER_MS) /* no network keeps a copy for so long */
#define ROUND_NS      INT64_C(1000)     /* times of captures are rounded to it */

/* The packets from one address to another. */
struct way {
    uint64_t key;
    struct explain_ids ids;
    uint64_t newest_number; /* of the newest packet that is no repetition */
    uint32_t newest_seen;   /* and its entry */
    uint64_t resent_number; /* of the newest that was there before, and was sent again */
    uint32_t datagram_psn;  /* of the newest datagram */
    bool counts_datagrams;  /* their PSNs go up: none has that of another */
};

/* Of packets shortly before one. */
struct share {
    unsigned packets, twice, thrice, elsewhere; /* seen at one place so often; seen at two */
};

struct explain_twice {
    enum explain_copies copies;
    struct explain_seen_ring ring;
    struct way ways[WAYS];
    uint64_t newest_ns;          /* the latest time of a packet */
    struct explain_seen *newest; /* the entry of the packet at hand, if it is new */
    uint32_t run,
        run_at;        /* packets before this one that came again in their order, and the entry of the last */
    int64_t behind_ns; /* so long behind itself it came, */
    uint32_t behind_as_often; /* and so many in a row did */
    bool is_told;
    struct explain_seen_twice sum, undecided;
};

enum verdict {
    NEW,     /* or sent again */
    COPY,    /* that the network made */
    UNKNOWN, /* who made it */
    ELSEWHERE,
    REPEATED, /* nearly all packets are */
    APPENDED,
};

static struct explain_seen *entry(const struct explain_twice *t, uint32_t seq)
{
    return explain_seen_at(&t->ring, seq);
}

static void begin(struct explain_seen *s, const struct explain_packet *p, const struct explain_view *view)
{
    s->number = p->number;
    s->time_ns = p->time_ns;
    s->view = *view;
    s->views[0] = view->hash;
    s->counts[0] = 1;
    s->view_count = 1;
}

/* --- ways --- */

static struct way *way_of(struct explain_twice *t, uint64_t key)
{
    struct way *w = &t->ways[key >> 16 & (WAYS - 1)];
    if (w->key != key)
        *w = (struct way){.key = key};
    return w;
}

static void count_in(struct share *share, const struct explain_seen *s)
{
    share->packets++;
    share->twice += s->counts[0] > 1;
    share->thrice += s->counts[0] > 2;
    share->elsewhere += s->view_count > 1;
}

/* The packets before that entry, whose copies came before this one's, if they have any: those between the
 * same ends, or where these are too few, all. */
static struct share share_before(const struct explain_twice *t, uint32_t seq)
{
    struct share way = {0}, all = {0};
    uint32_t way_key = entry(t, seq)->way,
             oldest = t->ring.next > t->ring.size ? t->ring.next - t->ring.size : 0;
    uint32_t since = entry(t, seq)->since;
    for (uint32_t i = since; i > oldest && since - i < LOOK_BACK && way.packets < SHARE_MOST; i--) {
        if (i - 1 == seq)
            continue;
        count_in(&all, entry(t, i - 1));
        if (entry(t, i - 1)->way == way_key)
            count_in(&way, entry(t, i - 1));
    }
    return way.packets >= MINOR_PACKETS ? way : all;
}

/* How often the capture sees each packet at one place; 1: once, or it is not sure. */
static unsigned usual_times(const struct share *share)
{
    if (share->packets < SURE_PACKETS)
        return 1;
    return 4 * share->thrice >= 3 * share->packets ? 3 : 4 * share->twice >= 3 * share->packets ? 2 : 1;
}

/* --- who made it --- */

static uint64_t apart_ns(const struct explain_seen *s, const struct explain_packet *p)
{
    return p->time_ns > s->time_ns ? p->time_ns - s->time_ns : s->time_ns - p->time_ns;
}

/* Whether no sender sends these bytes twice: each of its packets has another identification, or, of a
 * datagram, another PSN. A socket counts the packets of a train from 0, whatever others of its host do. */
static bool is_unique(const struct way *w, const struct explain_packet *p, const struct explain_identity *id)
{
    bool is_datagram = p->verdict == ROCE_RX_TAKEN && p->roce.op->flags & ROCE_PKT_DETH;
    if (is_datagram && (id->ip_id || p->roce.bth.psn || w->counts_datagrams))
        return true;
    bool is_of_socket = p->verdict == ROCE_RX_TAKEN && !explain_is_own_port(p->roce.src_port);
    return id->has_ip_id && !is_of_socket && explain_ids_count(&w->ids) != EXPLAIN_SURE_UNKNOWN;
}

static int64_t behind_ns(const struct explain_twice *t, uint32_t seq, const struct explain_packet *p)
{
    return (int64_t)(p->time_ns - entry(t, seq)->time_ns);
}

/* As far behind as the packet before it was behind its own. */
static bool is_as_far_behind(const struct explain_twice *t, int64_t ns)
{
    return t->run && ns - t->behind_ns <= ROUND_NS && t->behind_ns - ns <= ROUND_NS;
}

/* Whether it is of a stretch of the capture that is there again: with the same times, or moved as a whole. */
static bool is_moved(const struct explain_twice *t, uint32_t seq, const struct explain_packet *p)
{
    int64_t ns = behind_ns(t, seq, p);
    if (ns == 0 && p->time_ns < t->newest_ns)
        return true;
    bool is_late = ns > (int64_t)ELSEWHERE_NS || ns < -(int64_t)ELSEWHERE_NS;
    return is_late && seq == t->run_at + 1 && is_as_far_behind(t, ns);
}

/* Whether it comes too soon behind `s` to have been sent again. Of the answers to one request there may be
 * two at once, if the request came twice: they count where all came twice before. */
static bool is_too_soon(const struct explain_twice *t, const struct way *w, const struct explain_seen *s,
                        uint32_t seq, const struct explain_packet *p, const struct explain_identity *id)
{
    uint64_t ns = apart_ns(s, p);
    uint32_t flags = p->verdict == ROCE_RX_TAKEN ? p->roce.op->flags : 0;
    const struct way *back = &t->ways[id->back >> 16 & (WAYS - 1)];
    if (flags & ROCE_PKT_CNP || ns > SOON_NS || t->copies != EXPLAIN_COPIES_BY_TIME)
        return false; /* of CNPs all are alike */
    bool is_next = w->newest_seen == seq, is_quiet = back->key == id->back && back->newest_number < s->number;
    if (is_next && (ns <= AT_ONCE_NS || is_quiet) && !(flags & ROCE_PKT_RESPONSE))
        return true;
    struct share share = share_before(t, seq);
    if (is_next && flags & ROCE_PKT_RESPONSE)
        return share.packets && 4 * share.twice >= 3 * share.packets;
    return is_quiet && w->resent_number < s->number && usual_times(&share) > 1;
}

/* The packets before this one came again in their order, up to `seq`. */
static void count_run(struct explain_twice *t, uint32_t seq, const struct explain_packet *p)
{
    int64_t ns = behind_ns(t, seq, p);
    t->behind_as_often = is_as_far_behind(t, ns) ? t->behind_as_often + 1 : 1;
    t->behind_ns = ns;
    bool goes_on = t->run && seq - t->run_at + RUN_STEP <= 2 * RUN_STEP;
    t->run = goes_on ? t->run + (seq != t->run_at) : 1;
    t->run_at = seq;
}

static unsigned place_of(struct explain_seen *s, const struct explain_view *view)
{
    unsigned i = 0;
    while (i < s->view_count && s->views[i] != view->hash)
        i++;
    if (i == EXPLAIN_VIEWS_MAX)
        return i - 1;
    if (i == s->view_count) {
        s->views[s->view_count++] = view->hash;
        s->counts[i] = 0;
    }
    return i;
}

/* Seen once more where it was seen before: the `times`-th time. */
static enum verdict judge_repeated(const struct explain_twice *t, const struct share *share, uint32_t seq,
                                   unsigned times, const struct explain_packet *p)
{
    const struct explain_seen *s = entry(t, seq);
    bool is_far = apart_ns(s, p) > FAR_NS || p->time_ns + ELSEWHERE_NS < t->newest_ns ||
                  (apart_ns(s, p) > ELSEWHERE_NS && t->behind_as_often >= RUN_SURE);
    unsigned usual = usual_times(share);
    if (is_far || (t->run >= RUN_LONG && usual == 1 && t->ring.next - s->since > RUN_LONG))
        return APPENDED;
    if (usual > 1)
        return (times - 1) % usual ? REPEATED : COPY;
    return share->packets >= MINOR_PACKETS && 3 * share->twice <= share->packets &&
                   t->ring.next - s->since <= EXPLAIN_SEEN_LEAST
               ? COPY
               : UNKNOWN;
}

static unsigned most_elsewhere(const struct explain_seen *s, unsigned place)
{
    unsigned most = 0;
    for (unsigned i = 0; i < s->view_count; i++)
        most = i != place && s->counts[i] > most ? s->counts[i] : most;
    return most;
}

static enum verdict judge(struct explain_twice *t, const struct way *w, struct explain_seen *s, uint32_t seq,
                          const struct explain_packet *p, const struct explain_identity *id,
                          const struct explain_view *view)
{
    bool is_unique_one = is_unique(w, p, id) || is_moved(t, seq, p),
         is_soon = is_too_soon(t, w, s, seq, p, id);
    unsigned views = s->view_count, place = place_of(s, view);
    if (place >= views) {
        bool is_late = t->copies == EXPLAIN_COPIES_BY_TIME && apart_ns(s, p) > ELSEWHERE_NS;
        if (!is_unique_one && is_late) {
            s->view_count = (uint8_t)views;
            return NEW;
        }
        s->counts[place] = 1;
        count_run(t, seq, p);
        return ELSEWHERE;
    }
    if (!is_unique_one && !is_soon)
        return NEW;
    count_run(t, seq, p);
    unsigned times = ++s->counts[place];
    if (times <= most_elsewhere(s, place))
        return ELSEWHERE; /* what was copied before came here too */
    struct share share = share_before(t, seq);
    return judge_repeated(t, &share, seq, times, p);
}

/* --- what is said --- */

/* How the packet differs from where it was seen first. */
static const char *difference(const struct explain_seen *s, const struct explain_view *view, char *text,
                              size_t size)
{
    if (s->view.vlan != view->vlan && view->vlan == EXPLAIN_NO_VLAN)
        snprintf(text, size, "without the VLAN tag");
    else if (s->view.vlan != view->vlan)
        snprintf(text, size, "in VLAN %u", view->vlan);
    else if (s->view.hops_left != view->hops_left)
        snprintf(text, size, "with TTL %u, not %u", view->hops_left, s->view.hops_left);
    else if (s->view.interface != view->interface || s->view.link != view->link)
        snprintf(text, size, "on another interface");
    else
        snprintf(text, size, "with other link addresses");
    return text;
}

static void tell(struct explain_meaning *m, enum explain_finding_kind kind, enum explain_cause cause,
                 enum explain_sure sure, const struct explain_seen *s, const char *words)
{
    struct explain_why why = {.cause = cause, .sure = sure};
    explain_why_prove(&why, s->number, "the same packet");
    explain_because(explain_remark(m, kind, "", 0, s->number, "%s", words), &why);
}

static bool is_sure(const struct explain_twice *t, enum verdict verdict, uint32_t seq)
{
    if (verdict != ELSEWHERE)
        return verdict == REPEATED || t->run >= RUN_SURE;
    struct share share = share_before(t, seq);
    return share.packets >= SURE_PACKETS && 2 * share.elsewhere >= share.packets;
}

/* Whether it may have been sent again, and have been changed on its way where no ICRC looks: nothing but what
 * differs tells it from that, and no packet before it was seen elsewhere. */
static bool may_be_changed(const struct explain_twice *t, enum verdict verdict, uint32_t seq,
                           enum explain_cause again)
{
    return verdict == ELSEWHERE && again != EXPLAIN_CAUSE_NONE && share_before(t, seq).elsewhere == 0;
}

/* Returns the cause if the sender sent these bytes twice; NONE: this sender does not do so. */
static enum explain_cause if_sent(const struct way *w, const struct explain_packet *p,
                                  const struct explain_identity *id)
{
    if (is_unique(w, p, id))
        return EXPLAIN_CAUSE_NONE;
    bool is_answer = p->verdict == ROCE_RX_TAKEN && p->roce.op->flags & ROCE_PKT_RESPONSE;
    return is_answer ? EXPLAIN_CAUSE_ASKED_AGAIN : EXPLAIN_CAUSE_SENT_AGAIN;
}

/* Told once of a capture; before it is sure, of each packet. */
static void tell_recapture(struct explain_twice *t, enum verdict verdict, uint32_t seq,
                           enum explain_cause again, struct explain_meaning *m)
{
    const struct explain_seen *s = entry(t, seq);
    char words[160];
    if (t->is_told)
        return;
    if (may_be_changed(t, verdict, seq, again)) {
        struct explain_why why = {0};
        explain_why_doubt(&why, EXPLAIN_CAUSE_CAPTURED_TWICE, again, EXPLAIN_CAUSE_COPIED);
        explain_why_prove(&why, s->number, "the same packet");
        explain_because(explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, s->number,
                                       "the same packet twice: the capture has it in #%" PRIu64
                                       " already, or it was sent again, and changed on its way",
                                       s->number),
                        &why);
        return;
    }
    if (!is_sure(t, verdict, seq)) {
        snprintf(words, sizeof words, "the same packet twice: the capture has it in #%" PRIu64 " already",
                 s->number);
        tell(m, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_CAPTURED_TWICE, EXPLAIN_SURE_LIKELY, s, words);
        return;
    }
    t->is_told = true;
    snprintf(words, sizeof words,
             verdict == APPENDED ? "packets from about #%" PRIu64 " on come again as a whole: counted once"
                                 : "the capture sees packets twice, such as #%" PRIu64 ": counted once",
             s->number);
    tell(m, EXPLAIN_FIND_CAPTURED_TWICE, EXPLAIN_CAUSE_CAPTURED_TWICE, EXPLAIN_SURE_SHOWN, s, words);
}

static void say(struct explain_twice *t, enum verdict verdict, uint32_t seq, enum explain_cause again,
                const struct explain_view *view, struct explain_meaning *m)
{
    const struct explain_seen *s = entry(t, seq);
    char how[40], words[160];
    m->flow = s->flow;
    m->direction = s->direction;
    m->answers = s->number;
    m->is_copy = true;
    m->is_recapture = verdict >= ELSEWHERE;
    if (verdict == ELSEWHERE)
        snprintf(m->words, sizeof m->words, "#%" PRIu64 " again, %s", s->number,
                 difference(s, view, how, sizeof how));
    else
        snprintf(m->words, sizeof m->words, "#%" PRIu64 " again, the same packet twice", s->number);
    if (m->is_recapture) {
        tell_recapture(t, verdict, seq, again, m);
    } else if (verdict == COPY) {
        snprintf(words, sizeof words, "the network made a copy of #%" PRIu64, s->number);
        tell(m, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_COPIED, EXPLAIN_SURE_LIKELY, s, words);
    } else {
        snprintf(words, sizeof words,
                 "the same packet twice: #%" PRIu64 "; the network or the capture copied it", s->number);
        tell(m, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_UNKNOWN, EXPLAIN_SURE_UNKNOWN, s, words);
    }
}

/* Counts a packet. An undecided packet is decided when all packets turn out to come twice. */
static void add_up(struct explain_twice *t, enum verdict verdict, const struct explain_seen *s,
                   const struct explain_packet *p)
{
    struct explain_seen_twice *sum = verdict == UNKNOWN ? &t->undecided : &t->sum;
    if (verdict == COPY)
        return;
    if (sum->packets++ == 0) {
        sum->first = p->number;
        sum->of = s->number;
    }
    sum->elsewhere += verdict == ELSEWHERE;
    sum->repeated += verdict == APPENDED;
    if (verdict != REPEATED || !t->undecided.packets)
        return;
    sum->packets += t->undecided.packets;
    if (t->undecided.first < sum->first) {
        sum->first = t->undecided.first;
        sum->of = t->undecided.of;
    }
    t->undecided.packets = 0;
}

/* A new packet, or one that was sent again. */
static void note(struct explain_twice *t, struct way *w, struct explain_seen *s, uint32_t seq,
                 const struct explain_packet *p, const struct explain_identity *id,
                 const struct explain_view *view)
{
    t->run = 0;
    t->newest = s ? s : explain_seen_add(&t->ring, id);
    if (!t->newest)
        return;
    begin(t->newest, p, view);
    t->newest->since = s ? t->ring.next : t->ring.next - 1;
    w->newest_number = p->number;
    if (s)
        w->resent_number = p->number;
    else
        explain_ids_learn(&w->ids, id->ip_id);
    if (!s && p->verdict == ROCE_RX_TAKEN && p->roce.op->flags & ROCE_PKT_DETH) {
        w->counts_datagrams |= p->roce.bth.psn > w->datagram_psn;
        w->datagram_psn = p->roce.bth.psn;
    }
    w->newest_seen = s ? seq : t->ring.next - 1;
}

bool explain_twice_take(struct explain_twice *t, const struct explain_packet *p, struct explain_meaning *m)
{
    struct explain_identity id;
    uint32_t seq = 0;
    t->newest = NULL;
    if (t->copies == EXPLAIN_COPIES_NONE || !explain_identify(p, &id))
        return false;
    struct explain_view view = explain_view_of(p);
    struct way *w = way_of(t, id.way);
    struct explain_seen *s = explain_seen_find(&t->ring, &id, &seq);
    enum verdict verdict = s ? judge(t, w, s, seq, p, &id, &view) : NEW;
    t->newest_ns = max_u64(t->newest_ns, p->time_ns);
    if (verdict == NEW) {
        note(t, w, s, seq, p, &id, &view);
        return false;
    }
    bool is_told_elsewhere = verdict == COPY && t->copies == EXPLAIN_COPIES_BY_TIME &&
                             p->kind == EXPLAIN_ROCE && p->verdict == ROCE_RX_TAKEN &&
                             !(p->roce.op->flags & ROCE_PKT_DETH);
    if (is_told_elsewhere)
        return false;
    say(t, verdict, seq, if_sent(w, p, &id), &view, m);
    add_up(t, verdict, s, p);
    return true;
}

void explain_twice_learn(struct explain_twice *t, const struct explain_meaning *m)
{
    if (!t->newest)
        return;
    t->newest->flow = m->flow;
    t->newest->direction = (uint8_t)m->direction;
}

const struct explain_seen_twice *explain_twice_sum(const struct explain_twice *t)
{
    return &t->sum;
}

struct explain_twice *explain_twice_create(enum explain_copies copies)
{
    struct explain_twice *t = calloc(1, sizeof *t);
    if (t)
        t->copies = copies;
    return t;
}

void explain_twice_destroy(struct explain_twice *t)
{
    if (!t)
        return;
    explain_seen_free(&t->ring);
    free(t);
}
