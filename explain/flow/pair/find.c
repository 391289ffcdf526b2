/* SPDX-License-Identifier: BSD-2-Clause */
/* The QP pair of a packet. A packet names only its destination QP. So requests and their answers, and the UDP
 * source port, put the two directions of a pair together. Many senders choose the same port at both ends
 * (ROCE-FRM-45). The port of an ordinary socket tells nothing: all its queue pairs share it. */
#include "explain/flow/pair/find.h"

#include "explain/flow/pair/exchange.h"
#include "explain/flow/pair/fit.h"
#include "explain/flow/pair/table.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

#define PSNS_BEHIND    65536 /* a packet of a pair lies at most so far from its newest */
#define PSNS_AHEAD     65536
#define PIECE_LEAST    256              /* the smallest path MTU */
#define PSNS_LATE      4096             /* copies are not later than that */
#define COPY_NS        (10 * NS_PER_MS) /* so late no copy comes that the network made */
#define MESSAGES       16 /* so many, all of them answered: the sender will have had some of the answers */
#define ROUNDS         2  /* requests that came when everything before them was answered */
#define PSNS_DONE      4  /* so far behind the acknowledged PSN */
#define EPOCHS_MAX     8  /* pairs with one key that are told apart */
#define PAIR_TRIES     64 /* answers by which the end is looked for that they are for */
#define PAIR_HITS      4  /* answers that show it, if the UDP ports do not */
#define PAIR_MISFITS   4  /* and that show the contrary */
#define POINTS_PSN     4
#define POINTS_PORT    2
#define CANDIDATES_MAX 256 /* pairs without a known second end that are looked at */

/* --- which of several --- */

/* FIT_FAR: a request behind a gap. */
enum fit { FIT_NOT, FIT_MAYBE, FIT_FAR, FIT_WELL };

/* The first PSN of a connection again, long after a sender that waited for its answers had all of them:
 * another connection may begin with the same PSN. `has_later`: the other end has begun one. */
static bool is_beginning_again(const struct explain_half *half, const struct roce_pkt *pkt, uint64_t now_ns,
                               bool has_later)
{
    bool is_no_copy = half->weather->counts_each || now_ns - half->asks.newest_ns > COPY_NS;
    return is_no_copy && pkt->bth.psn == half->asks.first_psn && half->acks.una_psn == half->asks.next_psn &&
           half->msn.is_known && half->msn.base == 0 &&
           (has_later || half->asks.rounds >= ROUNDS || half->message.count >= MESSAGES);
}

/* Returns whether a request repeats a PSN that its sender cannot send again: acknowledged long ago, or
 * another operation. It is the first of a connection with the same QPN. */
static bool is_foreign(const struct explain_half *half, const struct roce_pkt *pkt, uint64_t now_ns,
                       bool has_later)
{
    if (!half->acks.is_known || !(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)))
        return false;
    if (is_beginning_again(half, pkt, now_ns, has_later))
        return true;
    if (roce_psn_diff(half->acks.una_psn, pkt->bth.psn) < PSNS_DONE)
        return false;
    const struct explain_sent *s = explain_sent_find(&half->history, pkt->bth.psn);
    /* without its beginning here, it may be a late copy of an older packet */
    bool has_beginning = half->msn.is_known && half->msn.base == 0;
    return s ? s->is_answered && s->opcode != pkt->bth.opcode && !(pkt->op->flags & ROCE_PKT_READ)
             : roce_psn_diff(pkt->bth.psn, half->asks.first_psn) < 0 &&
                   (has_beginning || roce_psn_diff(half->acks.una_psn, pkt->bth.psn) > PSNS_LATE);
}

/* A piece of another size than those that the pair's other end sends: both have one path MTU. */
static bool is_other_pmtu(const struct explain_pair *p, const struct roce_pkt *pkt)
{
    return p->shown.pmtu_bytes && !p->is_pmtu_guessed &&
           pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) && !(pkt->op->flags & ROCE_PKT_RESPONSE) &&
           pkt->payload_bytes != p->shown.pmtu_bytes;
}

/* How far behind the newest PSN the next may lie: READs take as many as their bytes need at most. */
static int32_t psns_ahead(const struct explain_half *half)
{
    const struct explain_read *r =
        half->asks.is_guessed ? explain_read_last(&half->reads, half->asks.next_psn) : NULL;
    return PSNS_AHEAD + (r ? (int32_t)min_u32(r->bytes / PIECE_LEAST, ROCE_PSN_MASK / 4) : 0);
}

/* All that is known of this direction came before the other end began: it was the earlier connection's. */
static bool is_taken_over(const struct explain_pair *p, unsigned way)
{
    return p->shown.earlier && p->half[way].asks.has_any && p->half[!way].asks.has_any &&
           p->half[way].asks.newest_ns < p->half[!way].asks.first_ns;
}

/* From the port of an ordinary socket, if that end has chosen one so far, or the other way round: it is
 * another device, and no QP changes its port (ROCE-FRM-44). */
static bool is_other_sender(const struct explain_pair *p, unsigned direction, const struct roce_pkt *pkt)
{
    uint16_t before = p->src_port[direction];
    return before && explain_is_own_port(before) != explain_is_own_port(pkt->src_port);
}

/* Whether a packet with that PSN can be one of the pair's. */
static enum fit fit_of(const struct explain_pair *p, unsigned direction, const struct explain_packet *packet)
{
    const struct roce_pkt *pkt = &packet->roce;
    bool is_answer = pkt->op->flags & ROCE_PKT_RESPONSE;
    const struct explain_half *half = &p->half[is_answer ? !direction : direction];
    bool is_other = is_other_sender(p, direction, pkt);
    if (!half->asks.has_any)
        return p->later || is_other || is_other_pmtu(p, pkt) ? FIT_NOT : FIT_MAYBE;
    int32_t ahead = roce_psn_diff(pkt->bth.psn, half->asks.next_psn);
    if (ahead <= -PSNS_BEHIND || ahead >= psns_ahead(half))
        return FIT_NOT;
    if (is_answer)
        return explain_is_answer_to(half, pkt) ? FIT_WELL : is_other ? FIT_NOT : FIT_MAYBE;
    if (explain_is_leap(half, packet, ahead) || (is_other && ahead != 0) ||
        (ahead < 0 && is_foreign(half, pkt, packet->time_ns, p->later || is_taken_over(p, direction))))
        return FIT_NOT;
    return ahead >= EXPLAIN_LEAP_PSNS ? FIT_FAR : FIT_WELL;
}

static bool is_next(const struct explain_link *l, const struct explain_packet *packet)
{
    const struct explain_half *half = &l->pair->half[l->direction];
    return half->asks.has_any && packet->roce.bth.psn == half->asks.next_psn;
}

/* The pair with that key which the packet fits best, the newest first; `*fit`: how well. If it would leave
 * a gap, and is the very next one of an older pair, it is that one's: the newer may be a damaged packet. */
static struct explain_pair *find_best(const struct explain_flows *f, const struct explain_pair_key *k,
                                      const struct explain_packet *packet, unsigned *direction, enum fit *fit)
{
    struct explain_pair *best = NULL;
    unsigned count = 0;
    *fit = FIT_NOT;
    const struct explain_link *l = explain_pair_chain(f, k);
    for (; l && *fit != FIT_WELL; l = l->next) {
        if (!explain_pair_is_key(l->pair, l->direction, k))
            continue;
        enum fit fits = fit_of(l->pair, l->direction, packet);
        if (best && *fit == FIT_FAR && !is_next(l, packet))
            continue;
        if (!best || fits > *fit) {
            best = l->pair;
            *direction = l->direction;
            *fit = fits;
        }
        if (++count == EPOCHS_MAX) { /* no QP does this: it is followed no further */
            *fit = *fit == FIT_NOT ? FIT_MAYBE : *fit;
            break;
        }
    }
    *fit = *fit == FIT_FAR ? FIT_WELL : *fit;
    return best;
}

/* --- new pairs --- */

/* Returns how well a packet fits as the other direction of a pair with an unknown second QPN; 0: not at
 * all. */
static unsigned fitness(const struct explain_pair *p, const struct explain_pair_key *k,
                        const struct explain_packet *packet)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (p->shown.qpn[0] || p->shown.service != k->service ||
        !explain_network_equal(&p->shown.network, &k->network) ||
        !nornic_addr_equal(&p->shown.addr[0], &k->dst) || !nornic_addr_equal(&p->shown.addr[1], &k->src))
        return 0;
    unsigned points = 0;
    if (pkt->op->flags & ROCE_PKT_RESPONSE && explain_is_answer_to(&p->half[0], pkt))
        points += POINTS_PSN + explain_is_msn_right(&p->half[0], pkt);
    return points + (explain_is_own_port(pkt->src_port) && p->src_port[0] == pkt->src_port ? POINTS_PORT : 0);
}

static struct explain_pair *adopt(struct explain_flows *f, const struct explain_pair_key *k,
                                  const struct explain_packet *packet, unsigned least_points)
{
    struct explain_pair *best = NULL;
    unsigned best_points = least_points - 1, looked_at = 0;
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++) {
        unsigned points = fitness(p, k, packet);
        if (points > best_points) {
            best = p;
            best_points = points;
        }
    }
    if (best) {
        best->shown.qpn[0] = k->qpn;
        best->pairing.is_shown = best_points >= POINTS_PSN + POINTS_PORT;
        explain_pair_insert(f, best, 1);
    }
    return best;
}

/* How many PSNs the newest READ takes was told by the path MTU of another connection. */
static void doubt_pmtu(struct explain_half *half)
{
    const struct explain_read *r = explain_read_last(&half->reads, half->asks.next_psn);
    half->asks.is_guessed |=
        r && !half->seen_pmtu_bytes && roce_opcodes[r->opcode].flags & ROCE_PKT_READ && !r->is_answered;
}

/* The end at which direction 0 of a pair begins is that QPN; 0: not known. */
static void set_end(struct explain_flows *f, struct explain_pair *p, uint32_t qpn)
{
    if (p->shown.qpn[0] || !qpn)
        return;
    p->shown.qpn[0] = qpn;
    explain_pair_insert(f, p, 1);
}

/* Begins another connection with the QPNs of `earlier`: the requests of its direction `way` are direction
 * `to` of `p`, of which nothing is known yet. */
static void hand_over(struct explain_flows *f, struct explain_pair *earlier, unsigned way,
                      struct explain_pair *p, unsigned to)
{
    swap_values(p->half[to], earlier->half[way]);
    doubt_pmtu(&p->half[to]);
    swap_values(p->shown.messages[to], earlier->shown.messages[way]);
    swap_values(p->shown.retransmissions[to], earlier->shown.retransmissions[way]);
    /* these facts are the earlier connection's as well */
    p->ids[to] = (struct explain_ids){0};
    p->first_port[to] = 0;
    p->src_port[to] = earlier->src_port[way];
    set_end(f, p, earlier->shown.qpn[to ? !way : way]);
}

/* The end that `direction` leads to began to ask only after all that was asked the other way, and closer to
 * now: its requests were taken for those of the earlier connection as nothing told them apart. */
static void take_over(struct explain_flows *f, struct explain_pair *earlier, unsigned direction,
                      struct explain_pair *p, uint64_t now_ns)
{
    const struct explain_half *old = &earlier->half[direction], *half = &earlier->half[!direction];
    if (explain_is_behind_other(earlier, !direction) &&
        half->asks.first_ns - old->asks.newest_ns > now_ns - half->asks.newest_ns)
        hand_over(f, earlier, !direction, p, 1);
}

/* A pair for another connection with the QPNs of `earlier`, as a packet in direction `way` shows. NULL: no
 * memory. */
static struct explain_pair *begin_later(struct explain_flows *f, struct explain_pair *earlier, unsigned way)
{
    struct explain_pair_key k = explain_pair_key_of(earlier, way);
    struct explain_pair *p = explain_pair_create(f, &k);
    if (!p)
        return NULL;
    p->shown.earlier = earlier->index;
    earlier->later = p->index;
    return p;
}

/* The pieces that one end asks for or sends are of another size than those of the other end, which was silent
 * before the first of them: not the end of that connection speaks, but the first of another. */
static struct explain_pair *split_by_pmtu(struct explain_flows *f, struct explain_pair *p,
                                          const struct roce_pkt *pkt, unsigned *direction)
{
    bool is_answer = pkt->op->flags & ROCE_PKT_RESPONSE;
    unsigned way = is_answer ? !*direction : *direction;
    const struct explain_half *half = &p->half[way], *other = &p->half[!way];
    uint32_t bytes = pkt->payload_bytes;
    bool is_piece = pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE);
    if (half->seen_pmtu_bytes || !other->seen_pmtu_bytes || !explain_is_behind_other(p, way) ||
        !(is_piece ? bytes != other->seen_pmtu_bytes : bytes > other->seen_pmtu_bytes))
        return p;
    struct explain_pair *later = begin_later(f, p, way);
    if (!later)
        return p;
    hand_over(f, p, way, later, 0);
    *direction = is_answer;
    return later;
}

/* Returns the later connection that has direction `way` of `p` as its direction 0; NULL: there is none. */
static struct explain_pair *later_of(struct explain_flows *f, const struct explain_pair *p, unsigned way)
{
    struct explain_pair *later = p->later ? explain_pair_by_index(f, p->later) : NULL;
    bool has_ends = later && later->shown.qpn[1] == p->shown.qpn[!way] &&
                    nornic_addr_equal(&later->shown.addr[1], &p->shown.addr[!way]) &&
                    (!later->shown.qpn[0] || later->shown.qpn[0] == p->shown.qpn[way]);
    return has_ends ? later : NULL;
}

/* An answer that fits is to the newest connection that asked for it. */
static struct explain_pair *answer_later(struct explain_flows *f, struct explain_pair *p,
                                         const struct roce_pkt *pkt, unsigned *direction)
{
    struct explain_pair *later = later_of(f, p, !*direction);
    if (!later || !explain_is_answer_to(&later->half[0], pkt))
        return p;
    set_end(f, later, p->shown.qpn[!*direction]);
    *direction = 1;
    return later;
}

/* A request goes on in a pair after its other end has begun anew. Both ends of a connection do, so that the
 * requests before it in this direction are the later connection's too, if all of them came behind those of
 * the other way. */
static struct explain_pair *go_on_later(struct explain_flows *f, struct explain_pair *p,
                                        const struct roce_pkt *pkt, unsigned *direction)
{
    unsigned way = *direction;
    struct explain_pair *later = later_of(f, p, !way);
    if (!later || later->half[1].asks.has_any || !explain_is_behind_other(p, way) ||
        roce_psn_diff(pkt->bth.psn, p->half[way].asks.next_psn) < 0)
        return p;
    hand_over(f, p, way, later, 1);
    *direction = 1;
    return later;
}

/* Gives back the requests that were taken over: they show to be the earlier connection's, as the same end
 * begins anew. */
static bool hand_back(struct explain_flows *f, struct explain_pair *p, unsigned way)
{
    struct explain_pair *earlier = is_taken_over(p, way) ? explain_pair_by_index(f, p->shown.earlier) : NULL;
    for (unsigned w = 0; earlier && w < 2; w++)
        if (!earlier->half[w].asks.has_any && earlier->shown.qpn[!w] == p->shown.qpn[!way] &&
            nornic_addr_equal(&earlier->shown.addr[w], &p->shown.addr[way])) {
            swap_values(earlier->half[w], p->half[way]);
            swap_values(earlier->shown.messages[w], p->shown.messages[way]);
            swap_values(earlier->shown.retransmissions[w], p->shown.retransmissions[way]);
            return true;
        }
    return false;
}

/* Returns whether a packet that goes on with a message may go on with the message in progress, behind a
 * gap. */
static bool may_go_on(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const uint32_t kinds = ROCE_PKT_SEND | ROCE_PKT_WRITE;
    return half->message.is_open && pkt->op->flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST) &&
           (roce_opcodes[half->message.opcode].flags & kinds) == (pkt->op->flags & kinds) &&
           roce_psn_diff(pkt->bth.psn, half->asks.next_psn) >= 0;
}

/* The QPN is known, but not with such PSNs. An answer may be for another pair with an unknown other end; a
 * request is one of a new connection, for which the QPN is used again. */
static struct explain_pair *other_of(struct explain_flows *f, const struct explain_pair_key *k,
                                     struct explain_pair *known, const struct explain_packet *packet,
                                     unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    bool is_answer = pkt->op->flags & ROCE_PKT_RESPONSE;
    struct explain_pair *p = adopt(f, k, packet, is_answer ? POINTS_PSN : POINTS_PORT);
    if (p) {
        *direction = 1;
        return p;
    }
    if (is_answer || may_go_on(&known->half[*direction], pkt) ||
        (!is_other_sender(known, *direction, pkt) && hand_back(f, known, *direction)))
        return known;
    p = begin_later(f, known, *direction);
    if (!p)
        return known;
    take_over(f, known, *direction, p, packet->time_ns);
    *direction = 0;
    return p;
}

/* The QPN is known, but its end of that pair has asked for nothing yet by which to tell it. If a pair that
 * uses the QPN at the other end again waits for its second end, the packet belongs to that one: both ends
 * of a connection begin anew. NULL: there is none. */
static struct explain_pair *successor_of(struct explain_flows *f, const struct explain_pair_key *k,
                                         const struct explain_pair *known,
                                         const struct explain_packet *packet, unsigned direction)
{
    unsigned looked_at = 0;
    if (packet->roce.op->flags & ROCE_PKT_RESPONSE) {
        struct explain_pair *asker = adopt(f, k, packet, POINTS_PSN);
        if (asker || known->half[!direction].asks.has_any)
            return asker;
    }
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++) {
        if (p == known || p->shown.earlier != known->index || p->shown.qpn[0] ||
            p->shown.qpn[1] != known->shown.qpn[direction])
            continue;
        set_end(f, p, k->qpn);
        return p;
    }
    return NULL;
}

/* --- which end an answer is for --- */

static bool is_doubtful(const struct explain_pair *p)
{
    return !p->pairing.is_shown || p->pairing.misfits;
}

/* Returns whether the packet may answer a request that end `end` of a pair, of which that is in doubt, waits
 * for. */
static bool is_asker(const struct explain_pair *p, unsigned end, const struct explain_pair_key *k,
                     const struct roce_pkt *pkt)
{
    const struct explain_sent *s = explain_sent_find(&p->half[end].history, pkt->bth.psn);
    return s && !s->is_answered && explain_is_answer_to(&p->half[end], pkt) &&
           explain_network_equal(&p->shown.network, &k->network) &&
           nornic_addr_equal(&p->shown.addr[end], &k->dst) &&
           nornic_addr_equal(&p->shown.addr[!end], &k->src);
}

/* Both directions of the pair come from a port that was chosen for it (ROCE-FRM-45), and the packet from
 * another. */
static bool has_other_ports(const struct explain_pair *p, const struct roce_pkt *pkt)
{
    return explain_is_own_port(p->src_port[0]) && p->src_port[0] == p->src_port[1] &&
           explain_is_own_port(pkt->src_port) && pkt->src_port != p->src_port[0];
}

/* A pair in which a PSN waits for an answer, and the end at which the request was sent. */
struct asker {
    struct explain_pair *pair; /* NULL: nobody in doubt asked for it */
    unsigned end;
    bool
        is_right; /* it has sent as many messages as the answer says, and asked for as many bytes as it has */
    bool is_one_of_several;
};

/* Of several that the answer may be for, the newest that has sent as many messages as it says. If the UDP
 * ports say otherwise, only such a one will do. */
static struct asker asker_of(struct explain_flows *f, const struct explain_pair_key *k,
                             const struct explain_packet *packet)
{
    struct asker best = {0};
    unsigned looked_at = 0;
    for (struct explain_pair *p = f->newest; p && looked_at < CANDIDATES_MAX; p = p->older, looked_at++)
        for (unsigned e = 0; e < 2 && is_doubtful(p) && p->shown.service == k->service; ++e) {
            if (!is_asker(p, e, k, &packet->roce))
                continue;
            bool is_right = explain_is_msn_right(&p->half[e], &packet->roce) &&
                            explain_is_size_right(&p->half[e], &packet->roce);
            if (is_right < best.is_right || (!is_right && has_other_ports(p, &packet->roce)))
                continue;
            if (!best.pair || is_right > best.is_right)
                best = (struct asker){p, e, is_right, false};
            else
                best.is_one_of_several = true;
        }
    return best;
}

/* Whether it is still to be found out which answers are the pair's: no answer has shown it, or several since
 * are to nothing that was asked here. */
static bool is_open_who_answers(struct explain_pair *p, bool fits)
{
    if (!p->pairing.is_shown)
        return true;
    p->pairing.misfits = fits ? 0 : (uint8_t)(p->pairing.misfits + 1);
    p->pairing.hits = fits ? PAIR_HITS : p->pairing.hits;
    if (p->pairing.misfits < PAIR_MISFITS)
        return false;
    p->pairing.is_shown = false;
    p->pairing.misfits = p->pairing.hits = p->pairing.tries = 0;
    return true;
}

/* An answer shows which requests and which answers belong together. Until one has, that is a guess by the
 * UDP ports, which is put right here. A NAK asks for packets that need not have been seen. */
static struct explain_pair *pair_up(struct explain_flows *f, const struct explain_pair_key *k,
                                    struct explain_pair *p, const struct explain_packet *packet,
                                    unsigned *direction, enum fit *fit)
{
    struct asker asker = {0};
    bool fits = explain_is_answer_to(&p->half[!*direction], &packet->roce);
    if (explain_is_nak(&packet->roce) || !is_open_who_answers(p, fits))
        return p;
    if (fits) {
        uint16_t port = packet->roce.src_port;
        bool is_same_port = explain_is_own_port(port) && p->src_port[!*direction] == port;
        p->pairing.is_shown = ++p->pairing.hits >= PAIR_HITS || is_same_port;
        return p;
    }
    if (p->pairing.tries++ < PAIR_TRIES)
        asker = asker_of(f, k, packet);
    if (!asker.pair || asker.pair == p)
        return p;
    explain_pair_exchange(f, p, !*direction, asker.pair, asker.end);
    asker.pair->pairing.is_shown = !asker.is_one_of_several;
    asker.pair->pairing.misfits = 0;
    *fit = FIT_WELL;
    *direction = !asker.end;
    return asker.pair;
}

/* Takes an answer to a QPN that nothing was sent to so far: that is the asker's own, whatever requests of the
 * other side were taken for its connection's. The two part, and the earlier end stays. NULL: no end in doubt
 * asked for it. */
static struct explain_pair *part(struct explain_flows *f, const struct explain_pair_key *k,
                                 const struct explain_packet *packet, unsigned *direction)
{
    struct asker asker = {0};
    if (!explain_is_nak(&packet->roce))
        asker = asker_of(f, k, packet);
    struct explain_pair *other = asker.pair ? explain_pair_create(f, k) : NULL;
    if (!other)
        return NULL;
    *direction = asker.end ? 0 : 1;
    explain_pair_exchange(f, other, !asker.end, asker.pair, 0);
    other = asker.end ? other : asker.pair;
    other->pairing.is_shown = !asker.is_one_of_several;
    return other;
}

/* A packet to a QPN of which no pair is known. NULL: no memory. */
static struct explain_pair *welcome(struct explain_flows *f, const struct explain_pair_key *k,
                                    const struct explain_packet *packet, unsigned *direction)
{
    bool is_answer = packet->roce.op->flags & ROCE_PKT_RESPONSE;
    struct explain_pair *p = adopt(f, k, packet, is_answer ? POINTS_PSN : 1);
    *direction = 1;
    if (!p && is_answer && (p = part(f, k, packet, direction)))
        return p;
    if (!p && is_answer)
        p = adopt(f, k, packet, 1);
    if (p)
        return p;
    *direction = 0;
    return explain_pair_create(f, k);
}

struct explain_pair *explain_pair_of(struct explain_flows *f, const struct explain_packet *packet,
                                     unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    enum fit fit;
    struct explain_pair_key k = {.network = packet->network,
                                 .src = pkt->src,
                                 .dst = pkt->dst,
                                 .qpn = pkt->bth.dest_qpn,
                                 .service = explain_service(pkt)};
    struct explain_pair *p = find_best(f, &k, packet, direction, &fit);
    if (p && pkt->op->flags & ROCE_PKT_RESPONSE && !is_other_sender(p, *direction, pkt))
        p = pair_up(f, &k, p, packet, direction, &fit);
    bool is_in_doubt = p && fit == FIT_MAYBE;
    struct explain_pair *successor = is_in_doubt ? successor_of(f, &k, p, packet, *direction) : NULL;
    if (successor) {
        p = successor;
        *direction = 1;
    } else if (p && fit == FIT_NOT) {
        p = other_of(f, &k, p, packet, direction);
    } else if (p && fit == FIT_WELL) {
        p = pkt->op->flags & ROCE_PKT_RESPONSE ? answer_later(f, p, pkt, direction)
                                               : go_on_later(f, p, pkt, direction);
        p = split_by_pmtu(f, p, pkt, direction);
    }
    if (!p)
        p = welcome(f, &k, packet, direction);
    if (!p)
        return NULL;
    explain_pair_touch(f, p);
    return p;
}

struct explain_pair *explain_pair_know(struct explain_flows *f, const struct explain_network *network,
                                       const struct nornic_addr addr[2], const uint32_t qpn[2],
                                       uint8_t service)
{
    struct explain_pair_key k = {*network, addr[0], addr[1], qpn[1], service, qpn[0]};
    struct explain_pair *p = explain_pair_create(f, &k);
    if (p && qpn[0]) {
        p->shown.qpn[0] = qpn[0];
        explain_pair_insert(f, p, 1);
    }
    return p;
}

struct explain_pair *explain_pair_of_datagram(struct explain_flows *f, const struct explain_packet *packet,
                                              unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_pair_key k = {.network = packet->network,
                                 .src = pkt->src,
                                 .dst = pkt->dst,
                                 .qpn = pkt->bth.dest_qpn,
                                 .service = ROCE_SERVICE_UD,
                                 .src_qpn = pkt->deth.src_qpn};
    struct explain_pair *p = explain_pair_lookup(f, &k, direction);
    if (!p) {
        *direction = 0;
        p = explain_pair_know(f, &packet->network, (struct nornic_addr[2]){pkt->src, pkt->dst},
                              (uint32_t[2]){pkt->deth.src_qpn, pkt->bth.dest_qpn}, ROCE_SERVICE_UD);
    }
    if (p)
        explain_pair_touch(f, p);
    return p;
}

struct explain_pair *explain_pair_find(struct explain_flows *f, const struct explain_packet *packet,
                                       uint8_t service, unsigned *direction)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_pair_key k = {.network = packet->network,
                                 .src = pkt->src,
                                 .dst = pkt->dst,
                                 .qpn = pkt->bth.dest_qpn,
                                 .service = service};
    struct explain_pair *p = explain_pair_lookup(f, &k, direction);
    struct explain_pair *later = p ? later_of(f, p, !*direction) : NULL;
    if (!later)
        return p;
    set_end(f, later, p->shown.qpn[!*direction]);
    *direction = 1;
    return later;
}
