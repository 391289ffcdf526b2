/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a scenario: it is taken, or refused with a sentence; what was taken rewrites packets, and what
 * comes out is as long as what went in, with a good ICRC. */
#include <stdlib.h>
#include <string.h>

#include "explain/replay/rewrite.h"
#include "roce/wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

/* A WRITE from 10.0.0.1 to QP 5 of 10.0.0.2, and its ACK. */
static void fill(struct explain_tape *tape)
{
    const uint8_t a[4] = {10, 0, 0, 1}, b[4] = {10, 0, 0, 2};
    for (unsigned answer = 0; answer < 2; answer++) {
        struct roce_path path = {.vlan_tci = -1,
                                 .src = nornic_addr_from_v4(answer ? b : a),
                                 .dst = nornic_addr_from_v4(answer ? a : b),
                                 .hop_limit = 1,
                                 .src_port = 0xc000};
        struct roce_frame_template t;
        uint8_t frame[200] = {0};
        uint32_t bytes = ROCE_BTH_BYTES + (answer ? ROCE_AETH_BYTES : ROCE_RETH_BYTES);
        roce_frame_template_init(&t, &path);
        uint8_t *p = roce_frame_begin(&t, frame, bytes, 1);
        p = roce_bth_put(p, &(struct roce_bth){.opcode = answer ? ROCE_OP_ACK : ROCE_OP_WRITE_ONLY,
                                               .pkey = 0xffff,
                                               .dest_qpn = answer ? 6 : 5,
                                               .psn = 100});
        if (answer)
            roce_aeth_put(p, &(struct roce_aeth){.syndrome = 0x1f});
        else
            roce_reth_put(p, &(struct roce_reth){.va = 0x1000, .rkey = 7});
        uint32_t n = roce_frame_seal(&t, frame, bytes);
        struct net_capture_record record = {.data = frame, .len_bytes = n, .wire_bytes = n};
        check(explain_tape_add(tape, &record) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    static struct explain_scenario scenario;
    static struct explain_rewriter rewriter;
    struct explain_tape tape = {0};
    struct nornic_error why = {0};
    char *text = malloc(len_bytes + 1);
    check(text != NULL);
    memcpy(text, data, len_bytes);
    text[len_bytes] = '\0';
    int rc = explain_scenario_parse(&scenario, text, &why);
    check(rc == 0 || why.text[0]);
    fill(&tape);
    if (rc == 0 && explain_rewrite_begin(&rewriter, &tape, &scenario, &why) == 0)
        for (size_t i = 0; i < tape.count; i++) {
            uint8_t frame[200];
            struct roce_pkt pkt;
            uint32_t n = explain_rewrite(&rewriter, i, frame);
            check(n == tape.packets[i].len_bytes);
            enum roce_rx_verdict verdict = roce_pkt_parse(&pkt, frame, n, ROCE_PARSE_ALLOW_NO_DF);
            check(verdict != ROCE_RX_DROP_ICRC && pkt.icrc_found == pkt.icrc_expected);
        }
    explain_tape_free(&tape);
    free(text);
    return 0;
}
