/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a filter: it is taken, or refused with a sentence; what was taken is asked of packets with few
 * layers and with many. */
#include <stdlib.h>
#include <string.h>

#include "explain/show/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

/* An RDMA WRITE first from 10.77.0.1 to 10.77.0.2, cut behind the RETH: every layer is there to be read. */
static const uint8_t write_first[] = {
    0x52, 0x54, 0x00, 0x4e, 0x00, 0x02, 0x52, 0x54, 0x00, 0x4e, 0x00, 0x01, 0x08, 0x00, /* Ethernet */
    0x45, 0x00, 0x00, 0x40, 0x00, 0x01, 0x40, 0x00, 0x40, 0x11, 0x25, 0xb2,             /* IPv4 */
    0x0a, 0x4d, 0x00, 0x01, 0x0a, 0x4d, 0x00, 0x02,                                     /* addresses */
    0xc1, 0x21, 0x12, 0xb7, 0x00, 0x2c, 0x00, 0x00,                                     /* UDP */
    0x06, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0x00, 0x10, 0x00,             /* BTH */
    0x00, 0x00, 0x55, 0xce, 0xa6, 0xdb, 0x00, 0x10, 0x00, 0x00, 0x0e, 0x71,             /* RETH */
    0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    struct nornic_error why = {0};
    char *text = malloc(len_bytes + 1);
    check(text != NULL);
    memcpy(text, data, len_bytes);
    text[len_bytes] = '\0';
    struct explain_filter *filter = explain_filter_parse(text, &why);
    check(filter ? 1 : why.text[0] != '\0');
    if (filter) {
        struct explain_meaning meaning = {.flow = 1, .message = 2};
        for (uint32_t len = 0; len <= sizeof write_first; len += 14) {
            struct explain_packet packet;
            explain_dissect(&packet,
                            &(struct net_capture_record){
                                .data = write_first, .len_bytes = len, .wire_bytes = sizeof write_first},
                            1);
            bool with = explain_filter_matches(filter, &packet, &meaning);
            check(with == explain_filter_matches(filter, &packet, &meaning));
            explain_filter_matches(filter, &packet, NULL);
        }
    }
    explain_filter_free(filter);
    free(text);
    return 0;
}
