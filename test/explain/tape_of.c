/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/tape_of.h"

#include <criterion/criterion.h>
#include <string.h>

#include "test/explain/pcap.h"

void tape_of(const char *name, tape_edit *change, tape_mend *mend, struct explain_tape *tape)
{
    uint8_t bytes[8192];
    struct net_capture_record record;
    struct nornic_error why;
    uint64_t number = 0;
    *tape = (struct explain_tape){0};
    struct net_capture *capture = pcap_open(name);
    while (net_capture_next(capture, &record, &why) > 0) {
        cr_assert_leq(record.len_bytes, sizeof bytes);
        memcpy(bytes, record.data, record.len_bytes);
        record.data = bytes;
        number++;
        if (change && !change(number, bytes))
            continue;
        if (mend)
            mend(bytes, record.len_bytes);
        cr_assert_eq(explain_tape_add(tape, &record), 0);
    }
    net_capture_close(capture);
}
