/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/node/pattern.h"
#include "cli/pingpong/pingpong.h"
#include "cli/node/unreliable.h"

#define GID_V4 "00000000000000000000ffff0a4d0002"

/* As rdma-core's pp_client_exch_dest() prints it, for 10.77.0.2. */
static const char stock_line[] = "0000:000011:0f8e07:" GID_V4;

Test(pingpong_exchange, the_line_is_that_of_the_stock_program)
{
    struct pingpong_dest dest = {
        .qpn = 0x11, .psn = 0x0f8e07, .gid = nornic_addr_from_v4((uint8_t[]){10, 77, 0, 2})};
    char line[PINGPONG_LINE_BYTES];
    cr_assert_eq(sizeof line, sizeof stock_line);
    pingpong_dest_format(&dest, line);
    cr_assert_str_eq(line, stock_line);
    struct pingpong_dest back;
    cr_assert(pingpong_dest_parse(line, &back));
    cr_assert_eq(back.qpn, dest.qpn);
    cr_assert_eq(back.psn, dest.psn);
    cr_assert(nornic_addr_equal(&back.gid, &dest.gid));
}

/* Whatever single byte of the line is wrong in kind, it is no line. The stock program prints small letters
 * and reads both. */
Test(pingpong_exchange, what_is_no_line_is_refused)
{
    struct pingpong_dest dest;
    for (size_t i = 0; i < sizeof stock_line; i++) {
        char line[sizeof stock_line];
        memcpy(line, stock_line, sizeof line);
        line[i] = 'x';
        cr_assert_not(pingpong_dest_parse(line, &dest), "byte %zu", i);
    }
    cr_assert(pingpong_dest_parse("0000:00ABcd:0f8e07:" GID_V4, &dest));
    cr_assert_eq(dest.qpn, 0xabcd);
}

/* ibv_srq_pingpong: 256 lines each way, the unused ones zero. */
Test(pingpong, a_side_of_iwarp_says_so_by_its_lid)
{
    struct pingpong_dest dest = {.qpn = 0x11, .psn = 18515, .is_iwarp = true}, back;
    char line[PINGPONG_LINE_BYTES];
    pingpong_dest_format(&dest, line);
    cr_expect_eq(strncmp(line, "ffff:000011:004853:", 19), 0, "%s", line);
    cr_assert(pingpong_dest_parse(line, &back));
    cr_expect(back.is_iwarp);
    cr_assert(pingpong_dest_parse("0001:000011:004853:" GID_V4, &back));
    cr_expect_not(back.is_iwarp, "InfiniBand has LIDs");
}

Test(pingpong_exchange, many_lines_arrive_as_they_were)
{
    static struct pingpong_dest mine[PINGPONG_MAX_PAIRS], peer[PINGPONG_MAX_PAIRS];
    struct nornic_error why;
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    for (uint32_t i = 0; i < 3; i++)
        mine[i] = (struct pingpong_dest){
            .qpn = 0x15 + i, .psn = 0xc9b0a1 + i, .gid = nornic_addr_from_v4((uint8_t[]){10, 77, 0, 2})};
    cr_assert_eq(write(fds[1], "done", 5), 5);
    cr_assert_eq(pingpong_exchange_server_reply(fds[0], mine, PINGPONG_MAX_PAIRS, 1000000000, &why), 0);
    cr_assert_eq(pingpong_exchange_server_read(fds[1], peer, PINGPONG_MAX_PAIRS, 1000000000, &why), 0);
    cr_assert_arr_eq(peer, mine, sizeof mine);
    close(fds[0]);
    close(fds[1]);
}

Test(pingpong_data, the_stock_forms)
{
    uint8_t buf[9000];
    pingpong_fill(PINGPONG_FORM_STOCK_ZERO, 5, buf, sizeof buf);
    for (size_t i = 0; i < sizeof buf; i++)
        cr_assert_eq(buf[i], 0);
    pingpong_fill(PINGPONG_FORM_STOCK, 5, buf, sizeof buf);
    for (size_t i = 0; i < sizeof buf; i++)
        cr_assert_eq(buf[i], 0x7b);
    pingpong_fill(PINGPONG_FORM_STOCK_CHECKED, 5, buf, sizeof buf);
    for (size_t i = 0; i < sizeof buf; i++)
        cr_assert_eq(buf[i], i % 4096 == 0 ? 0 : 0x7b);
}

/* A form agrees with itself at every length, and names the byte that differs. */
Test(pingpong_data, comparing_finds_the_first_wrong_byte)
{
    uint8_t buf[4200];
    for (unsigned form = 0; form < PINGPONG_FORM_COUNT; form++) {
        for (uint32_t len = 1; len <= sizeof buf; len += len < 20 ? 1 : 523) {
            pingpong_fill(form, 3, buf, len);
            cr_assert_eq(pingpong_compare(form, 3, buf, len), len);
            uint32_t wrong = len * 2 / 3;
            buf[wrong] ^= 0x10;
            buf[len - 1] ^= len - 1 == wrong ? 0 : 1;
            cr_assert_eq(pingpong_compare(form, 3, buf, len), wrong, "form %u, %u bytes", form, len);
        }
    }
}

/* A message that was left over, or a word in the wrong place, does not pass. */
Test(pingpong_data, counted_messages_differ_in_every_word)
{
    uint64_t a[512], b[512];
    cli_pattern_fill(7, (uint8_t *)a, sizeof a);
    cli_pattern_fill(8, (uint8_t *)b, sizeof b);
    for (int i = 0; i < 512; i++)
        for (int j = 0; j < 512; j++)
            cr_assert(a[i] != b[j] && (i == j || a[i] != a[j]), "words %d and %d", i, j);
}

/* What ibv_srq_pingpong answers when several messages arrived in its one buffer: each word says whose it
 * is. */
Test(pingpong_data, a_word_tells_its_message_and_its_place)
{
    uint8_t buf[2000], word[8];
    for (uint32_t pair = 0; pair < 300; pair += 7) {
        uint64_t key = pingpong_key(pair, pair * 77777u);
        cli_pattern_fill(key, buf, sizeof buf);
        for (size_t at = 0; at < sizeof buf; at += 8) {
            cr_assert_eq(cli_pattern_key(buf + at, at), key);
            cr_assert_neq(cli_pattern_key(buf + at, at + 8), key);
            cli_pattern_word(key, at, word);
            cr_assert_arr_eq(word, buf + at, 8);
        }
    }
}

/* The areas that soft-RoCE wrote before a datagram from 10.77.0.1 to 10.77.0.2, as udaddy sent them back, and
 * an IPv6 header. */
Test(unreliable, the_area_before_a_datagram_names_both_ends)
{
    uint8_t v4[CLI_UD_AREA_BYTES] = {[20] = 0x45, 0,    0,  0xa0, 0x4d, 0xba, 0x40, 0,  0x40, 0x11,
                                     0xd7,        0xf6, 10, 77,   0,    1,    10,   77, 0,    2};
    struct nornic_addr a = nornic_addr_from_v4((uint8_t[]){10, 77, 0, 1}),
                       b = nornic_addr_from_v4((uint8_t[]){10, 77, 0, 2});
    cr_assert(cli_ud_area_names(v4, &a, &b));
    cr_assert_not(cli_ud_area_names(v4, &b, &a));
    uint8_t v6[CLI_UD_AREA_BYTES] = {0x60};
    struct nornic_addr c, d;
    cr_assert(nornic_addr_parse("fd77::1", &c) == 0 && nornic_addr_parse("fd77::2", &d) == 0);
    memcpy(v6 + 8, c.b, 16);
    memcpy(v6 + 24, d.b, 16);
    cr_assert(cli_ud_area_names(v6, &c, &d));
    cr_assert_not(cli_ud_area_names(v6, &c, &c));
}
