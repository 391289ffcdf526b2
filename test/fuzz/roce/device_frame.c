/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/fuzz/roce/device_frame.h"

#include <string.h>

#include "net/bytes.h"
#include "roce/wire/frame.h"
#include "roce/opcode.h"
#include "roce/psn.h"
#include "roce/wire.h"

static uint32_t choose_psn(const struct fuzz_qp *qp, uint8_t flags, uint32_t kind, struct fuzz_input *in)
{
    uint32_t psn = qp->expected_psn;
    if (kind & ROCE_PKT_RESPONSE) /* to any of the newest requests */
        psn = qp->request_psns[fuzz_u8(in) % FUZZ_REQUESTS];
    if (flags & FUZZ_FRAME_OUT_OF_ORDER) /* somewhere near */
        psn = roce_psn_add(psn, (uint32_t)(int8_t)fuzz_u8(in));
    return psn;
}

/* Near the ends of a region more often than anywhere else. */
static uint64_t choose_va(const struct fuzz_dev *dev, unsigned region, struct fuzz_input *in)
{
    uint16_t offset = fuzz_u16(in);
    return fuzz_remote_base(dev, region) + (uint64_t)(int64_t)(int16_t)offset;
}

static uint8_t *put_reth(uint8_t *p, const struct fuzz_dev *dev, uint8_t flags, uint32_t payload_bytes,
                         struct fuzz_input *in)
{
    unsigned region = fuzz_u8(in) % FUZZ_KEYS;
    struct roce_reth reth = {
        .va = choose_va(dev, region, in), .rkey = dev->key[region], .dma_len = payload_bytes};
    if (flags & FUZZ_FRAME_WHOLE)
        reth.dma_len = fuzz_u8(in) & 0x80 ? fuzz_u32(in) : fuzz_u16(in);
    if (flags & FUZZ_FRAME_BAD_KEY)
        reth.rkey ^= 1u << fuzz_u8(in) % 32;
    return roce_reth_put(p, &reth);
}

static uint8_t *put_atomiceth(uint8_t *p, const struct fuzz_dev *dev, uint8_t flags, struct fuzz_input *in)
{
    unsigned region = fuzz_u8(in) % FUZZ_KEYS;
    struct roce_atomiceth eth = {.va = choose_va(dev, region, in),
                                 .rkey = dev->key[region] ^ (flags & FUZZ_FRAME_BAD_KEY ? 1 : 0),
                                 .swap_add = 0x0101010101010101,
                                 .compare = 0xa5a5a5a5a5a5a5a5};
    return roce_atomiceth_put(p, &eth);
}

static uint8_t *put_ext(uint8_t *p, const struct fuzz_dev *dev, uint32_t kind, uint8_t flags,
                        uint32_t payload_bytes, struct fuzz_input *in)
{
    if (kind & ROCE_PKT_RDETH)
        p = roce_rdeth_put(p, &(struct roce_rdeth){0});
    if (kind & ROCE_PKT_DETH)
        p = roce_deth_put(p, &(struct roce_deth){.qkey = 1});
    if (kind & ROCE_PKT_XRCETH)
        p = roce_xrceth_put(
            p, &(struct roce_xrceth){.xrc_srqn = fuzz_srqn(dev) ^ (flags & FUZZ_FRAME_BAD_KEY ? 1 : 0)});
    if (kind & ROCE_PKT_RETH)
        p = put_reth(p, dev, flags, payload_bytes, in);
    if (kind & ROCE_PKT_ATOMICETH)
        p = put_atomiceth(p, dev, flags, in);
    if (kind & ROCE_PKT_MASKETH)
        p = roce_masketh_put(p, &(struct roce_masketh){0x00ff00ff00ff00ff, 0x0f0f0f0f0f0f0f0f});
    if (kind & ROCE_PKT_AETH) {
        uint8_t syndrome = fuzz_u8(in);
        p = roce_aeth_put(p, &(struct roce_aeth){.syndrome = syndrome, .msn = fuzz_u8(in)});
    }
    if (kind & ROCE_PKT_SACKETH) {
        uint8_t how = fuzz_u8(in);
        p = roce_sacketh_put(p, &(struct roce_sacketh){.version = how >> 2 & (how >> 7),
                                                       .probe = how & 1,
                                                       .known = how >> 1 & 1,
                                                       .room_pkts = fuzz_u8(in),
                                                       .stamp = fuzz_u8(in),
                                                       .echo = fuzz_u8(in)});
    }
    if (kind & ROCE_PKT_ATOMICACKETH)
        p = roce_atomicacketh_put(p, &(struct roce_atomicacketh){.original = 7});
    if (kind & ROCE_PKT_IMMDT)
        p = put_be32(p, 0x01020304);
    if (kind & ROCE_PKT_IETH)
        p = roce_ieth_put(p, &(struct roce_ieth){.rkey = dev->key[fuzz_u8(in) % FUZZ_KEYS]});
    if (kind & ROCE_PKT_CNP) {
        memset(p, 0, ROCE_CNP_BYTES);
        p += ROCE_CNP_BYTES;
    }
    return p;
}

static struct roce_path path_to(const struct fuzz_world *world, unsigned d, uint8_t odd)
{
    const struct fuzz_dev *dev = &world->dev[d], *peer = &world->dev[!d];
    const struct nornic_gid *gid = roce_dev_gid_get(dev->dev, 0);
    uint16_t vlan_id = gid ? gid->vlan_id : 0;
    struct roce_path path = {.src_mac = peer->mac,
                             .dst_mac = dev->mac,
                             .vlan_tci = vlan_id ? vlan_id : -1,
                             .src = peer->addr,
                             .dst = dev->addr,
                             .traffic_class = odd & FUZZ_ODD_ECN ? 3 : 0,
                             .hop_limit = 64,
                             .src_port = 0xc000};
    if (odd & FUZZ_ODD_ADDRESS)
        path.src.b[15] ^= 0x40;
    if (odd & FUZZ_ODD_VLAN)
        path.vlan_tci = 77;
    return path;
}

/* A request at the PSN that was due makes the next one due; the answers, once taken, tell better. */
static void expect_next(const struct fuzz_world *world, struct fuzz_qp *qp, uint32_t kind,
                        const uint8_t *transport)
{
    uint32_t psns = 1;
    if (kind & ROCE_PKT_READ) {
        struct roce_reth reth;
        roce_reth_get(&reth, transport + ROCE_BTH_BYTES + (kind & ROCE_PKT_XRCETH ? ROCE_XRCETH_BYTES : 0));
        psns = reth.dma_len ? (reth.dma_len - 1) / world->pmtu_bytes + 1 : 1;
    }
    qp->expected_psn = roce_psn_add(qp->expected_psn, psns);
}

void fuzz_frame(struct fuzz_world *world, unsigned d, struct fuzz_input *in)
{
    struct fuzz_dev *dev = &world->dev[d];
    uint8_t flags = fuzz_u8(in), odd = flags & FUZZ_FRAME_ODD ? fuzz_u8(in) : 0;
    uint8_t opcode = fuzz_u8(in);
    uint32_t kind = roce_opcodes[opcode].flags;
    struct fuzz_qp *qp = &dev->qp[flags & FUZZ_FRAME_QP1];
    uint32_t psn = choose_psn(qp, flags, kind, in);
    uint32_t payload_bytes = flags & FUZZ_FRAME_FULL   ? world->pmtu_bytes
                             : kind & ROCE_PKT_PAYLOAD ? fuzz_u16(in) % (world->pmtu_bytes + 8)
                                                       : 0;
    uint8_t pad = (uint8_t)(-payload_bytes & 3) ^ (odd & FUZZ_ODD_PAD ? 1 : 0);
    struct roce_bth bth = {.opcode = opcode,
                           .se = !!(flags & FUZZ_FRAME_SOLICITED),
                           .pad_count = pad,
                           .tver = !!(odd & FUZZ_ODD_TVER),
                           .pkey = odd & FUZZ_ODD_PKEY ? 0x1234 : 0xffff,
                           .dest_qpn = qp->qp ? roce_qp_num(qp->qp) + !!(odd & FUZZ_ODD_QPN) : 17,
                           .ack_req = !!(flags & FUZZ_FRAME_ACK_REQ),
                           .psn = psn};
    uint8_t transport[ROCE_BTH_BYTES + 64 + ROCE_PMTU_MAX_BYTES], frame[sizeof transport + 128];
    uint8_t *p = put_ext(roce_bth_put(transport, &bth), dev, kind, flags, payload_bytes, in);
    memset(p, 0x5a, payload_bytes + pad);
    p += payload_bytes + pad;
    struct roce_frame_template template;
    struct roce_path path = path_to(world, d, odd);
    roce_frame_template_init(&template, &path);
    uint32_t transport_bytes = (uint32_t)(p - transport);
    memcpy(roce_frame_begin(&template, frame, transport_bytes, world->ip_id++), transport, transport_bytes);
    uint32_t len_bytes = roce_frame_seal(&template, frame, transport_bytes);
    if (odd & FUZZ_ODD_ICRC)
        frame[len_bytes - 1] ^= 1;
    fuzz_give(world, d, frame, len_bytes);
    if (kind & ROCE_PKT_REQUEST && !odd && !(flags & FUZZ_FRAME_OUT_OF_ORDER))
        expect_next(world, qp, kind, transport);
}
