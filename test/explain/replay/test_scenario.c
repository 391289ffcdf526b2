/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios: what a text says, and how one that is wrong is refused. What they do, test_rewrite.c and
 * test/e2e/rewrite.sh hold. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/scenario.h"
#include "rdma/mr.h"

static struct explain_scenario parse(const char *text)
{
    struct explain_scenario s;
    struct nornic_error why;
    cr_assert_eq(explain_scenario_parse(&s, text, &why), 0, "%s", why.text);
    return s;
}

Test(scenario, blanks_and_comments_say_nothing)
{
    struct explain_scenario s = parse("\n  # a comment\n\t\r\nqp 1 # of the server\n");
    cr_expect_eq(s.qp_count, 1);
    cr_expect_eq(s.key_count + s.address_count + s.to_count + s.rkey_count, 0);
    cr_expect_eq(s.qps[0].line, 4);
}

Test(scenario, a_queue_pair_says_only_what_stands_there)
{
    struct explain_scenario s =
        parse("qp 0x11 sq-psn 0x1000 mtu 1024\nqp 0xffffff rnr-timer 31 rq-psn 0xffffff");
    const struct explain_scenario_qp *a = &s.qps[0], *b = &s.qps[1];
    cr_expect(a->has_sq_psn && a->has_mtu && !a->has_rq_psn && !a->has_rnr_timer);
    cr_expect_eq(a->qpn, 0x11);
    cr_expect_eq(a->sq_psn, 0x1000);
    cr_expect_eq(a->pmtu_bytes, 1024);
    cr_expect(!b->has_sq_psn && !b->has_mtu && b->has_rq_psn && b->has_rnr_timer);
    cr_expect_eq(b->rq_psn, 0xffffff);
    cr_expect_eq(b->rnr_timer, 31);
}

Test(scenario, a_key_gives_reads_and_writes_unless_it_says_otherwise)
{
    struct explain_scenario s = parse("key 7 va 0x1000 bytes 64\nkey 8 bytes 1 access atomic\n"
                                      "key 9 bytes 1 access read\nkey 10 bytes 1 access read,atomic,write");
    cr_expect_eq(s.keys[0].va, 0x1000);
    cr_expect_eq(s.keys[0].bytes, 64);
    cr_expect_eq(s.keys[0].access,
                 NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_LOCAL_WRITE);
    cr_expect_eq(s.keys[1].access, NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_LOCAL_WRITE);
    cr_expect_eq(s.keys[2].access, NORNIC_ACCESS_REMOTE_READ);
    cr_expect_eq(s.keys[3].access, NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE |
                                       NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_LOCAL_WRITE);
}

Test(scenario, addresses_move_with_or_without_their_mac)
{
    struct explain_scenario s =
        parse("address 10.0.0.1 192.0.2.1\naddress fd77::1 fd77::9 02:00:5e:10:00:01");
    const uint8_t mac[] = {2, 0, 0x5e, 0x10, 0, 1};
    cr_expect(!s.addresses[0].has_mac && s.addresses[1].has_mac);
    cr_expect_arr_eq(s.addresses[1].mac.b, mac, sizeof mac);
    cr_expect(nornic_addr_is_v4(&s.addresses[0].to) && !nornic_addr_is_v4(&s.addresses[1].to));
}

Test(scenario, queue_pairs_and_keys_of_others)
{
    struct explain_scenario s =
        parse("to 10.0.0.2 5 qp 0x777 psn 0xfffffe\nto 10.0.0.1 6\nrkey 10.0.0.2 7 8 va 0x1000 0x3000\n"
              "rkey 10.0.0.2 9 10");
    cr_expect(s.tos[0].has_qpn && s.tos[0].has_psn && !s.tos[1].has_qpn && !s.tos[1].has_psn);
    cr_expect_eq(s.tos[0].new_qpn, 0x777);
    cr_expect_eq(s.tos[0].first_psn, 0xfffffe);
    cr_expect_eq(s.rkeys[0].va_to - s.rkeys[0].va_from, 0x2000);
    cr_expect_eq(s.rkeys[1].to, 10);
}

static void refused(const char *text, const char *words)
{
    struct explain_scenario s;
    struct nornic_error why;
    cr_expect_lt(explain_scenario_parse(&s, text, &why), 0, "%s", text);
    cr_expect_not_null(strstr(why.text, words), "%s: %s", text, why.text);
}

Test(scenario, what_is_wrong_is_told_with_its_line)
{
    refused("queue 1", "line 1 of the scenario: queue: a line begins with");
    refused("\n\nqp", "line 3 of the scenario: qp: something is to follow");
    refused("qp 0x1000000", "0x1000000: is no number");
    refused("qp -1", "-1: is no number");
    refused("qp 0x", "is no number");
    refused("qp 1 sq-psn", "sq-psn: a number is to follow");
    refused("qp 1 mtu 1000", "a path MTU is");
    refused("qp 1 rnr-timer 32", "32: is no number");
    refused("qp 1 speed 3", "after a QP come");
    refused("key 1", "say how large");
    refused("key 1 bytes 0", "say how large");
    refused("key 1 bytes 8 access execute", "execute: access is of");
    refused("key 1 bytes 8 access", "access is of");
    refused("key 1 size 8", "after a key come");
    refused("address 10.0.0.1", "an address is to follow");
    refused("address 10.0.0.1 fd77::1", "is of the other family");
    refused("address 10.0.0.1 10.0.0.2 02:00", "is no MAC address");
    refused("address 10.0.0.1 10.0.0.2 02:00:00:00:00:01x", "is no MAC address");
    refused("address host 10.0.0.2", "host: is no IPv4 or IPv6 address");
    refused("to 10.0.0.1 1 key 2", "after address and QP come");
    refused("rkey 10.0.0.1 1 2 at 3 4", "after the keys come");
    refused("rkey 10.0.0.1 1 2 va 3", "a number is to follow");
    refused("qp 1 1 1 1 1 1 1 1 1 1 1 1 1", "is one word too many");
}

Test(scenario, statements_are_bounded)
{
    static char text[EXPLAIN_SCENARIO_BYTES];
    size_t used = 0;
    for (unsigned i = 0; i < EXPLAIN_SCENARIO_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "qp %u\n", i);
    cr_expect_eq(parse(text).qp_count, EXPLAIN_SCENARIO_MAX);
    snprintf(text + used, sizeof text - used, "qp 1\n");
    refused(text, "line 257 of the scenario: qp: there are too many");
    memset(text, ' ', 1000);
    text[1000] = '\0';
    refused(text, "too long");
}
