/* SPDX-License-Identifier: BSD-2-Clause */
/* What a peer of rdmacm-utils does with each message: whether it is one of nornic's, and of which connection;
 * and what it posts. */
#include <criterion/criterion.h>
#include <isa-l/crc.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/peer/exchange.h"
#include "cli/peer/options.h"
#include "line.h"

#define CONNS 3

static struct peer_options server_options, client_options;
static const struct peer_kind rc = {.stock = "ucmatose", .qp_type = NORNIC_QPT_RC, PEER_EXCHANGE_KIND};
static const struct peer_kind ud = {.stock = "udaddy", .qp_type = NORNIC_QPT_UD, PEER_EXCHANGE_KIND};
static struct peer server, client;
static struct peer_conn conns[2][CONNS]; /* of the server, of the client */
static uint8_t memory[8192];

static void make_peers(void)
{
    server_options = (struct peer_options){.connections = CONNS, .messages = 4, .size_bytes = 100};
    client_options = server_options;
    client_options.host = "10.0.0.1";
    server = (struct peer){.options = &server_options, .kind = &rc, .conns = conns[0]};
    client = (struct peer){.options = &client_options, .kind = &rc, .conns = conns[1]};
    for (uint32_t i = 0; i < CONNS; i++) {
        conns[0][i] = (struct peer_conn){.peer = &server, .index = i, .memory = memory};
        conns[1][i] = (struct peer_conn){.peer = &client, .index = i, .memory = memory};
    }
    cli_command_set("cmatose");
}

TestSuite(peer_work, .init = make_peers, .timeout = 10);

/* Message `number` of `from` arrives at `to`. */
static int pass(const struct peer_conn *from, struct peer_conn *to, uint32_t number, uint32_t size_bytes)
{
    uint8_t buf[256];
    peer_fill(from, number, buf, size_bytes);
    return peer_received(to, number, buf, size_bytes);
}

Test(peer_work, messages_of_a_nornic_are_verified_each_way)
{
    for (uint32_t n = 0; n < 4; n++) {
        cr_expect_eq(pass(&conns[1][0], &conns[0][0], n, 100), CLI_OK);
        cr_expect_eq(pass(&conns[0][0], &conns[1][0], n, 100), CLI_OK);
    }
    cr_expect_eq(server.received, 4);
    cr_expect_eq(server.verified, 4);
    cr_expect_eq(client.verified, 4);
    cr_expect_eq(conns[0][0].verified, 4);
}

/* The two sides may count their connections in another order: the first message tells. */
Test(peer_work, the_other_sides_number_of_a_connection_is_learned)
{
    cr_expect_eq(pass(&conns[1][1], &conns[0][0], 0, 100), CLI_OK);
    cr_expect_eq(conns[0][0].peer_index, 1);
    cr_expect_eq(pass(&conns[1][1], &conns[0][0], 1, 100), CLI_OK);
    cr_expect_eq(server.verified, 2);
    for (unsigned other = 0; other < CONNS; other += 2) {
        line_catch();
        int status = pass(&conns[1][other], &conns[0][0], 2, 100);
        const struct line_result *r = line_caught();
        cr_expect_eq(status, CLI_NEGATIVE, "from then on it is that one, not %u", other);
        cr_expect_str_eq(r->err, "nornic cmatose: message 3 of connection 0 holds wrong data\n");
    }
    cr_expect_eq(server.received, 2, "it is not counted");
}

Test(peer_work, what_one_sent_itself_is_not_what_the_other_sends)
{
    uint8_t of_server[64], of_client[64];
    peer_fill(&conns[0][0], 0, of_server, sizeof of_server);
    peer_fill(&conns[1][0], 0, of_client, sizeof of_client);
    cr_expect_neq(memcmp(of_server, of_client, sizeof of_server), 0);
    cr_expect_eq(peer_received(&conns[1][0], 0, of_client, sizeof of_client), CLI_OK);
    cr_expect_eq(client.verified, 0, "its own words");
    cr_expect_eq(client.received, 1);
}

Test(peer_work, a_message_out_of_its_turn_is_wrong)
{
    uint8_t buf[100];
    cr_assert_eq(pass(&conns[1][0], &conns[0][0], 0, 100), CLI_OK);
    peer_fill(&conns[1][0], 2, buf, sizeof buf);
    line_catch();
    int status = peer_received(&conns[0][0], 1, buf, sizeof buf);
    cr_expect_str_eq(line_caught()->err, "nornic cmatose: message 2 of connection 0 holds wrong data\n");
    cr_expect_eq(status, CLI_NEGATIVE);
}

Test(peer_work, one_byte_that_changed_is_noticed_wherever_it_stands)
{
    uint8_t buf[100];
    cr_assert_eq(pass(&conns[1][1], &conns[0][1], 0, 100), CLI_OK);
    for (size_t at = 0; at < sizeof buf; at++) {
        peer_fill(&conns[1][1], 1, buf, sizeof buf);
        buf[at] ^= 0x80;
        line_catch();
        int status = peer_received(&conns[0][1], 1, buf, sizeof buf);
        line_caught();
        cr_expect_eq(status, CLI_NEGATIVE, "byte %zu", at);
    }
    cr_expect_eq(pass(&conns[1][1], &conns[0][1], 1, 100), CLI_OK);
}

/* A stock program sends what stood in its memory. */
Test(peer_work, messages_of_a_stock_program_are_counted_and_summed)
{
    static const uint8_t any[16] = "stock", zeros[16];
    cr_expect_eq(peer_received(&conns[0][0], 0, any, sizeof any), CLI_OK);
    cr_expect_eq(peer_received(&conns[0][0], 1, zeros, sizeof zeros), CLI_OK);
    cr_expect_eq(server.received, 2);
    cr_expect_eq(server.verified, 0);
    uint32_t sum = crc32_gzip_refl(0, any, sizeof any) + crc32_gzip_refl(0, zeros, sizeof zeros);
    cr_expect_eq(server.crc_sum, sum, "modulo 2^32, in any order");
}

/* --- the exchange --- */

static int complete(struct peer_conn *conn, enum peer_wr kind, uint32_t number, uint32_t byte_len)
{
    return peer_exchange_completed(
        conn, &(struct nornic_wc){.wr_id = peer_wr_id(kind, number), .byte_len = byte_len});
}

Test(peer_work, a_completion_is_of_one_kind)
{
    peer_fill(&conns[1][0], 0, memory, 100);
    cr_expect_eq(complete(&conns[0][0], PEER_WR_RECV, 0, 100), CLI_OK);
    cr_expect_eq(conns[0][0].received, 1);
    cr_expect_eq(conns[0][0].sent, 0);
    cr_expect_eq(complete(&conns[0][0], PEER_WR_SEND, 0, 0), CLI_OK);
    cr_expect_eq(conns[0][0].sent, 1);
    cr_expect_eq(server.sent, 1);
    cr_expect_eq(server.received, 1);
    cr_expect_eq(server.verified, 1);
}

/* Each message stands behind the one before. */
Test(peer_work, each_message_is_looked_for_where_it_was_received)
{
    for (uint32_t n = 4; n-- > 0;)
        peer_fill(&conns[1][0], n, memory + (size_t)n * 100, 100);
    for (uint32_t n = 4; n-- > 0;)
        cr_expect_eq(complete(&conns[0][0], PEER_WR_RECV, n, 100), CLI_OK, "message %u", n);
    cr_expect_eq(server.verified, 4);
}

Test(peer_work, a_message_of_another_size_is_told_with_both)
{
    static const uint32_t sizes[] = {0, 99, 101, 4096};
    for (size_t i = 0; i < array_len(sizes); i++) {
        char said[128];
        line_catch();
        int status = complete(&conns[0][0], PEER_WR_RECV, 1, sizes[i]);
        const struct line_result *r = line_caught();
        cr_expect_eq(status, CLI_NEGATIVE);
        snprintf(said, sizeof said,
                 "nornic cmatose: message 2 has %u bytes instead of 100: do both sides use the same -S?\n",
                 sizes[i]);
        cr_expect_str_eq(r->err, said);
        cr_expect_eq(conns[0][0].received, 0);
    }
}

/* A datagram has 40 bytes before it, which are none of its own. */
Test(peer_work, the_size_of_a_datagram_is_without_its_area)
{
    struct nornic_ah *known = (struct nornic_ah *)memory; /* only whether there is one is asked */
    server.kind = &ud;
    conns[0][0].ah = known;
    peer_fill(&conns[1][0], 0, memory + 40, 100);
    cr_expect_eq(complete(&conns[0][0], PEER_WR_RECV, 0, 140), CLI_OK);
    peer_fill(&conns[1][0], 1, memory + 180, 100);
    cr_expect_eq(complete(&conns[0][0], PEER_WR_RECV, 1, 140), CLI_OK);
    cr_expect_eq(server.verified, 2);
    line_catch();
    int status = complete(&conns[0][0], PEER_WR_RECV, 0, 100);
    const struct line_result *r = line_caught();
    cr_expect_eq(status, CLI_NEGATIVE);
    cr_expect_not_null(strstr(r->err, "message 1 has 60 bytes instead of 100"), "%s", r->err);
}

Test(peer_work, memory_holds_all_messages_both_ways)
{
    struct peer_options o = {.messages = PEER_MAX_MESSAGES, .size_bytes = 4096};
    cr_expect_geq(peer_exchange_memory(&o), (size_t)PEER_MAX_MESSAGES * (2 * 4096 + 40));
    o = (struct peer_options){.messages = 0, .size_bytes = 1};
    cr_expect_gt(peer_exchange_memory(&o), 0, "memory of nothing could not be registered");
    o = (struct peer_options){.messages = PEER_MAX_MESSAGES, .size_bytes = PEER_MAX_SIZE_BYTES};
    cr_expect_gt(peer_exchange_memory(&o), UINT64_C(1) << 44, "beyond 32 bits");
}

Test(peer_work, work_request_numbers_keep_kind_and_number_apart)
{
    static const enum peer_wr kinds[] = {PEER_WR_SEND, PEER_WR_RECV, PEER_WR_READ, PEER_WR_WRITE};
    for (size_t i = 0; i < array_len(kinds); i++)
        for (uint64_t n = 0; n <= PEER_MAX_MESSAGES; n += PEER_MAX_MESSAGES / 4) {
            cr_expect_eq(peer_wr_id(kinds[i], n) & 0xff, kinds[i]);
            cr_expect_eq(peer_wr_id(kinds[i], n) >> 8, n);
        }
}

/* --- that it listens --- */

Test(peer_work, a_script_reads_where_it_listens)
{
    server_options.service_port = 7471;
    line_catch();
    peer_say_listening(&server);
    cr_expect_str_eq(line_caught()->out, "listening on service port 7471\n");
    server_options.json = true;
    line_catch();
    peer_say_listening(&server);
    cr_expect_str_eq(line_caught()->out, "{\"listening\": 7471}\n");
}
