/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/iwarp/asker.h"

#include <criterion/criterion.h>

struct side asker;
struct peer asked;

void asker_make(void)
{
    side_make(&asker, 1, NULL);
    peer_meet(&asked, &asker, true);
    iwarp_qp_set_emss(asker.qp, 1460);
    for (uint32_t i = 0; i < 65536; i++)
        asker.memory[i] = (uint8_t)(7 * i + i / 256);
}

void asker_free(void)
{
    side_free(&asker);
}

TestSuite(request, .init = asker_make, .fini = asker_free);

struct iwarp_read_req asker_read_request(uint32_t msn)
{
    struct iwarp_ulpdu u;
    struct iwarp_untagged ddp;
    struct iwarp_read_req req;
    iwarp_read_req_get(&req, peer_expect(&asked, &asker, IWARP_OP_READ_REQUEST, &u));
    iwarp_untagged_get(&ddp, u.bytes + 2);
    cr_assert(ddp.qn == 1 && ddp.msn == msn && ddp.mo == 0 && ddp.inv_stag == 0, "MSN %u", ddp.msn);
    return req;
}

void asker_answer(const struct iwarp_read_req *req, const void *data)
{
    peer_say_tagged(&asked, &asker, IWARP_OP_READ_RESPONSE, true, req->sink_stag, req->sink_to, data,
                    req->size);
}
