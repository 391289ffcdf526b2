/* SPDX-License-Identifier: BSD-2-Clause */
/* The exchanges, with every received message compared whole. */
#include "cli/pingpong.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/rc.h"
#include "cli/stop.h"

#define NS_PER_S    1000000000ull
#define LIVE_NS     200000000ull
#define POISON_BYTE 0xa5 /* in no form of PINGPONG_FORM_STOCK; never the whole of a counted message */

static int post_send(struct pingpong_side *side)
{
    struct rdma_sge sge = {
        .addr = (uintptr_t)side->send_buf, .len_bytes = side->options->size_bytes, .lkey = side->mr->lkey};
    struct rdma_send_wr wr = {.wr_id = PINGPONG_WR_SEND,
                              .sg_list = &sge,
                              .num_sge = 1,
                              .opcode = RDMA_WR_SEND,
                              .send_flags = RDMA_SEND_SIGNALED};
    if (side->is_client)
        pingpong_fill(side->options->stock_check ? PINGPONG_FORM_STOCK_CHECKED : PINGPONG_FORM_COUNTED,
                      side->sent, side->send_buf, side->options->size_bytes);
    else
        memcpy(side->send_buf, side->recv_buf, side->options->size_bytes);
    /* What is not written by the next message must not pass for it. */
    memset(side->recv_buf, POISON_BYTE, side->options->size_bytes);
    side->sent_at_ns = host_now_ns();
    int rc = roce_post_send(side->qp, &wr, NULL);
    if (rc != 0)
        return cli_fail("cannot post a send: %s", strerror(-rc));
    side->send_pending = side->receive_pending = true;
    return CLI_OK;
}

/* Compares a message with every form that the earlier ones left possible. */
static int verify(struct pingpong_side *side, uint32_t len_bytes)
{
    uint32_t size = side->options->size_bytes, iter = side->received, farthest = 0;
    if (len_bytes != size)
        return cli_negative("message %u has %u bytes instead of %u: do both sides use the same -s?", iter + 1,
                            len_bytes, size);
    for (unsigned form = 0; form < PINGPONG_FORM_COUNT; form++) {
        if (!(side->forms & 1u << form))
            continue;
        uint32_t same = pingpong_compare(form, iter, side->recv_buf, size);
        if (same < size)
            side->forms &= ~(1u << form);
        farthest = same > farthest ? same : farthest;
    }
    if (side->forms)
        return CLI_OK;
    return cli_negative("message %u holds wrong data from byte %u on (0x%02x)", iter + 1, farthest,
                        side->recv_buf[farthest]);
}

static int on_receive(struct pingpong_side *side, const struct rdma_wc *wc)
{
    if (side->is_client)
        cli_histogram_add(&side->round_trips, host_now_ns() - side->sent_at_ns);
    int rc = verify(side, wc->byte_len);
    side->received++;
    side->receives_posted--;
    side->receive_pending = false;
    if (rc == CLI_OK && side->receives_posted <= 1)
        rc = pingpong_post_receives(side);
    return rc;
}

static int on_completion(struct pingpong_side *side, const struct rdma_wc *wc)
{
    uint32_t iters = side->options->iters;
    if (wc->status != RDMA_WC_SUCCESS)
        return cli_negative("%s (%s) after %u of %u exchanges", cli_rc_status_words(wc->status),
                            rdma_wc_status_name(wc->status), side->received, iters);
    int rc = CLI_OK;
    if (wc->wr_id == PINGPONG_WR_SEND) {
        side->sent++;
        side->send_pending = false;
    } else {
        rc = on_receive(side, wc);
    }
    if (rc == CLI_OK && side->sent < iters && !side->send_pending && !side->receive_pending)
        rc = post_send(side);
    return rc;
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
    return cli_negative("the peer sent nothing for %g s after %u of %u exchanges (-t waits longer)",
                        (double)side->options->timeout_ns / NS_PER_S, done, iters);
}

static int exchange_all(struct pingpong_side *side, bool live)
{
    uint32_t iters = side->options->iters;
    uint64_t next_live_ns = live ? side->start_ns + LIVE_NS : NET_TIME_NONE;
    side->receive_pending = true;
    int rc = side->is_client ? post_send(side) : CLI_OK;
    while (rc == CLI_OK && (side->sent < iters || side->received < iters)) {
        struct rdma_wc wcs[2];
        int n = cli_cq_wait(&side->cq, wcs, 2, side->options->timeout_ns);
        if (n <= 0)
            rc = no_completion(side, n);
        for (int i = 0; i < n && rc == CLI_OK; i++)
            rc = on_completion(side, &wcs[i]);
        if (live)
            show_progress(side, &next_live_ns);
    }
    return rc;
}

int pingpong_run(struct pingpong_side *side, bool quiet)
{
    bool live = !quiet && !side->options->json && isatty(STDERR_FILENO);
    side->start_ns = host_now_ns();
    int rc = exchange_all(side, live);
    side->end_ns = host_now_ns();
    if (live)
        fprintf(stderr, "\r\033[K");
    return rc;
}
