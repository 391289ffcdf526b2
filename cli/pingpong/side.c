/* SPDX-License-Identifier: BSD-2-Clause */
/* What a side of the ping-pong owns. */
#include "cli/pingpong/pingpong.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/node/unreliable.h"

/* With an SRQ twice as many receives as queue pairs, each of which has one message under way, and the
 * peer may send each one more than it is answered (ibv_srq_pingpong counts what it has sent when it is
 * acknowledged). */
#define SRQ_SLOTS_PER_PAIR 2

uint32_t pingpong_area_bytes(const struct pingpong_options *options)
{
    return options->transport == PINGPONG_UD ? CLI_UD_AREA_BYTES : 0;
}

static uint32_t slot_count(const struct pingpong_options *o)
{
    if (o->transport != PINGPONG_SRQ)
        return 1;
    uint32_t wanted = SRQ_SLOTS_PER_PAIR * o->pairs;
    return o->rx_depth < wanted ? o->rx_depth : wanted;
}

static uint32_t slot_bytes(const struct pingpong_options *o)
{
    return pingpong_area_bytes(o) + o->size_bytes;
}

uint8_t *pingpong_slot(const struct pingpong_side *side, uint64_t i)
{
    return side->slots + i * slot_bytes(side->options);
}

static int register_memory(struct pingpong_side *side)
{
    const struct pingpong_options *o = side->options;
    struct nornic_error why;
    size_t sending = (size_t)o->pairs * o->size_bytes * PINGPONG_SENDS;
    size_t size = sending + (size_t)slot_count(o) * slot_bytes(o);
    if (cli_memory_open(side->node->api, size, NORNIC_ACCESS_LOCAL_WRITE, &side->memory, &why) != 0)
        return cli_fail("%s", why.text);
    side->slots = side->memory.bytes + sending;
    return CLI_OK;
}

static int create_srq(struct pingpong_side *side)
{
    const struct nornic_srq_config config = {NORNIC_INIT(config), .max_wr = slot_count(side->options),
                                             .max_sge = 1};
    int err = nornic_srq_create(side->memory.pd, &config, &side->srq);
    return !err ? CLI_OK : cli_fail("cannot create a shared receive queue: %s", strerror(-err));
}

int pingpong_post_receive(struct pingpong_side *side, uint64_t slot)
{
    struct nornic_sge sge = {.addr = (uintptr_t)pingpong_slot(side, slot),
                             .len_bytes = slot_bytes(side->options),
                             .lkey = side->memory.lkey};
    struct nornic_recv_wr wr = {
        .wr_id = PINGPONG_WR_RECV | slot << PINGPONG_WR_SHIFT, .sg_list = &sge, .num_sge = 1};
    int err = side->srq ? nornic_srq_post_recv(side->srq, &wr, NULL)
                        : nornic_qp_post_recv(side->links[0].qp, &wr, NULL);
    return !err ? CLI_OK : cli_fail("cannot post a receive: %s", strerror(-err));
}

int pingpong_post_receives(struct pingpong_side *side)
{
    uint32_t depth = side->srq ? slot_count(side->options) : side->options->rx_depth;
    int err = CLI_OK;
    for (; side->receives_posted < depth && err == CLI_OK; side->receives_posted++)
        err = pingpong_post_receive(side, side->srq ? side->receives_posted : 0);
    return err;
}

/* The forms that a message may have, as far as the options say. */
static unsigned forms(const struct pingpong_options *o, bool is_client)
{
    if (o->stock_check)
        return 1u << (o->transport == PINGPONG_SRQ ? PINGPONG_FORM_STOCK_ZERO : PINGPONG_FORM_STOCK_CHECKED);
    return is_client ? 1u << PINGPONG_FORM_COUNTED : (1u << PINGPONG_FORM_COUNT) - 1;
}

static int open_links(struct pingpong_side *side)
{
    const struct pingpong_options *o = side->options;
    side->links = calloc(o->pairs, sizeof *side->links);
    if (!side->links)
        return cli_fail("no memory for %u queue pairs", o->pairs);
    int err = CLI_OK;
    for (uint32_t i = 0; i < o->pairs && err == CLI_OK; i++) {
        side->links[i].send_buf = side->memory.bytes + (size_t)o->size_bytes * PINGPONG_SENDS * i;
        side->links[i].next_buf = side->links[i].send_buf + o->size_bytes;
        err = pingpong_link_open(side, i);
    }
    return err;
}

int pingpong_side_open(struct pingpong_side *side, const struct pingpong_options *options,
                       struct cli_node *node, bool is_client)
{
    memset(side, 0, sizeof *side);
    side->options = options;
    side->node = node;
    side->is_client = is_client;
    side->forms = forms(options, is_client);
    int err = register_memory(side);
    if (err == CLI_OK)
        err = cli_cq_create(node, options->rx_depth + PINGPONG_SENDS * options->pairs, &side->cq);
    if (err == CLI_OK && options->transport == PINGPONG_SRQ)
        err = create_srq(side);
    if (err == CLI_OK)
        err = open_links(side);
    if (err == CLI_OK)
        err = pingpong_post_receives(side);
    if (err != CLI_OK)
        pingpong_side_close(side);
    return err;
}

static void close_link(const struct pingpong_side *side, struct pingpong_link *link)
{
    if (link->qp)
        nornic_qp_destroy(link->qp);
    if (link->ah)
        nornic_ah_destroy(side->memory.pd, link->ah);
}

void pingpong_side_close(struct pingpong_side *side)
{
    cli_iwarp_close(&side->iwarp);
    for (uint32_t i = 0; side->links && i < side->options->pairs; i++)
        close_link(side, &side->links[i]);
    if (side->srq)
        nornic_srq_destroy(side->srq);
    if (side->cq.cq)
        cli_cq_destroy(&side->cq);
    cli_memory_close(&side->memory);
    free(side->links);
}
