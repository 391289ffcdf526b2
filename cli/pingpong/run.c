/* SPDX-License-Identifier: BSD-2-Clause */
/* The exchanges, with every received message compared whole. */
#include "base/base.h"
#include "cli/pingpong/pingpong.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/node/pattern.h"
#include "cli/stop.h"
#include "cli/node/unreliable.h"

#define LIVE_NS     200000000ull
#define MIXED_TAILS 1024 /* messages of a queue pair that an answer may be late by */
#define POISON_BYTE 0xa5 /* in no form of PINGPONG_FORM_STOCK; never the whole of a counted message */

/* What a message of this side is called when it sends it, and what the peer's is. */
static uint64_t key_of(const struct pingpong_side *side, const struct pingpong_link *link, uint32_t iter)
{
    return pingpong_key((uint32_t)(link - side->links), iter);
}

static enum pingpong_form client_form(const struct pingpong_options *o)
{
    if (!o->stock_check)
        return PINGPONG_FORM_COUNTED;
    return o->transport == PINGPONG_SRQ ? PINGPONG_FORM_STOCK_ZERO : PINGPONG_FORM_STOCK_CHECKED;
}

static int post_send(struct pingpong_side *side, struct pingpong_link *link)
{
    uint32_t size = side->options->size_bytes;
    uint8_t *next = link->next_buf;
    link->next_buf = link->send_buf;
    link->send_buf = next;
    if (side->is_client)
        pingpong_fill(client_form(side->options), key_of(side, link, link->posted), link->send_buf, size);
    struct nornic_sge sge = {.addr = (uintptr_t)link->send_buf, .len_bytes = size, .lkey = side->memory.lkey};
    struct nornic_send_wr wr = {.wr_id = PINGPONG_WR_SEND | (uint64_t)(link - side->links)
                                                                << PINGPONG_WR_SHIFT,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .ud = {.ah = link->ah,
                                       .remote_qpn = side->peer[link - side->links].qpn,
                                       .remote_qkey = PINGPONG_UD_QKEY}};
    link->sent_at_ns = host_now_ns();
    int err = nornic_qp_post_send(link->qp, &wr, NULL);
    if (err)
        return cli_fail("cannot post a send: %s", strerror(-err));
    link->posted++;
    side->posted++;
    link->sends_pending++;
    link->receive_pending = true;
    return CLI_OK;
}

/* What answers a message shows that the peer has it, so the acknowledgement is not waited for; but the one
 * before has to be acknowledged, whose buffer is used again. */
static int send_next(struct pingpong_side *side, struct pingpong_link *link)
{
    bool idle = link->sends_pending < PINGPONG_SENDS && !link->receive_pending;
    return idle && side->posted < side->options->iters ? post_send(side, link) : CLI_OK;
}

/* Whether the last bytes of a message, less than a word, are those of some message of ours. */
static bool tail_is_ours(const struct pingpong_side *side, const uint8_t *message, uint32_t at)
{
    uint8_t ours[8];
    uint32_t size = side->options->size_bytes;
    for (uint32_t i = 0; i < side->options->pairs; i++) {
        const struct pingpong_link *link = &side->links[i];
        for (uint32_t back = 1; back <= link->posted && back <= MIXED_TAILS; back++) {
            cli_pattern_word(key_of(side, link, link->posted - back), at, ours);
            if (memcmp(message + at, ours, size - at) == 0)
                return true;
        }
    }
    return at == size;
}

/* A stock server has one buffer for all queue pairs, and when it sends again it sends what stands there
 * now: an answer may be made of words of any messages of ours. Where it is not, or `size`. */
static uint32_t compare_mixed(const struct pingpong_side *side, const uint8_t *message)
{
    uint32_t size = side->options->size_bytes, at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t key = cli_pattern_key(message + at, at);
        uint64_t pair = key >> 32;
        if (pair >= side->options->pairs || (uint32_t)key >= side->links[pair].posted)
            return at;
    }
    return tail_is_ours(side, message, at) ? size : at;
}

/* Compares a message with every form that the earlier ones left possible. */
static int verify(struct pingpong_side *side, const struct pingpong_link *link, const uint8_t *message)
{
    uint32_t size = side->options->size_bytes, farthest = 0;
    unsigned left = side->forms;
    for (unsigned form = 0; form < PINGPONG_FORM_COUNT; form++) {
        if (!(side->forms & 1u << form))
            continue;
        uint32_t same = pingpong_compare(form, key_of(side, link, link->received), message, size);
        if (same < size)
            left &= ~(1u << form);
        farthest = same > farthest ? same : farthest;
    }
    if (!left && side->is_client && side->options->pairs > 1 && side->forms == 1u << PINGPONG_FORM_COUNTED) {
        farthest = compare_mixed(side, message);
        side->mixed++;
        if (farthest == size)
            return CLI_OK;
    }
    side->forms = left;
    if (left)
        return CLI_OK;
    return cli_negative("message %u holds wrong data from byte %u on (0x%02x)", side->received + 1, farthest,
                        message[farthest]);
}

static struct pingpong_link *link_of(struct pingpong_side *side, uint32_t qpn)
{
    uint32_t i = 0;
    while (side->mine[i].qpn != qpn)
        i++;
    return &side->links[i];
}

static int check_length(const struct pingpong_side *side, uint32_t byte_len)
{
    uint32_t size = side->options->size_bytes, area = pingpong_area_bytes(side->options);
    if (byte_len == area + size)
        return CLI_OK;
    return cli_negative("message %u has %u bytes instead of %u: do both sides use the same -s?",
                        side->received + 1, byte_len - area, size);
}

static int on_receive(struct pingpong_side *side, const struct nornic_wc *wc)
{
    struct pingpong_link *link = link_of(side, wc->qp_num);
    uint64_t slot = wc->wr_id >> PINGPONG_WR_SHIFT;
    uint32_t area = pingpong_area_bytes(side->options);
    uint8_t *message = pingpong_slot(side, slot) + area;
    if (side->is_client)
        histogram_add(&side->round_trips, host_now_ns() - link->sent_at_ns);
    int err = check_length(side, wc->byte_len);
    if (err == CLI_OK && area && !cli_ud_area_names(message - area, &side->peer[0].gid, &side->mine[0].gid))
        err = cli_negative("the area before message %u does not name the peer's address", side->received + 1);
    if (err == CLI_OK)
        err = verify(side, link, message);
    if (!side->is_client)
        memcpy(link->next_buf, message, side->options->size_bytes);
    /* What is not written by the next message must not pass for it. */
    memset(message, POISON_BYTE, side->options->size_bytes);
    side->received++;
    link->received++;
    link->receive_pending = false;
    side->receives_posted--;
    if (err == CLI_OK && side->srq) {
        err = pingpong_post_receive(side, slot);
        side->receives_posted++;
    } else if (err == CLI_OK && side->receives_posted <= 1) {
        err = pingpong_post_receives(side);
    }
    return err == CLI_OK ? send_next(side, link) : err;
}

/* Nothing is missing but acknowledgements of what was sent last. A stock peer leaves as soon as it has all
 * that it wants; if its last acknowledgement was lost there is nobody who repeats it. That it had them cannot
 * be known (two generals), and is no failure. */
static bool peer_may_have_left(const struct pingpong_side *side, enum nornic_wc_status status)
{
    uint32_t iters = side->options->iters;
    return side->received >= iters && side->posted >= iters &&
           (status == NORNIC_WC_RETRY_EXC_ERR || status == NORNIC_WC_WR_FLUSH_ERR);
}

static int on_completion(struct pingpong_side *side, const struct nornic_wc *wc)
{
    uint32_t iters = side->options->iters;
    bool is_receive = (wc->wr_id & ((1u << PINGPONG_WR_SHIFT) - 1)) == PINGPONG_WR_RECV;
    if (peer_may_have_left(side, wc->status)) {
        side->sent += !is_receive;
        side->unacknowledged += !is_receive;
        return CLI_OK;
    }
    if (wc->status != NORNIC_WC_SUCCESS)
        return cli_negative("%s (%s) after %u of %u exchanges", cli_rc_status_words(wc->status),
                            nornic_wc_status_name(wc->status), side->received, iters);
    if (is_receive)
        return on_receive(side, wc);
    struct pingpong_link *link = &side->links[wc->wr_id >> PINGPONG_WR_SHIFT];
    side->sent++;
    link->sends_pending--;
    return send_next(side, link);
}

static void show_progress(const struct pingpong_side *side, uint64_t *next_ns)
{
    uint64_t now_ns = host_now_ns();
    if (now_ns < *next_ns)
        return;
    *next_ns = now_ns + LIVE_NS;
    fprintf(stderr, "\r  %u of %u exchanges", side->received, side->options->iters);
}

static int no_completion(const struct pingpong_side *side, int polled)
{
    uint32_t done = side->received, iters = side->options->iters;
    if (polled < 0)
        return cli_negative("the completion queue overflowed after %u of %u exchanges", done, iters);
    if (cli_stopped())
        return cli_negative("stopped after %u of %u exchanges", done, iters);
    enum pingpong_transport t = side->options->transport;
    return cli_negative("the peer sent nothing for %g s after %u of %u exchanges (%s)",
                        (double)side->options->timeout_ns / NS_PER_S, done, iters,
                        t == PINGPONG_UC || t == PINGPONG_UD ? "this service does not repeat what is lost"
                                                             : "-t waits longer");
}

static int exchange_all(struct pingpong_side *side, bool live)
{
    uint32_t iters = side->options->iters;
    uint64_t next_live_ns = live ? side->start_ns + LIVE_NS : NET_TIME_NONE;
    int err = CLI_OK;
    for (uint32_t i = 0; i < side->options->pairs && err == CLI_OK; i++) {
        side->links[i].receive_pending = !side->is_client;
        err = send_next(side, &side->links[i]);
    }
    while (err == CLI_OK && (side->sent < iters || side->received < iters)) {
        struct nornic_wc wcs[2];
        int n = cli_cq_wait(&side->cq, wcs, 2, side->options->timeout_ns);
        if (n <= 0)
            err = no_completion(side, n);
        for (int i = 0; i < n && err == CLI_OK; i++)
            err = on_completion(side, &wcs[i]);
        if (live)
            show_progress(side, &next_live_ns);
    }
    return err;
}

int pingpong_run(struct pingpong_side *side, bool quiet)
{
    bool live = !quiet && !side->options->json && isatty(STDERR_FILENO);
    side->start_ns = host_now_ns();
    int err = exchange_all(side, live);
    side->end_ns = host_now_ns();
    if (live)
        fprintf(stderr, "\r\033[K");
    return err;
}
