/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices under a script: frames of any bytes, frames that are nearly right, work requests, time,
 * changes of QPs and regions, failing allocations. The memory around registered regions is poisoned, so
 * that AddressSanitizer sees any access that nobody allowed; completions are held against what was posted;
 * nothing may leak.
 *
 * The input: bytes for fuzz_world_begin(), then steps: a byte whose lower four bits say what (enum step)
 * and whose highest bit says which device, then what that step reads. */
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/roce/device_frame.h"
#include "test/fuzz/roce/device_work.h"
#include "test/fuzz/roce/device_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 600

enum step {
    STEP_FRAME = 0,     /* fuzz_frame() */
    STEP_RAW_FRAME = 1, /* a length byte (times 4), then bytes; where there are trains, seg_bytes */
    STEP_TAKE = 2,      /* frames out of the device: how many */
    STEP_DELIVER = 3,   /* the oldest frame on the wire: what becomes of it */
    STEP_WAIT = 4,      /* a shift, a number of ns */
    STEP_POST_SEND = 5,
    STEP_POST_RECV = 6,
    STEP_POLL = 7,
    STEP_MODIFY = 8,
    STEP_REGION = 9, /* register or deregister */
    STEP_QP = 10,    /* destroy or create */
    STEP_FAIL = 11,  /* which of the next allocations fails */
    STEP_GID = 12,   /* remove or add */
    STEP_RUN = 13,   /* everything out of both devices and to its place, so many times */
};

/* The oldest frame arrives, is lost, arrives twice, or arrives with a bit turned. */
static void deliver(struct fuzz_world *world, uint8_t fate, struct fuzz_input *in)
{
    if (world->flight_count == 0)
        return;
    struct fuzz_flight *f = &world->flight[world->flight_first++ % FUZZ_FLIGHT];
    world->flight_count--;
    if (fate % 4 == 1)
        return;
    if (fate % 4 == 3) {
        uint32_t bit = fuzz_u16(in) % (f->len_bytes * 8);
        f->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    fuzz_give(world, f->to, f->bytes, f->len_bytes);
    if (fate % 4 == 2)
        fuzz_give(world, f->to, f->bytes, f->len_bytes);
}

static void run(struct fuzz_world *world, unsigned rounds, struct fuzz_input *in)
{
    for (unsigned i = 0; i < rounds; i++) {
        fuzz_take(world, 0, 8);
        fuzz_take(world, 1, 8);
        while (world->flight_count > 0)
            deliver(world, 0, in);
        fuzz_flush(world);
    }
}

static void give_raw(struct fuzz_world *world, unsigned d, struct fuzz_input *in)
{
    size_t len_bytes = fuzz_u8(in) * 4u;
    if (len_bytes > in->left)
        len_bytes = in->left;
    const uint8_t *bytes = in->p;
    in->p += len_bytes;
    in->left -= len_bytes;
    if (world->trains)
        fuzz_give_train(world, d, bytes, (uint32_t)len_bytes, fuzz_u16(in));
    else
        fuzz_give(world, d, bytes, (uint32_t)len_bytes);
}

static void toggle_region(struct fuzz_dev *dev, uint8_t how)
{
    unsigned region = how % FUZZ_MRS;
    if (dev->mr[region])
        fuzz_mr_deregister(dev, region);
    else if (region == 1) /* nobody may ever write to it */
        fuzz_mr_register(dev, region, how & 0x80 ? NORNIC_ACCESS_REMOTE_READ : 0);
    else
        fuzz_mr_register(dev, region, how >> 2);
}

static void toggle_gid(struct fuzz_world *world, struct fuzz_dev *dev, uint8_t how)
{
    if (how & 1)
        roce_dev_gid_remove(dev->dev, how >> 1 & 3, world->now_ns);
    else
        roce_dev_gid_add(dev->dev,
                         &(struct nornic_gid){.addr = dev->addr, .mac = dev->mac, .vlan_id = how >> 4});
}

static void step(struct fuzz_world *world, struct fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    unsigned d = what >> 7;
    struct fuzz_dev *dev = &world->dev[d];
    uint8_t how = 0;
    enum step step = (enum step)((what & 15) % (STEP_RUN + 1));
    if (step != STEP_FRAME && step != STEP_DELIVER) /* what is given in a row may make a train */
        fuzz_flush(world);
    switch (step) {
    case STEP_FRAME:
        return fuzz_frame(world, d, in);
    case STEP_RAW_FRAME:
        return give_raw(world, d, in);
    case STEP_TAKE:
        return fuzz_take(world, d, fuzz_u8(in));
    case STEP_DELIVER:
        how = fuzz_u8(in);
        return deliver(world, how, in);
    case STEP_WAIT:
        how = fuzz_u8(in);
        return fuzz_wait(world, (uint64_t)fuzz_u8(in) << how % 36);
    case STEP_POST_SEND:
        return fuzz_post_send(world, d, in);
    case STEP_POST_RECV:
        return fuzz_post_recv(world, d, in);
    case STEP_POLL:
        return fuzz_poll(world, d, in);
    case STEP_MODIFY:
        return fuzz_modify(world, d, in);
    case STEP_REGION:
        return toggle_region(dev, fuzz_u8(in));
    case STEP_QP:
        how = fuzz_u8(in);
        if (dev->qp[how & 1].qp)
            return fuzz_qp_destroy(dev, &dev->qp[how & 1]);
        fuzz_qp_create(world, d, how & 1);
        return fuzz_qp_connect(world, d, how & 1, in);
    case STEP_FAIL:
        dev->allocator.fail_in = fuzz_u8(in);
        return;
    case STEP_GID:
        return toggle_gid(world, dev, fuzz_u8(in));
    case STEP_RUN:
        return run(world, fuzz_u8(in) % 8, in);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_world world;
    struct fuzz_input in = {.p = data, .left = size};
    bool whole = fuzz_world_begin(&world, &in);
    for (unsigned i = 0; i < STEPS_MAX && in.left > 0 && whole; i++)
        step(&world, &in);
    fuzz_world_end(&world);
    return 0;
}
