/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/setup.h"

#include <errno.h>

#include "base/base.h"
#include "iwarp/wire/term.h"

#define ALL_RTR    (IWARP_RTR_WRITE | IWARP_RTR_READ)
#define NEWEST_REV 2

static bool config_is_valid(const struct iwarp_setup_config *c)
{
    return c->rev <= NEWEST_REV && c->ird < IWARP_DEPTH_OPEN && c->ord < IWARP_DEPTH_OPEN &&
           c->max_ird < IWARP_DEPTH_OPEN && !(c->rtr & ~ALL_RTR);
}

static void fill_in_config(struct iwarp_setup_config *c)
{
    c->rev = c->rev ? c->rev : NEWEST_REV;
    c->rtr = c->rtr ? c->rtr : ALL_RTR;
    c->reply_wait_ns = c->reply_wait_ns ? c->reply_wait_ns : IWARP_REPLY_TIMEOUT_NS;
    c->request_wait_ns = c->request_wait_ns ? c->request_wait_ns : IWARP_REQUEST_TIMEOUT_NS;
}

static void fail(struct iwarp_setup *s, enum iwarp_setup_failure failure, uint16_t term)
{
    s->state = IWARP_SETUP_FAILED;
    s->failure = failure;
    s->term = term;
    s->deadline_ns = UINT64_MAX;
}

/* Only an initiator that has its Reply may tell the peer (IWARP-CONN-05). */
static void fail_frame(struct iwarp_setup *s, enum iwarp_setup_failure failure)
{
    fail(s, failure, s->session.is_initiator ? IWARP_TERM_MPA_FRAME : 0);
}

/* --- making frames --- */

/* Puts a frame into `out`; S stands in `frame` if `enhanced` is to lead the private data. */
static int put_frame(struct iwarp_setup *s, const char *key, struct iwarp_mpa_frame *frame,
                     const struct iwarp_mpa_enhanced *enhanced, const void *private_data,
                     size_t private_bytes)
{
    size_t lead = frame->s ? IWARP_MPA_ENHANCED_BYTES : 0;
    if (private_bytes > IWARP_MPA_PRIVATE_BYTES - lead)
        return -EINVAL;
    memcpy(frame->key, key, sizeof frame->key);
    frame->pd_len = (uint16_t)(lead + private_bytes);
    memset(s->out, 0, IWARP_MPA_FRAME_BYTES + IWARP_MPA_ENHANCED_BYTES);
    uint8_t *p = iwarp_mpa_frame_put(s->out, frame);
    if (lead)
        p = iwarp_mpa_enhanced_put(p, enhanced);
    if (private_bytes)
        memcpy(p, private_data, private_bytes);
    s->out_bytes = (uint16_t)(IWARP_MPA_FRAME_BYTES + frame->pd_len);
    s->out_sent = 0;
    return 0;
}

/* IWARP-ECE-05, -07, -09: an RTR READ takes a credit, so one is asked for. */
static struct iwarp_mpa_enhanced offer(struct iwarp_setup_config *c)
{
    bool reads = !c->no_rtr && c->rtr & IWARP_RTR_READ;
    c->ord = reads && c->ord == 0 ? 1 : c->ord;
    return (struct iwarp_mpa_enhanced){
        .a = !c->no_rtr,
        .c = !c->no_rtr && c->rtr & IWARP_RTR_WRITE,
        .d = reads,
        .ird = c->leaves_depths ? IWARP_DEPTH_OPEN : c->ird,
        .ord = c->leaves_depths ? IWARP_DEPTH_OPEN : c->ord,
    };
}

int iwarp_setup_connect(struct iwarp_setup *s, const struct iwarp_setup_config *config,
                        const void *private_data, size_t private_bytes, uint64_t now_ns)
{
    if (!config_is_valid(config))
        return -EINVAL;
    *s = (struct iwarp_setup){.config = *config,
                              .session = {.is_initiator = true, .has_crc = !config->no_crc}};
    fill_in_config(&s->config);
    struct iwarp_mpa_enhanced enhanced = offer(&s->config);
    struct iwarp_mpa_frame frame = {
        .m = config->wants_markers,
        .c = !config->no_crc,
        .s = s->config.rev == NEWEST_REV,
        .rev = s->config.rev,
    };
    s->state = IWARP_SETUP_REQUEST_SENT;
    s->deadline_ns = now_ns + s->config.reply_wait_ns;
    return put_frame(s, IWARP_MPA_KEY_REQUEST, &frame, &enhanced, private_data, private_bytes);
}

int iwarp_setup_listen(struct iwarp_setup *s, const struct iwarp_setup_config *config, uint64_t now_ns)
{
    if (!config_is_valid(config))
        return -EINVAL;
    *s = (struct iwarp_setup){.config = *config, .state = IWARP_SETUP_WAIT_REQUEST};
    fill_in_config(&s->config);
    s->deadline_ns = now_ns + s->config.request_wait_ns;
    return 0;
}

/* --- the responder's answer --- */

static uint8_t kinds_of(const struct iwarp_mpa_enhanced *e)
{
    return (uint8_t)(e->a ? (e->c ? IWARP_RTR_WRITE : 0) | (e->d ? IWARP_RTR_READ : 0) : 0);
}

/* IWARP-ECE-09: a Write if there is the choice. */
static enum iwarp_rtr choose(uint8_t kinds)
{
    return kinds & IWARP_RTR_WRITE  ? IWARP_RTR_WRITE
           : kinds & IWARP_RTR_READ ? IWARP_RTR_READ
                                    : IWARP_RTR_NONE;
}

/* IWARP-ECE-02, -04: its depths against the peer's. `*told` is what the Reply says. */
static uint16_t match(uint16_t own, uint16_t peers, uint16_t *told)
{
    bool is_open = peers == IWARP_DEPTH_OPEN;
    uint16_t depth = is_open || own < peers ? own : peers;
    *told = is_open ? IWARP_DEPTH_OPEN : depth;
    return depth;
}

/* What the Reply says, and the session that it makes. */
static struct iwarp_mpa_enhanced answer(struct iwarp_setup *s)
{
    struct iwarp_session *session = &s->session;
    struct iwarp_mpa_enhanced told = {.a = s->peer_enhanced.a};
    session->rtr = choose(kinds_of(&s->peer_enhanced));
    told.c = session->rtr == IWARP_RTR_WRITE;
    told.d = session->rtr == IWARP_RTR_READ;
    session->ord = match(s->config.ord, s->peer_enhanced.ird, &told.ord);
    session->ird = match(s->config.ird, s->peer_enhanced.ord, &told.ird);
    if (told.d && session->ird == 0) /* IWARP-ECE-07 */
        session->ird = told.ird = 1;
    return told;
}

static int reply(struct iwarp_setup *s, bool is_rejected, const void *private_data, size_t private_bytes)
{
    if (s->state != IWARP_SETUP_REQUESTED)
        return -EINVAL;
    struct iwarp_mpa_enhanced told = {0};
    struct iwarp_mpa_frame frame = {
        .m = s->config.wants_markers,
        .c = s->session.has_crc,
        .r = is_rejected,
        .s = s->session.rev == NEWEST_REV && s->peer.s,
        .rev = s->session.rev,
    };
    if (frame.s)
        told = answer(s);
    return put_frame(s, IWARP_MPA_KEY_REPLY, &frame, &told, private_data, private_bytes);
}

void iwarp_setup_set_depths(struct iwarp_setup *s, uint16_t ird, uint16_t ord)
{
    s->config.ird = s->session.ird = ird;
    s->config.ord = s->session.ord = ord;
}

int iwarp_setup_accept(struct iwarp_setup *s, const void *private_data, size_t private_bytes)
{
    int err = reply(s, false, private_data, private_bytes);
    if (!err)
        s->state = IWARP_SETUP_ESTABLISHED;
    return err;
}

int iwarp_setup_reject(struct iwarp_setup *s, const void *private_data, size_t private_bytes)
{
    int err = reply(s, true, private_data, private_bytes);
    if (!err)
        fail(s, IWARP_SETUP_REJECTED, 0);
    return err;
}

/* --- reading frames --- */

/* The first 20 octets: IWARP-MPA-08, -10, -12. False: it has failed. */
static bool check_head(struct iwarp_setup *s)
{
    bool is_initiator = s->session.is_initiator;
    const char *key = is_initiator ? IWARP_MPA_KEY_REPLY : IWARP_MPA_KEY_REQUEST;
    iwarp_mpa_frame_get(&s->peer, s->in);
    if (memcmp(s->peer.key, key, sizeof s->peer.key) != 0 || s->peer.pd_len > IWARP_MPA_PRIVATE_BYTES ||
        (!is_initiator && s->peer.r)) {
        fail_frame(s, IWARP_SETUP_FRAME);
        return false;
    }
    if (s->peer.rev < 1 || s->peer.rev > s->config.rev) {
        fail_frame(s, IWARP_SETUP_REVISION);
        return false;
    }
    if (s->peer.rev < NEWEST_REV)
        s->peer.s = 0; /* a reserved bit there (IWARP-MPA-09) */
    return true;
}

/* What follows from the two heads alone (IWARP-MPA-04, -06). */
static void agree(struct iwarp_setup *s)
{
    s->session.rev = s->peer.rev;
    s->session.has_crc = !s->config.no_crc || s->peer.c;
    s->session.tx_markers = s->peer.m;
    s->session.rx_markers = s->config.wants_markers;
    s->session.ird = s->config.ird;
    s->session.ord = s->config.ord;
    s->deadline_ns = UINT64_MAX;
}

/* The Request is whole. IWARP-ECE-01, -09: what cannot be is refused at once. */
static void take_request(struct iwarp_setup *s)
{
    bool is_short = s->peer.s && s->peer.pd_len < IWARP_MPA_ENHANCED_BYTES;
    agree(s);
    s->state = IWARP_SETUP_REQUESTED;
    if (s->peer.s && !is_short)
        iwarp_mpa_enhanced_get(&s->peer_enhanced, s->in + IWARP_MPA_FRAME_BYTES);
    bool has_no_rtr = s->peer_enhanced.a && kinds_of(&s->peer_enhanced) == IWARP_RTR_NONE;
    if (is_short || has_no_rtr)
        iwarp_setup_reject(s, NULL, 0);
}

/* IWARP-ECE-03, -04. False: the peer would read more at once than this side can serve. */
static bool take_depths(struct iwarp_setup *s)
{
    struct iwarp_session *session = &s->session;
    uint16_t unused, wanted = s->peer_enhanced.ord;
    session->ord = match(s->config.ord, s->peer_enhanced.ird, &unused);
    if (wanted == IWARP_DEPTH_OPEN || wanted <= session->ird)
        return true;
    session->ird = wanted;
    return wanted <= s->config.max_ird;
}

/* The Reply accepts, and bears the four octets. */
static void take_enhanced(struct iwarp_setup *s)
{
    iwarp_mpa_enhanced_get(&s->peer_enhanced, s->in + IWARP_MPA_FRAME_BYTES);
    if (!take_depths(s)) {
        fail(s, IWARP_SETUP_IRD, IWARP_TERM_MPA_IRD);
        return;
    }
    if (!s->peer_enhanced.a || s->config.no_rtr)
        return;
    s->session.rtr = choose(kinds_of(&s->peer_enhanced) & s->config.rtr);
    if (s->session.rtr == IWARP_RTR_NONE) /* IWARP-ECE-06 */
        fail(s, IWARP_SETUP_RTR, IWARP_TERM_MPA_RTR);
    if (s->session.rtr == IWARP_RTR_READ && s->session.ord == 0) /* IWARP-ECE-07 */
        s->session.ord = 1;
}

/* The Reply is whole. */
static void take_reply(struct iwarp_setup *s)
{
    agree(s);
    if (s->peer.r) {
        fail(s, IWARP_SETUP_REFUSED, 0);
        return;
    }
    s->state = IWARP_SETUP_ESTABLISHED;
    if (s->peer.s && s->peer.pd_len < IWARP_MPA_ENHANCED_BYTES)
        fail_frame(s, IWARP_SETUP_FRAME);
    else if (s->peer.s)
        take_enhanced(s);
}

static bool waits_for_frame(const struct iwarp_setup *s)
{
    return s->state == IWARP_SETUP_REQUEST_SENT || s->state == IWARP_SETUP_WAIT_REQUEST;
}

/* Gathers up to `wanted` octets of the frame. Whether they are all there. */
static bool gather(struct iwarp_setup *s, size_t wanted, const uint8_t *bytes, size_t len_bytes,
                   size_t *taken)
{
    size_t n = min_u64(wanted - s->in_bytes, len_bytes - *taken);
    memcpy(s->in + s->in_bytes, bytes + *taken, n);
    s->in_bytes += (uint16_t)n;
    *taken += n;
    return s->in_bytes == wanted;
}

size_t iwarp_setup_input(struct iwarp_setup *s, const uint8_t *bytes, size_t len_bytes)
{
    size_t taken = 0;
    if (waits_for_frame(s)) {
        bool has_head = s->in_bytes >= IWARP_MPA_FRAME_BYTES;
        if (!has_head && (!gather(s, IWARP_MPA_FRAME_BYTES, bytes, len_bytes, &taken) || !check_head(s)))
            return taken;
        if (!gather(s, IWARP_MPA_FRAME_BYTES + (size_t)s->peer.pd_len, bytes, len_bytes, &taken))
            return taken;
        if (s->session.is_initiator)
            take_reply(s);
        else
            take_request(s);
    }
    /* IWARP-MPA-10: an initiator says nothing more before it has the Reply. */
    if (s->state == IWARP_SETUP_REQUESTED && taken < len_bytes)
        fail_frame(s, IWARP_SETUP_FRAME);
    return taken;
}

void iwarp_setup_closed(struct iwarp_setup *s)
{
    if (s->state != IWARP_SETUP_ESTABLISHED && s->state != IWARP_SETUP_FAILED)
        fail(s, IWARP_SETUP_CLOSED, 0);
}

void iwarp_setup_advance(struct iwarp_setup *s, uint64_t now_ns)
{
    if (waits_for_frame(s) && now_ns >= s->deadline_ns)
        fail(s, IWARP_SETUP_TIMEOUT, 0);
}

const uint8_t *iwarp_setup_output(const struct iwarp_setup *s, size_t *len_bytes)
{
    *len_bytes = s->out_bytes - s->out_sent;
    return *len_bytes ? s->out + s->out_sent : NULL;
}

void iwarp_setup_sent(struct iwarp_setup *s, size_t len_bytes)
{
    s->out_sent += (uint16_t)len_bytes;
}

const uint8_t *iwarp_setup_private_data(const struct iwarp_setup *s, size_t *len_bytes)
{
    size_t lead = s->peer.s ? min_u32(s->peer.pd_len, IWARP_MPA_ENHANCED_BYTES) : 0;
    bool is_whole = s->in_bytes == IWARP_MPA_FRAME_BYTES + s->peer.pd_len;
    *len_bytes = is_whole ? s->peer.pd_len - lead : 0;
    return s->in + IWARP_MPA_FRAME_BYTES + lead;
}

bool iwarp_setup_may_fall_back(const struct iwarp_setup *s)
{
    return s->session.is_initiator && s->config.falls_back && s->failure == IWARP_SETUP_CLOSED &&
           s->config.rev == NEWEST_REV && s->in_bytes == 0;
}

int iwarp_setup_fall_back(struct iwarp_setup *s, uint64_t now_ns)
{
    const size_t lead = IWARP_MPA_FRAME_BYTES + IWARP_MPA_ENHANCED_BYTES;
    uint8_t private_data[IWARP_MPA_PRIVATE_BYTES];
    struct iwarp_setup_config config = s->config;
    if (!iwarp_setup_may_fall_back(s))
        return -EINVAL;
    size_t private_bytes = s->out_bytes - lead; /* all of the Request is there, however much of it was sent */
    memcpy(private_data, s->out + lead, private_bytes);
    config.rev = NEWEST_REV - 1;
    return iwarp_setup_connect(s, &config, private_data, private_bytes, now_ns);
}
