/* SPDX-License-Identifier: BSD-2-Clause */
/* The rings of the AF_XDP port without a kernel behind them: the test plays it, and writes descriptors as no
 * driver at hand does. */
#include <criterion/criterion.h>
#include <string.h>

#include "xdp/socket.h"

#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD (1u << 0)
#endif

#define CHUNKS 8u

static struct xdp_socket sock;
static uint8_t area[CHUNKS * XDP_CHUNK_BYTES];
static struct xdp_desc received[CHUNKS];
static uint64_t fill[CHUNKS];
static uint32_t indexes[4], flags;
static struct net_port_counters counters;

static void setup(void)
{
    sock = (struct xdp_socket){
        .multi_buffer = true, .area = area, .ring_frames = CHUNKS, .assembly.bytes = 3 * XDP_CHUNK_BYTES};
    sock.assembly.buffers = calloc(XDP_ASSEMBLIES, sock.assembly.bytes);
    sock.rx = (struct xsk_ring_cons){.mask = CHUNKS - 1,
                                     .size = CHUNKS,
                                     .producer = &indexes[0],
                                     .consumer = &indexes[1],
                                     .ring = received,
                                     .flags = &flags};
    /* The kernel has taken all chunks, so that all entries are free. */
    sock.fill = (struct xsk_ring_prod){.cached_cons = CHUNKS,
                                       .mask = CHUNKS - 1,
                                       .size = CHUNKS,
                                       .producer = &indexes[2],
                                       .consumer = &indexes[3],
                                       .ring = fill,
                                       .flags = &flags};
}

static void teardown(void)
{
    free(sock.assembly.buffers);
}

TestSuite(xdp_rings, .init = setup, .fini = teardown);

/* The kernel hands up `len` bytes that begin behind the headroom of chunk `chunk`. */
static void receive(uint32_t chunk, uint32_t len, bool more)
{
    uint64_t addr = (uint64_t)chunk * XDP_CHUNK_BYTES + XDP_HEADROOM;
    memset(area + addr, (int)('a' + chunk), len);
    received[indexes[0]++ % CHUNKS] =
        (struct xdp_desc){.addr = addr, .len = len, .options = more ? XDP_PKT_CONTD : 0};
}

/* A frame begins where the driver put it; what goes back is the chunk, whole. */
Test(xdp_rings, a_chunk_goes_back_from_its_beginning)
{
    struct net_frame frames[CHUNKS];
    receive(3, 100, false);
    receive(5, 200, false);
    cr_assert_eq(xdp_socket_rx_burst(&sock, frames, CHUNKS, &counters), 2);
    cr_expect_eq(frames[0].data, area + 3 * XDP_CHUNK_BYTES + XDP_HEADROOM);
    cr_expect_eq(frames[1].len_bytes, 200);
    cr_expect_eq(indexes[2], 0, "given back before it was read");
    xdp_socket_rx_release(&sock, frames, 2);
    cr_assert_eq(indexes[2], 2);
    cr_expect_eq(fill[0], 3 * XDP_CHUNK_BYTES);
    cr_expect_eq(fill[1], 5 * XDP_CHUNK_BYTES);
}

/* A frame of three chunks is copied together; each of its chunks goes back at once, and the copy is no
 * chunk: it does not go back at all. */
Test(xdp_rings, a_frame_put_together_is_not_given_back)
{
    struct net_frame frames[CHUNKS];
    receive(1, 3840, true);
    receive(2, 3840, true);
    receive(4, 20, false);
    receive(6, 64, false);
    cr_assert_eq(xdp_socket_rx_burst(&sock, frames, CHUNKS, &counters), 2);
    cr_expect_eq(frames[0].len_bytes, 7700);
    const uint8_t *bytes = frames[0].data;
    cr_expect(bytes[0] == 'b' && bytes[3840] == 'c' && bytes[7699] == 'e');
    cr_assert_eq(indexes[2], 3, "the pieces");
    xdp_socket_rx_release(&sock, frames, 2);
    cr_assert_eq(indexes[2], 4, "and the frame of one chunk, only");
    static const uint64_t chunks[] = {1, 2, 4, 6};
    for (unsigned i = 0; i < 4; i++)
        cr_expect_eq(fill[i], chunks[i] * XDP_CHUNK_BYTES, "%u", i);
}
