/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripted peer of a UD or GSI QP: script.h with such a QP in place of the connected one. */
#ifndef NORNIC_TEST_SUPPORT_DGRAM_H
#define NORNIC_TEST_SUPPORT_DGRAM_H

#include "test/support/script.h"

#define DGRAM_AREA_BYTES 40u /* before the payload of every receive */
#define DGRAM_GSI_QKEY   0x80010000u

/* As script_new(); config->state says how far the QP is taken. Freed by script_free(). */
struct script *dgram_new(const struct script_config *config, enum nornic_qp_type type);

/* A QP of the same device, on its CQs, in RTS with Q_Key `qkey`. The test destroys it. */
struct roce_qp *dgram_qp(struct script *s, uint32_t qkey);

/* RESET to `state`; ends the test if a step fails. */
void dgram_raise(struct script *s, struct roce_qp *qp, enum nornic_qp_state state, uint32_t qkey);

/* A handle towards the peer, or towards `dgid`. */
struct nornic_ah *dgram_ah(struct script *s);
struct nornic_ah *dgram_ah_to(struct script *s, const struct nornic_addr *dgid);

/* A signalled SEND of s->mem through `ah` to the peer's QPN and SCRIPT_QKEY. */
struct nornic_send_wr dgram_wr(struct script *s, struct nornic_ah *ah, uint64_t wr_id, struct nornic_sge *sge,
                               uint64_t mem_offset, uint32_t len_bytes);
/* Posts that and collects what leaves. */
void dgram_post(struct script *s, struct nornic_ah *ah, uint64_t wr_id, uint64_t mem_offset,
                uint32_t len_bytes);

/* A datagram of the peer to s->qp with nothing special: SCRIPT_QKEY, or the GSI's. */
struct script_pkt dgram_pkt(const struct script *s, const void *payload, uint32_t payload_bytes);

/* Address number `last` of the network of the device (1) and the peer (2). */
struct nornic_addr dgram_addr(const struct script *s, uint8_t last);

#endif
