/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that move data stand on: GIDs, MTUs, memory, completions, names. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/memory.h"
#include "cli/node/options.h"
#include "cli/node/pattern.h"
#include "cli/node/rc.h"
#include "cli/node/tcp.h"
#include "cli/node/unreliable.h"
#include "net/memory.h"

static struct cli_node nodes[2];
static char said[1024];
static FILE *kept;

static void open_nodes(void)
{
    struct cli_node_config config = {.port = "memory"};
    cr_assert_eq(cli_node_open_pair(&config, nodes), CLI_OK);
    kept = stderr;
    stderr = fmemopen(said, sizeof said, "w");
}

static void close_nodes(void)
{
    fclose(stderr);
    stderr = kept;
    cr_assert_eq(cli_node_close(&nodes[0], CLI_OK), CLI_OK);
    cr_assert_eq(cli_node_close(&nodes[1], CLI_OK), CLI_OK);
}

TestSuite(node, .init = open_nodes, .fini = close_nodes, .timeout = 30);

static void expect_said(const char *words)
{
    fflush(stderr);
    cr_expect_not_null(strstr(said, words), "'%s' is not in: %s", words, said);
    rewind(stderr);
}

/* --- GIDs --- */

static const char *picked(const struct cli_node_config *config, const char *like)
{
    static char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_addr gid, wanted;
    unsigned index;
    if (like)
        cr_assert_eq(nornic_addr_parse(like, &wanted), 0);
    if (cli_node_pick_gid(&nodes[0], config, like ? &wanted : NULL, &index, &gid) != CLI_OK)
        return "none";
    nornic_addr_str(&gid, text);
    return text;
}

Test(node, a_gid_is_chosen_by_what_is_known)
{
    struct cli_node_config any = {.port = "memory"}, v6 = {.port = "memory", .ipv6 = true};
    cr_expect_str_eq(picked(&any, NULL), "10.77.0.1");
    cr_expect_str_eq(picked(&v6, NULL), "fd77::1");
    cr_expect_str_eq(picked(&any, "10.77.0.1"), "10.77.0.1");
    cr_expect_str_eq(picked(&any, "fd77::9"), "fd77::1", "the family of the peer");
    cr_expect_str_eq(picked(&any, "192.0.2.1"), "10.77.0.1");
}

Test(node, a_gid_is_chosen_by_its_index)
{
    struct cli_node_config first = {.has_gid_index = true, .gid_index = 0},
                           second = {.has_gid_index = true, .gid_index = 1},
                           none = {.has_gid_index = true, .gid_index = 9};
    cr_expect_str_eq(picked(&first, "fd77::9"), "10.77.0.1", "an index is an index");
    cr_expect_str_eq(picked(&second, NULL), "fd77::1");
    cr_expect_str_eq(picked(&none, NULL), "none");
    expect_said("memory has no GID with index 9");
}

Test(node, roce_v1_has_gids_of_its_own)
{
    struct cli_node v1[2];
    struct cli_node_config config = {.port = "memory", .roce_v1 = true};
    struct nornic_addr gid;
    unsigned index;
    cr_assert_eq(cli_node_open_pair(&config, v1), CLI_OK);
    cr_expect_eq(cli_node_pick_gid(&v1[0], &config, NULL, &index, &gid), CLI_OK);
    v1[0].roce_v1 = false; /* as if it spoke v2: none of these is for it */
    cr_expect_eq(cli_node_pick_gid(&v1[0], &config, NULL, &index, &gid), CLI_ERROR);
    expect_said("has no IP address: add one with `ip addr add`");
    cli_node_close(&v1[0], CLI_OK);
    cli_node_close(&v1[1], CLI_OK);
}

/* --- MTU --- */

Test(node, a_path_mtu_has_to_fit)
{
    static const uint32_t all[] = {256, 512, 1024, 2048, 4096};
    for (size_t i = 0; i < array_len(all); i++)
        cr_expect_eq(cli_node_check_pmtu(&nodes[0], all[i]), CLI_OK, "%u", all[i]);
}

/* A node on a port of this MTU. */
static struct cli_node small_node(uint32_t mtu_bytes)
{
    static struct net_port *ends[2];
    struct nornic_error why;
    struct cli_node node = {.memory = true};
    cr_assert_eq(net_memory_pair(mtu_bytes, 16, ends), 0);
    cr_assert_eq(host_dev_create_on(ends[0], &(struct host_dev_config){.no_thread = true}, &node.dev, &why),
                 0);
    net_port_close(ends[1]);
    node.api = host_dev_for_program(node.dev, false, (struct nornic_mac){{0}});
    cr_assert_not_null(node.api);
    return node;
}

Test(node, a_path_mtu_that_does_not_fit_is_told_with_the_largest_that_does)
{
    struct cli_node node = small_node(1500);
    cr_expect_eq(cli_node_check_pmtu(&node, 1024), CLI_OK);
    cr_expect_eq(cli_node_check_pmtu(&node, 2048), CLI_ERROR);
    expect_said(
        "path MTU 2048 does not fit memory, whose MTU is 1500 bytes: use at most 1024, or raise the MTU");
    cli_node_close(&node, CLI_OK);
}

Test(node, an_mtu_without_room_for_a_packet_is_told_as_such)
{
    static const uint32_t too_small[] = {100, 351};
    for (size_t i = 0; i < array_len(too_small); i++) {
        char words[128];
        struct cli_node node = small_node(too_small[i]);
        cr_expect_eq(cli_node_check_pmtu(&node, 256), CLI_ERROR, "%u", too_small[i]);
        snprintf(words, sizeof words,
                 "memory has an MTU of %u bytes, too small for RoCE: raise it to 352 at least", too_small[i]);
        expect_said(words);
        cli_node_close(&node, CLI_OK);
    }
    struct cli_node node = small_node(352);
    cr_expect_eq(cli_node_check_pmtu(&node, 256), CLI_OK);
    cli_node_close(&node, CLI_OK);
}

/* --- memory --- */

Test(node, memory_is_registered_and_given_back)
{
    struct cli_memory memory;
    struct nornic_error why;
    cr_assert_eq(cli_memory_open(nodes[0].api, 10000, NORNIC_ACCESS_REMOTE_READ, &memory, &why), 0);
    cr_expect_eq((uintptr_t)memory.bytes % 4096, 0);
    for (size_t i = 0; i < 10000; i++)
        cr_assert_eq(memory.bytes[i], 0, "byte %zu", i);
    cr_expect_not_null(memory.pd);
    cr_expect_not_null(memory.mr);
    cli_memory_close(&memory);
    cr_expect_null(memory.bytes);
    cr_expect_null(memory.mr);
    cli_memory_close(&memory); /* nothing is left to give back */
    struct cli_memory none = {.pd = NULL};
    cli_memory_close(&none);
}

Test(node, memory_that_there_is_not_is_told_of)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    cr_skip("a sanitizer ends a program that asks for so much");
#endif
    struct cli_memory memory;
    struct nornic_error why = {""};
    cr_expect_eq(cli_memory_open(nodes[0].api, UINT64_C(1) << 60, 0, &memory, &why), -ENOMEM);
    cr_expect_str_eq(why.text, "no memory for 1152921504606846976 bytes of messages");
    cli_memory_close(&memory);
}

/* --- completions --- */

Test(node, a_queue_without_completions_is_waited_for_as_long_as_was_said)
{
    struct nornic_wc wc;
    struct cli_cq cq;
    cr_assert_eq(cli_cq_create(&nodes[0], 4, &cq), CLI_OK);
    uint64_t start_ns = host_now_ns();
    cr_expect_eq(cli_cq_wait(&cq, &wc, 1, 50 * NS_PER_MS), 0);
    uint64_t waited_ns = host_now_ns() - start_ns;
    cr_expect_geq(waited_ns, 50 * NS_PER_MS);
    cr_expect_leq(waited_ns, 5 * NS_PER_S);
    cli_cq_destroy(&cq);
}

Test(node, every_failure_has_words)
{
    static const enum nornic_wc_status failures[] = {
        NORNIC_WC_LOC_LEN_ERR, NORNIC_WC_LOC_PROT_ERR,  NORNIC_WC_WR_FLUSH_ERR,      NORNIC_WC_REM_ACCESS_ERR,
        NORNIC_WC_REM_OP_ERR,  NORNIC_WC_RETRY_EXC_ERR, NORNIC_WC_RNR_RETRY_EXC_ERR,
    };
    for (size_t i = 0; i < array_len(failures); i++) {
        const char *words = cli_rc_status_words(failures[i]);
        cr_assert_not_null(words);
        cr_expect_gt(strlen(words), 10, "%s", words);
        cr_expect_neq(words[strlen(words) - 1], '.', "%s", words);
    }
    cr_expect_not_null(cli_rc_status_words((enum nornic_wc_status)999));
}

Test(node, a_psn_has_24_bits_and_differs)
{
    uint32_t seen = 0;
    bool differ = false;
    for (unsigned i = 0; i < 32; i++) {
        uint32_t psn = cli_rc_random_psn();
        cr_expect_lt(psn, 1u << 24);
        differ |= i > 0 && psn != seen;
        seen = psn;
    }
    cr_expect(differ);
}

Test(node, the_area_before_a_datagram_names_both)
{
    uint8_t area[CLI_UD_AREA_BYTES] = {0};
    struct nornic_addr a, b, c;
    cr_assert_eq(nornic_addr_parse("10.0.0.1", &a), 0);
    cr_assert_eq(nornic_addr_parse("10.0.0.2", &b), 0);
    cr_assert_eq(nornic_addr_parse("10.0.0.3", &c), 0);
    /* an IPv4 header in the last 20 of the 40 bytes (ROCE-UD-4): source at 12, destination at 16 */
    uint8_t *ip = area + CLI_UD_AREA_BYTES - 20;
    ip[0] = 0x45;
    memcpy(ip + 12, a.b + 12, 4);
    memcpy(ip + 16, b.b + 12, 4);
    cr_expect(cli_ud_area_names(area, &a, &b));
    cr_expect_not(cli_ud_area_names(area, &b, &a));
    cr_expect_not(cli_ud_area_names(area, &a, &c));
    cr_expect_not(cli_ud_area_names(area, &c, &b));
}

/* --- patterns --- */

Test(patterns, what_is_filled_is_found_and_what_is_changed_too)
{
    uint8_t buf[100];
    for (size_t len = 1; len <= sizeof buf; len++) {
        cli_pattern_fill(len * 77, buf, len);
        cr_expect_eq(cli_pattern_compare(len * 77, buf, len), len);
        for (size_t at = 0; at < len; at++) {
            buf[at] ^= 1;
            cr_expect_eq(cli_pattern_compare(len * 77, buf, len), at, "%zu of %zu", at, len);
            buf[at] ^= 1;
        }
        cr_expect_lt(cli_pattern_compare(len * 77 + 1, buf, len < 8 ? 8 : len), 8, "another message's");
    }
}

Test(patterns, a_word_tells_whose_it_is)
{
    uint8_t buf[64], word[8];
    for (uint64_t key = 1; key < UINT64_C(1) << 60; key = key * 3 + 1) {
        cli_pattern_fill(key, buf, sizeof buf);
        for (size_t at = 0; at < sizeof buf; at += 8) {
            cli_pattern_word(key, at, word);
            cr_expect_arr_eq(word, buf + at, 8, "at %zu", at);
            cr_expect_eq(cli_pattern_key(buf + at, at), key, "at %zu", at);
        }
    }
}

/* --- remedies --- */

Test(remedies, what_a_user_can_do)
{
    cr_expect_str_eq(cli_tcp_remedy(ECONNREFUSED), "; start the server there first");
    cr_expect_not_null(strstr(cli_tcp_remedy(ETIMEDOUT), "firewall"));
    cr_expect_not_null(strstr(cli_tcp_remedy(ENETUNREACH), "ip route get"));
    cr_expect_str_eq(cli_tcp_remedy(EHOSTUNREACH), cli_tcp_remedy(ENETUNREACH));
    cr_expect_not_null(strstr(cli_tcp_remedy(EADDRINUSE), "ss -ltnp"));
    cr_expect_str_eq(cli_tcp_remedy(EIO), "");
    cr_expect_not_null(strstr(cli_name_remedy(EAI_AGAIN), "/etc/resolv.conf"));
    cr_expect_not_null(strstr(cli_name_remedy(EAI_NONAME), "give the address"));
}

Test(remedies, are_said_where_a_connection_fails)
{
    struct nornic_error why = {""};
    int fd = -1, listen_fd;
    /* a port that nobody listens on: one that was ours until now */
    cr_assert_eq(cli_tcp_listen(0, &listen_fd, &why), 0, "%s", why.text);
    cr_expect_eq(cli_tcp_connect("127.0.0.1", 1, NS_PER_S, &fd, &why), -ECONNREFUSED);
    cr_expect_str_eq(why.text,
                     "cannot connect to 127.0.0.1, TCP port 1: Connection refused; start the server there "
                     "first");
    cr_expect_eq(cli_tcp_connect("nowhere.invalid", 1, NS_PER_S, &fd, &why), -EHOSTUNREACH);
    cr_expect_not_null(strstr(why.text, "cannot find the host 'nowhere.invalid': "), "%s", why.text);
    cr_expect_not_null(strstr(why.text, "give the address") || strstr(why.text, "resolv.conf") ? why.text
                                                                                               : NULL,
                       "%s", why.text);
}
