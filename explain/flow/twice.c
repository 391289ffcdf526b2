/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that comes again with every byte that no hop changes, its IPv4 identification among them, was sent
 * once, if its sender counts identifications: somebody copied it. What tells who:
 *
 *   - Other tags, hops left, MAC addresses, link or interface: the capture sees the packet at two places of its
 *     way. A copy that the network makes goes the way of the original.
 *   - Nearly all packets between two ends come twice: the capture does it. A few of many: the network does.
 *   - What came before comes again in its order, far behind: the capture was appended to itself.
 *
 * Where a sender does not count (IPv6 has no identification), what it sends again has the same bytes as well. But
 * it does so only when it was asked to, or when its timer has run out: what comes at once, and before anything
 * came from the other end, is a copy.
 *
 * Memory is bounded: the newest packets are remembered in a ring, and the senders in a table in which one may
 * take another's place. */
#include "explain/flow/twice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/flow/ids.h"
#include "net/bytes.h"

#define SEEN_LEAST     64
#define SEEN_MOST      65536
#define WAYS           256
#define VIEWS_MAX      4
#define SURE_PACKETS   8  /* so many tell whether all come twice, */
#define MINOR_PACKETS  16 /* and so many that only few do */
#define HALVED_AT      4096
#define RUN_SURE       4  /* packets in a row that come again in their order, far behind, */
#define RUN_LONG       16 /* and wherever it is */
#define RUN_STEP       8  /* the order of two captures of the same differs by so much */
#define DATA_BYTES     64
#define AT_ONCE_NS     (10 * NS_PER_US)  /* no ack timer and no RNR timer is shorter */
#define SOON_NS        (500 * NS_PER_US) /* no sender's timer runs out before */
#define ELSEWHERE_NS   (2 * NS_PER_MS)   /* between two places of a packet's way */
#define FAR_NS         (200 * NS_PER_MS) /* no network keeps a copy for so long */
#define NO_VLAN        UINT16_MAX
#define BTH_CONGESTION 4 /* the byte of the BTH whose bits a switch may set */

/* Where a packet was seen. */
struct view {
    uint32_t hash; /* of all of it */
    uint32_t interface;
    uint16_t vlan; /* the outermost tag; NO_VLAN: none */
    uint8_t link, hops_left;
};

/* A packet that was seen. */
struct seen {
    uint64_t digest, number, time_ns; /* number 0: the slot is free */
    uint32_t flow;
    uint32_t below; /* in a chain: the sequence number of the next entry + 1 */
    uint32_t views[VIEWS_MAX];
    uint16_t counts[VIEWS_MAX]; /* how often it was seen there */
    struct view view;           /* the first */
    uint8_t view_count, direction;
};

/* The packets from one address to another. */
struct way {
    uint64_t key;
    struct explain_ids ids;
    uint32_t distinct;      /* packets, each counted once */
    uint32_t repeated[2];   /* of them: seen twice at one place, and three times */
    uint32_t elsewhere;     /* seen at two places */
    uint64_t newest_number; /* of the newest packet that is no repetition */
    uint32_t newest_seen;   /* and its entry */
};

struct explain_twice {
    struct seen *ring; /* `size` of them, a power of two; entry s is at s mod size */
    uint32_t *chains;  /* by digest: the sequence number of the newest entry + 1 */
    uint32_t size;
    uint32_t next; /* sequence number of the next entry */
    struct way ways[WAYS], all;
    struct seen *newest; /* the entry of the packet at hand, if it is new */
    uint32_t run,
        run_at; /* packets before this one that came again in their order, and the entry of the last */
    bool is_told;
    struct explain_seen_twice sum;
};

/* What a packet is, apart from where it was seen. */
struct identity {
    uint64_t digest;
    uint64_t way, back; /* keys */
    uint16_t ip_id;
    bool has_ip_id;
};

enum verdict {
    NEW,     /* or sent again */
    COPY,    /* that the network made */
    UNKNOWN, /* who made it */
    ELSEWHERE,
    REPEATED, /* nearly all packets are */
    APPENDED,
};

/* --- hashes --- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, uint32_t n)
{
    uint64_t word;
    for (; n >= 8; n -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = mix(hash, word);
    }
    word = n;
    for (uint32_t i = 0; i < n; i++)
        word = word << 8 | bytes[i];
    return mix(hash, word);
}

/* --- what a packet is --- */

static const struct explain_layer *layer_of(const struct explain_packet *p, unsigned from,
                                            enum explain_layer_id id)
{
    for (unsigned i = from; i < p->layer_count; i++)
        if (p->layers[i].kind->id == id)
            return &p->layers[i];
    return NULL;
}

static bool is_network_layer(const struct explain_layer *layer)
{
    enum explain_layer_id id = layer->kind->id;
    return id == EXPLAIN_LAYER_IP || id == EXPLAIN_LAYER_IP6 || id == EXPLAIN_LAYER_GRH;
}

/* The header with the addresses: of IPv4, IPv6, or a GRH. */
static const struct explain_layer *network_layer(const struct explain_packet *p)
{
    if (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM)
        return p->l3_layer < p->layer_count && is_network_layer(&p->layers[p->l3_layer])
                   ? &p->layers[p->l3_layer]
                   : NULL;
    for (unsigned i = p->layer_count; i > 0; i--)
        if (is_network_layer(&p->layers[i - 1]))
            return &p->layers[i - 1];
    return NULL;
}

/* Behind the network header: the UDP checksum is left out, which a host may leave to its card. */
static uint64_t mix_rest(uint64_t h, const struct explain_packet *p, uint32_t at)
{
    const struct explain_layer *bth = layer_of(p, 0, EXPLAIN_LAYER_BTH);
    uint32_t end =
        p->payload_offset >= at && p->payload_offset <= p->len_bytes ? p->payload_offset : p->len_bytes;
    bool is_good = p->verdict == ROCE_RX_TAKEN;
    if (!bth || !is_good || bth->offset + BTH_CONGESTION >= end)
        return mix_bytes(h, p->frame + at, p->len_bytes - at);
    h = mix_bytes(mix(h, p->roce.src_port), p->frame + bth->offset, BTH_CONGESTION);
    h = mix_bytes(h, p->frame + bth->offset + BTH_CONGESTION + 1, end - bth->offset - BTH_CONGESTION - 1);
    h = mix_bytes(h, p->frame + end, min_u32(p->len_bytes - end, DATA_BYTES));
    return mix(h, explain_has_icrc(p) ? p->roce.icrc_found : 0);
}

/* False: it has no part in RDMA, or nothing that tells it from others. */
static bool identify(const struct explain_packet *p, struct identity *id)
{
    const struct explain_layer *l3 = network_layer(p);
    if (!l3 || (p->kind != EXPLAIN_ROCE && p->kind != EXPLAIN_CM && p->kind != EXPLAIN_SMC_TCP))
        return false;
    const uint8_t *at = p->frame + l3->offset;
    bool is_v4 = l3->kind->id == EXPLAIN_LAYER_IP;
    uint32_t header = is_v4 ? 4 * (at[0] & 15u) : 40, addr = is_v4 ? 12 : 8, addr_bytes = is_v4 ? 4 : 16;
    if (l3->offset + header > p->len_bytes || header < (is_v4 ? 20u : 40u))
        return false;
    uint64_t network = (uint64_t)p->network.id << 8 | p->network.tunnel << 1 | (p->kind == EXPLAIN_SMC_TCP);
    id->way = mix_bytes(mix_bytes(network, at + addr, addr_bytes), at + addr + addr_bytes, addr_bytes);
    id->back = mix_bytes(mix_bytes(network, at + addr + addr_bytes, addr_bytes), at + addr, addr_bytes);
    id->has_ip_id = is_v4;
    id->ip_id = is_v4 ? get_be16(at + 4) : 0;
    id->digest = mix_rest(mix(mix(id->way, id->ip_id), is_v4 ? get_be16(at + 2) : get_be16(at + 4)), p,
                          l3->offset + header);
    return true;
}

static struct view view_of(const struct explain_packet *p)
{
    const struct explain_layer *vlan = layer_of(p, 0, EXPLAIN_LAYER_VLAN), *l3 = network_layer(p);
    unsigned first = 0;
    while (!is_network_layer(&p->layers[first]))
        first++;
    bool is_v4 = l3->kind->id == EXPLAIN_LAYER_IP;
    struct view v = {.interface = p->interface,
                     .vlan = vlan ? get_be16(p->frame + vlan->offset) & 0xfff : NO_VLAN,
                     .link = (uint8_t)p->link,
                     .hops_left = p->frame[l3->offset + (is_v4 ? 8 : 7)]};
    uint64_t h = mix_bytes(v.link, p->frame, p->layers[first].offset);
    v.hash = (uint32_t)(mix(h, (uint64_t)v.interface << 8 | v.hops_left) >> 32);
    return v;
}

/* --- the ring --- */

static struct seen *entry(const struct explain_twice *t, uint32_t seq)
{
    return &t->ring[seq & (t->size - 1)];
}

static uint32_t *chain_of(const struct explain_twice *t, uint64_t digest)
{
    return &t->chains[digest & (t->size - 1)];
}

static void hang(struct explain_twice *t, uint32_t seq)
{
    uint32_t *chain = chain_of(t, entry(t, seq)->digest);
    entry(t, seq)->below = *chain;
    *chain = seq + 1;
}

/* It is the oldest, and so the last of its chain. */
static void unhang(struct explain_twice *t, uint32_t seq)
{
    uint32_t *at = chain_of(t, entry(t, seq)->digest);
    while (*at && *at != seq + 1)
        at = &entry(t, *at - 1)->below;
    *at = 0;
}

static bool grow(struct explain_twice *t)
{
    uint32_t size = t->size ? 2 * t->size : SEEN_LEAST, old = t->size;
    struct seen *ring = calloc(size, sizeof *ring), *before = t->ring;
    uint32_t *chains = calloc(size, sizeof *chains);
    if (!ring || !chains) {
        free(ring);
        free(chains);
        return false;
    }
    free(t->chains);
    t->ring = ring;
    t->chains = chains;
    t->size = size;
    for (uint32_t seq = t->next - old; seq != t->next; seq++) {
        ring[seq & (size - 1)] = before[seq & (old - 1)];
        hang(t, seq);
    }
    free(before);
    return true;
}

static struct seen *find(const struct explain_twice *t, uint64_t digest, uint32_t *seq)
{
    for (uint32_t at = *chain_of(t, digest); at; at = entry(t, at - 1)->below)
        if (entry(t, at - 1)->digest == digest) {
            *seq = at - 1;
            return entry(t, *seq);
        }
    return NULL;
}

static void begin(struct seen *s, const struct explain_packet *p, const struct view *view)
{
    s->number = p->number;
    s->time_ns = p->time_ns;
    s->view = *view;
    s->views[0] = view->hash;
    s->counts[0] = 1;
    s->view_count = 1;
}

static struct seen *add(struct explain_twice *t, uint64_t digest)
{
    if (t->next >= t->size && t->size < SEEN_MOST && !grow(t) && t->size == 0)
        return NULL;
    if (entry(t, t->next)->number)
        unhang(t, t->next);
    *entry(t, t->next) = (struct seen){.digest = digest};
    hang(t, t->next);
    return entry(t, t->next++);
}

/* --- ways --- */

static struct way *way_of(struct explain_twice *t, uint64_t key)
{
    struct way *w = &t->ways[key >> 16 & (WAYS - 1)];
    if (w->key != key)
        *w = (struct way){.key = key};
    return w;
}

static void halve(struct way *w)
{
    if (w->distinct < HALVED_AT)
        return;
    w->distinct /= 2;
    w->elsewhere /= 2;
    w->repeated[0] /= 2;
    w->repeated[1] /= 2;
}

/* The packets between these ends, or where these are too few, all. */
static const struct way *witness(const struct explain_twice *t, const struct way *w)
{
    return w->distinct >= MINOR_PACKETS || t->all.distinct < 2 * w->distinct ? w : &t->all;
}

/* Whether nearly every packet is seen `times` times at one place (2 or more). */
static bool are_repeated(const struct way *w, unsigned times)
{
    return times <= 3 && w->distinct >= SURE_PACKETS && 4 * w->repeated[times - 2] >= 3 * (w->distinct - 1);
}

static bool are_few(const struct way *w)
{
    return w->distinct >= MINOR_PACKETS && 3 * w->repeated[0] <= w->distinct;
}

/* --- who made it --- */

static uint64_t apart_ns(const struct seen *s, const struct explain_packet *p)
{
    return p->time_ns > s->time_ns ? p->time_ns - s->time_ns : s->time_ns - p->time_ns;
}

/* Whether no sender sends these bytes twice: each of its packets has another identification, or, of a datagram,
 * another PSN (ROCE-UD-1). */
static bool is_unique(const struct way *w, const struct explain_packet *p, const struct identity *id)
{
    bool is_datagram = p->verdict == ROCE_RX_TAKEN && p->roce.op->flags & ROCE_PKT_DETH;
    if (is_datagram && (id->ip_id || p->roce.bth.psn))
        return true;
    return id->has_ip_id && explain_ids_count(&w->ids) != EXPLAIN_SURE_UNKNOWN;
}

/* Whether it comes too soon behind `s` to have been sent again. */
static bool is_too_soon(struct explain_twice *t, const struct way *w, const struct seen *s, uint32_t seq,
                        const struct explain_packet *p, const struct identity *id)
{
    uint64_t ns = apart_ns(s, p);
    const struct way *back = &t->ways[id->back >> 16 & (WAYS - 1)];
    if (p->verdict == ROCE_RX_TAKEN && p->roce.op->flags & ROCE_PKT_CNP)
        return false; /* all of them are alike */
    if (w->newest_seen == seq && ns <= AT_ONCE_NS)
        return true;
    return ns <= SOON_NS && back->key == id->back && back->newest_number < s->number;
}

/* The packets before this one came again in their order, up to `seq`. */
static void count_run(struct explain_twice *t, uint32_t seq)
{
    bool goes_on = t->run && seq - t->run_at + RUN_STEP <= 2 * RUN_STEP;
    t->run = goes_on ? t->run + (seq != t->run_at) : 1;
    t->run_at = seq;
}

static unsigned place_of(struct seen *s, const struct view *view)
{
    unsigned i = 0;
    while (i < s->view_count && s->views[i] != view->hash)
        i++;
    if (i == VIEWS_MAX)
        return i - 1;
    if (i == s->view_count) {
        s->views[s->view_count++] = view->hash;
        s->counts[i] = 0;
    }
    return i;
}

/* Seen once more where it was seen before. */
static enum verdict judge_repeated(const struct explain_twice *t, const struct way *w, const struct seen *s,
                                   unsigned times, const struct explain_packet *p)
{
    const struct way *told = witness(t, w);
    bool is_far = apart_ns(s, p) > FAR_NS;
    if (!is_far && are_repeated(told, times))
        return REPEATED;
    if (is_far || (t->run >= RUN_LONG && t->next - t->run_at > RUN_LONG))
        return APPENDED;
    return are_few(told) && t->next - t->run_at <= SEEN_LEAST ? COPY : UNKNOWN;
}

static unsigned most_elsewhere(const struct seen *s, unsigned place)
{
    unsigned most = 0;
    for (unsigned i = 0; i < s->view_count; i++)
        most = i != place && s->counts[i] > most ? s->counts[i] : most;
    return most;
}

static enum verdict judge(struct explain_twice *t, struct way *w, struct seen *s, uint32_t seq,
                          const struct explain_packet *p, const struct identity *id, const struct view *view)
{
    bool is_unique_one = is_unique(w, p, id), is_soon = is_too_soon(t, w, s, seq, p, id);
    unsigned views = s->view_count, place = place_of(s, view);
    if (place >= views) {
        if (!is_unique_one && apart_ns(s, p) > ELSEWHERE_NS) {
            s->view_count = (uint8_t)views;
            return NEW;
        }
        s->counts[place] = 1;
        w->elsewhere += views == 1;
        t->all.elsewhere += views == 1;
        count_run(t, seq);
        return ELSEWHERE;
    }
    if (!is_unique_one && !is_soon)
        return NEW;
    count_run(t, seq);
    unsigned times = ++s->counts[place];
    if (times <= most_elsewhere(s, place))
        return ELSEWHERE; /* what was copied before came here too */
    if (place == 0 && times <= 3) {
        w->repeated[times - 2]++;
        t->all.repeated[times - 2]++;
    }
    return judge_repeated(t, w, s, times, p);
}

/* --- what is said --- */

/* How the packet differs from where it was seen first. */
static const char *difference(const struct seen *s, const struct view *view, char *text, size_t size)
{
    if (s->view.vlan != view->vlan && view->vlan == NO_VLAN)
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
                 enum explain_sure sure, const struct seen *s, const char *words)
{
    struct explain_why why = {.cause = cause, .sure = sure};
    explain_why_prove(&why, s->number, "the same packet");
    explain_because(explain_remark(m, kind, "", 0, s->number, "%s", words), &why);
}

static bool is_sure(const struct explain_twice *t, enum verdict verdict, const struct way *w)
{
    const struct way *told = witness(t, w);
    if (verdict == ELSEWHERE)
        return told->distinct >= SURE_PACKETS && 2 * told->elsewhere >= told->distinct;
    return verdict == REPEATED || t->run >= RUN_SURE;
}

/* Told once of a capture; before it is sure, of each packet. */
static void tell_recapture(struct explain_twice *t, enum verdict verdict, const struct way *w,
                           const struct seen *s, struct explain_meaning *m)
{
    char words[160];
    if (!is_sure(t, verdict, w)) {
        snprintf(words, sizeof words, "the same packet twice: the capture has it in #%" PRIu64 " already",
                 s->number);
        tell(m, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_CAPTURED_TWICE, EXPLAIN_SURE_LIKELY, s, words);
        return;
    }
    if (t->is_told)
        return;
    t->is_told = true;
    snprintf(words, sizeof words,
             verdict == APPENDED ? "packets from about #%" PRIu64 " on come again as a whole: counted once"
                                 : "the capture sees packets twice, such as #%" PRIu64 ": counted once",
             s->number);
    tell(m, EXPLAIN_FIND_CAPTURED_TWICE, EXPLAIN_CAUSE_CAPTURED_TWICE, EXPLAIN_SURE_SHOWN, s, words);
}

static void say(struct explain_twice *t, enum verdict verdict, const struct way *w, const struct seen *s,
                const struct view *view, struct explain_meaning *m)
{
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
        tell_recapture(t, verdict, w, s, m);
    } else if (verdict == COPY) {
        snprintf(words, sizeof words, "the network made a copy of #%" PRIu64, s->number);
        tell(m, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_COPIED, EXPLAIN_SURE_LIKELY, s, words);
    } else {
        snprintf(words, sizeof words,
                 "the same packet twice: #%" PRIu64 "; the network or the capture copied it", s->number);
        tell(m, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_UNKNOWN, EXPLAIN_SURE_UNKNOWN, s, words);
    }
}

static void add_up(struct explain_twice *t, enum verdict verdict, const struct seen *s,
                   const struct explain_packet *p)
{
    if (t->sum.packets++ == 0) {
        t->sum.first = p->number;
        t->sum.of = s->number;
    }
    t->sum.elsewhere += verdict == ELSEWHERE;
    t->sum.repeated += verdict == APPENDED;
}

/* A new packet, or one that was sent again. */
static void note(struct explain_twice *t, struct way *w, struct seen *s, uint32_t seq,
                 const struct explain_packet *p, const struct identity *id, const struct view *view)
{
    t->run = 0;
    t->newest = s ? s : add(t, id->digest);
    if (!t->newest)
        return;
    begin(t->newest, p, view);
    w->newest_number = p->number;
    w->newest_seen = s ? seq : t->next - 1;
    if (!s) {
        halve(w);
        halve(&t->all);
        w->distinct++;
        t->all.distinct++;
        explain_ids_learn(&w->ids, id->ip_id);
    }
}

bool explain_twice_take(struct explain_twice *t, const struct explain_packet *p, struct explain_meaning *m)
{
    struct identity id;
    uint32_t seq = 0;
    t->newest = NULL;
    if (!identify(p, &id) || (t->size == 0 && !grow(t)))
        return false;
    struct view view = view_of(p);
    struct way *w = way_of(t, id.way);
    struct seen *s = find(t, id.digest, &seq);
    enum verdict verdict = s ? judge(t, w, s, seq, p, &id, &view) : NEW;
    if (verdict == NEW) {
        note(t, w, s, seq, p, &id, &view);
        return false;
    }
    bool is_told_elsewhere = verdict == COPY && p->kind == EXPLAIN_ROCE && p->verdict == ROCE_RX_TAKEN &&
                             !(p->roce.op->flags & ROCE_PKT_DETH);
    if (is_told_elsewhere)
        return false;
    say(t, verdict, w, s, &view, m);
    if (m->is_recapture)
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

struct explain_twice *explain_twice_create(void)
{
    return calloc(1, sizeof(struct explain_twice));
}

void explain_twice_destroy(struct explain_twice *t)
{
    if (!t)
        return;
    free(t->ring);
    free(t->chains);
    free(t);
}
