/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/show/filter.h"

#define CAPTURE "pcaps/rc_write_1024.pcap"

/* How many packets of the capture match. */
static unsigned count(const char *expression)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    unsigned matches = 0;
    struct explain_filter *filter = explain_filter_parse(expression, &why);
    cr_assert_not_null(filter, "%s", why.text);
    cr_assert_eq(net_capture_open(CAPTURE, &capture, &why), 0, "%s", why.text);
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) == 1; n++) {
        struct explain_packet p;
        explain_dissect(&p, &record, n);
        matches += explain_filter_matches(filter, &p, NULL);
    }
    net_capture_close(capture);
    explain_filter_free(filter);
    return matches;
}

Test(filter, counts_agree_with_the_manifest)
{
    cr_assert_eq(count("bth.opcode == RC_RDMA_WRITE_FIRST"), count("bth.opcode == 6"));
    cr_assert_gt(count("bth.opcode == RC_RDMA_WRITE_FIRST"), 0);
    cr_assert_eq(count("bth.opcode == rc_write_first"), count("bth.opcode == 0x06"));
    cr_assert_eq(count("bth"), count("aeth") + count("bth && !aeth"));
    cr_assert_eq(count("aeth.syndrome == ACK || aeth && aeth.syndrome != ACK"), count("aeth"));
    cr_assert_eq(count("eth"), count("n >= 1"));
    cr_assert_eq(count("n == 3"), 1);
    cr_assert_eq(count("n > 3 && n <= 5"), 2);
    cr_assert_eq(count("ip.src == 10.77.0.1") + count("ip.src != 10.77.0.1"), count("ip"));
    cr_assert_eq(count("ip.dst == 10.77.0.2 && ip.src == 10.77.0.1"), count("ip.dst == 10.77.0.2"));
    cr_assert_eq(count("eth.dst == 52:54:00:4e:00:02"),
                 count("ip.dst == 10.77.0.2") + count("!ip && eth.dst == 52:54:00:4e:00:02"));
    cr_assert_eq(count("bth.ack_req"), count("bth.ack_req == 1"));
    cr_assert_eq(count("ip6.src == fd77::1"), 0);
    cr_assert_eq(count("!(eth)"), 0);
    cr_assert_eq(count("!!eth"), count("eth"));
}

static void refused(const char *expression, const char *why)
{
    struct nornic_error err;
    cr_assert_null(explain_filter_parse(expression, &err), "%s", expression);
    cr_assert_not_null(strstr(err.text, why), "%s: %s", expression, err.text);
}

Test(filter, what_is_wrong_is_told_with_its_place)
{
    refused("", "character 1 (\"\"): a layer or a field");
    refused("bht.psn", "character 1 (\"bht.psn\"): no layer");
    refused("bth.psm == 1", "no field");
    refused("bth.psn ==", "a number");
    refused("bth.opcode == NONSENSE", "character 15 (\"NONSENSE\"): a number or the name");
    refused("bth.psn == 1 &&", "a layer or a field");
    refused("bth.psn == 1 2", "&& or ||");
    refused("(bth", "a ) is missing");
    refused("ip.src < 10.0.0.1", "only be compared");
    refused("ip.src == fd77::1", "an address");
    refused("eth.src == 1", "an address");
    refused("ip.src", "== or !=");
    refused("bth.psn == 0xg", "a number");
    refused("bth.psn == 99999999999999999999999", "a number");
}

Test(filter, depth_is_bounded)
{
    char deep[300];
    memset(deep, '!', sizeof deep - 4);
    strcpy(deep + sizeof deep - 4, "eth");
    refused(deep, "nested too deeply");
}

/* --- by what a packet means --- */

static bool matches(const char *expression, const struct explain_packet *p, const struct explain_meaning *m)
{
    struct nornic_error why;
    struct explain_filter *filter = explain_filter_parse(expression, &why);
    cr_assert_not_null(filter, "%s", why.text);
    bool is_match = explain_filter_matches(filter, p, m);
    explain_filter_free(filter);
    return is_match;
}

Test(filter, quantities_are_those_of_the_meaning)
{
    struct explain_packet p = {.number = 12, .wire_bytes = 1082, .len_bytes = 96};
    struct explain_meaning m = {.flow = 3, .message = 7, .smc = {.conn = 2}};
    cr_expect(matches("n == 12 && flow == 3 && message == 7 && connection == 2", &p, &m));
    cr_expect(matches("len == 1082", &p, &m), "on the wire, not as captured");
    cr_expect(!matches("flow == 3", &p, NULL));
    cr_expect(matches("flow == 0 && message == 0 && connection == 0", &p, NULL));
    cr_expect(matches("flow", &p, &m), "a quantity alone: it is not 0");
    cr_expect(!matches("connection", &p, NULL));
}

/* ! binds tighter than &&, && tighter than ||. */
Test(filter, operators_bind_as_in_c)
{
    struct explain_packet p = {.number = 5};
    cr_expect(matches("n == 5 || n == 1 && n == 2", &p, NULL));
    cr_expect(!matches("(n == 5 || n == 1) && n == 2", &p, NULL));
    cr_expect(matches("!n == 4 || n == 5", &p, NULL));
    cr_expect(matches("!(n == 4) && !(n == 6)", &p, NULL));
    cr_expect(matches("n >= 5 && n <= 5 && n != 4 && n < 6 && n > 4", &p, NULL));
}

/* A layer that comes again matches if one of them does. */
Test(filter, of_layers_that_come_again_any_may_match)
{
    const uint8_t bytes[32] = {[7] = 1, [16 + 7] = 2};
    struct explain_packet p = {.frame = bytes, .len_bytes = sizeof bytes, .layer_count = 2};
    for (unsigned i = 0; i < 2; i++)
        p.layers[i] = (struct explain_layer){
            .kind = &explain_layer_kinds[EXPLAIN_LAYER_LLC2_RTOKEN], .offset = 16 * i, .len_bytes = 16};
    cr_expect(matches("llc2_rtoken.rkey == 1", &p, NULL));
    cr_expect(matches("llc2_rtoken.rkey == 2", &p, NULL));
    cr_expect(!matches("llc2_rtoken.rkey == 3", &p, NULL));
    cr_expect(matches("llc2_rtoken.rkey != 1", &p, NULL), "the other one");
    cr_expect(!matches("cdc", &p, NULL));
}

/* A finding alone: any; compared: one of that kind. */
Test(filter, findings_are_asked_for_by_their_keys)
{
    struct nornic_error why;
    struct explain_packet p = {.number = 1};
    struct explain_meaning m = {
        .remark_count = 2,
        .remarks = {{.kind = EXPLAIN_FIND_RETRANSMISSION}, {.kind = EXPLAIN_FIND_TIMEOUT}}};
    cr_expect(
        matches("finding == timeout && finding == retransmission && finding != rnr && finding", &p, &m));
    cr_expect(!matches("finding == rnr || finding != timeout", &p, &m));
    m.remark_count = 0;
    cr_expect(!matches("finding || finding == timeout", &p, &m));
    cr_expect(matches("finding != timeout", &p, &m));
    cr_expect(!matches("finding", &p, NULL));
    cr_expect_null(explain_filter_parse("finding == frob", &why));
    cr_expect_null(explain_filter_parse("finding > timeout", &why));
}

Test(filter, addresses_with_a_prefix)
{
    struct nornic_error why;
    const uint8_t ip[20] = {[12] = 10, 77, 1, 129};
    struct explain_packet p = {.frame = ip, .len_bytes = sizeof ip, .layer_count = 1};
    p.layers[0] = (struct explain_layer){.kind = &explain_layer_kinds[EXPLAIN_LAYER_IP], .len_bytes = 20};
    cr_expect(matches("ip.src == 10.0.0.0/8 && ip.src == 10.77.1.128/25 && ip.src == 1.2.3.4/0", &p, NULL));
    cr_expect(matches("ip.src == 10.77.1.129/32 && ip.src != 10.77.1.0/25", &p, NULL));
    cr_expect(!matches("ip.src == 10.77.1.128/32 || ip.src == 11.0.0.0/8", &p, NULL));
    static const char *const wrong[] = {"ip.src == 10.0.0.0/33", "ip.src == 10.0.0.0/",
                                        "ip.src == 10.0.0.0/x", "eth.src == 02:00:00:00:00:01/8"};
    for (unsigned i = 0; i < array_len(wrong); i++)
        cr_expect_null(explain_filter_parse(wrong[i], &why), "%s", wrong[i]);
}
