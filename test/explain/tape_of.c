/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/tape_of.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "net/pcap_file.h"

void tape_of(const char *name, tape_edit *change, tape_mend *mend, struct explain_tape *tape)
{
    char path[200];
    uint8_t bytes[8192];
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    uint64_t number = 0;
    *tape = (struct explain_tape){0};
    snprintf(path, sizeof path, "pcaps/%s.pcap", name);
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
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
