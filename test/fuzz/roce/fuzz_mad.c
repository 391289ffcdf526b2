/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection manager between strange peers and a strange application: datagrams of any bytes and nearly
 * right ones, in every state, calls in any order, time, failing allocations. What it sends is well-formed, it
 * comes to rest, and nothing leaks.
 *
 * The input: steps, a byte (enum step) and what that step reads.
 * covers: ROCE-GEN-7, ROCE-CM-1, ROCE-CM-41, ROCE-CM-42, CA17-35, CA17-37 */
#include <stdlib.h>
#include <string.h>

#include "roce/cm/cm.h"
#include "test/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 400
#define IDS       12
#define QPS       6
#define RECORDS   8
#define PORT      7471

enum step {
    STEP_RAW = 0,    /* peer, u16 length, bytes */
    STEP_MESSAGE,    /* peer, attribute, which record it answers, the peer's Comm ID, patches */
    STEP_ECHO,       /* peer, which record, patches: what the CM said, said to it */
    STEP_WAIT,       /* a shift, a number of ns */
    STEP_NEXT,       /* to the next deadline, so many times */
    STEP_LISTEN,     /* port space, backlog */
    STEP_CONNECT,    /* port space and QP, peer */
    STEP_EVENTS,     /* gets, and acknowledges, so many */
    STEP_ACCEPT,     /* which id, QP, private data length */
    STEP_REJECT,     /* which id, reason */
    STEP_DISCONNECT, /* which id */
    STEP_ESTABLISH,  /* which id */
    STEP_MRA,        /* which id, service timeout */
    STEP_NOTIFY,     /* which id */
    STEP_DESTROY,    /* which id */
    STEP_FAIL,       /* which of the next allocations fails */
    STEP_COUNT
};

struct allocator {
    struct rdma_mem mem;
    unsigned live, fail_in; /* 0: none */
};

struct world {
    struct allocator alloc;
    uint64_t random, now_ns;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct roce_qp *qp[QPS];
    struct roce_cm *cm;
    struct roce_cm_id *id[IDS];
    struct roce_cm_mad record[RECORDS]; /* what the CM sent last */
    unsigned records;
    uint64_t sent, allowed; /* messages sent; and how many that may be */
};

static const struct nornic_addr here = {{[10] = 0xff, 0xff, 192, 0, 2, 1}};
static const struct nornic_addr peers[4] = {{{[10] = 0xff, 0xff, 192, 0, 2, 2}},
                                            {{[10] = 0xff, 0xff, 192, 0, 2, 3}},
                                            {{[0] = 0xfd, [15] = 4}},
                                            {{[10] = 0xff, 0xff, 192, 0, 2, 1}}};

static void *counted_alloc(void *ctx, size_t len_bytes)
{
    struct allocator *a = ctx;
    if (a->fail_in > 0 && --a->fail_in == 0)
        return NULL;
    void *p = calloc(1, len_bytes);
    a->live += p != NULL;
    return p;
}

static void counted_free(void *ctx, void *p)
{
    struct allocator *a = ctx;
    a->live -= p != NULL;
    free(p);
}

static uint64_t next_random(void *ctx)
{
    uint64_t *state = ctx;
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 29;
}

/* What it sends is in order, whatever it was told. */
static void carry(void *ctx, const struct roce_cm_path *path, const uint8_t *bytes, uint64_t now_ns)
{
    struct world *w = ctx;
    struct roce_cm_mad mad;
    uint8_t again[ROCE_MAD_BYTES];
    FUZZ_REQUIRE(now_ns == w->now_ns);
    FUZZ_REQUIRE(!nornic_addr_is_zero(&path->av.dgid));
    FUZZ_REQUIRE(++w->sent <= w->allowed); /* no storm out of nothing */
    bool known = roce_cm_mad_get(&mad, bytes);
    FUZZ_REQUIRE(mad.hdr.base_version == ROCE_MAD_BASE_VERSION);
    if (mad.hdr.mgmt_class != ROCE_MAD_CLASS_CM) {
        FUZZ_REQUIRE(mad.hdr.method == 0x81 && mad.hdr.status == ROCE_MAD_STATUS_INVALID);
        return;
    }
    FUZZ_REQUIRE(known && mad.hdr.class_version == ROCE_MAD_CM_VERSION);
    FUZZ_REQUIRE(mad.hdr.method == ROCE_MAD_METHOD_SEND && mad.hdr.status == 0);
    roce_cm_mad_put(again, &mad);
    FUZZ_REQUIRE(memcmp(again, bytes, sizeof again) == 0);
    if (mad.hdr.attr_id == ROCE_CM_REJ)
        FUZZ_REQUIRE(mad.rej.reason != ROCE_CM_REJ_INVALID_LID &&
                     mad.rej.reason != ROCE_CM_REJ_INVALID_ALT_LID);
    if (mad.hdr.attr_id == ROCE_CM_APR)
        FUZZ_REQUIRE(mad.apr.status != ROCE_CM_APR_LID);
    w->record[w->records++ % RECORDS] = mad;
}

static void begin(struct world *w)
{
    *w = (struct world){.now_ns = 1000000, .random = 7};
    w->alloc.mem = (struct rdma_mem){.alloc = counted_alloc, .free = counted_free, .ctx = &w->alloc};
    struct rdma_random random = {.next = next_random, .ctx = &w->random};
    struct roce_dev_config dev = {
        .mem = &w->alloc.mem, .random = random, .max_qp = 64, .max_mr = 8, .port_mtu_bytes = 1500};
    struct nornic_gid gid = {.addr = here, .mac = {{2, 0, 0, 0, 0, 1}}};
    struct roce_cm_wire wire = {.send = carry, .ctx = w};
    struct roce_cm_config cm = {
        .mem = &w->alloc.mem, .random = random, .wire = &wire, .port_mtu_bytes = 1500, .max_ids = 10};
    struct rdma_cq_config cq = {.capacity = 16};
    FUZZ_REQUIRE(roce_dev_create(&dev, &w->dev) == 0);
    FUZZ_REQUIRE(roce_dev_gid_add(w->dev, &gid) == 0);
    FUZZ_REQUIRE(rdma_pd_create(roce_dev_domain(w->dev), &w->pd) == 0);
    FUZZ_REQUIRE(rdma_cq_create(&w->alloc.mem, &cq, &w->cq) == 0);
    for (unsigned i = 0; i < QPS; i++) {
        struct roce_qp_config qp = {
            .type = NORNIC_QPT_RC,
            .pd = w->pd,
            .send_cq = w->cq,
            .recv_cq = w->cq,
            .caps = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
        FUZZ_REQUIRE(roce_qp_create(w->dev, &qp, &w->qp[i]) == 0);
    }
    FUZZ_REQUIRE(roce_cm_create(w->dev, &cm, &w->cm) == 0);
}

/* --- peers --- */

/* One datagram makes the CM send two at the most: a REJ and the DREQ of a stale connection. */
static void give(struct world *w, unsigned peer, const uint8_t *bytes, size_t len_bytes)
{
    struct roce_cm_path path = {
        .av = {.dgid = peers[peer % 4], .hop_limit = 64, .dst_mac = {{2, 0, 0, 0, 0, (uint8_t)peer}}},
        .remote_qpn = 1 + peer / 4u,
    };
    uint8_t *copy = malloc(len_bytes ? len_bytes : 1); /* exactly as long as it is */
    FUZZ_REQUIRE(copy);
    memcpy(copy, bytes, len_bytes);
    w->allowed = w->sent + 2;
    roce_cm_input(w->cm, &path, copy, len_bytes, w->now_ns);
    free(copy);
}

static void patch_and_give(struct world *w, unsigned peer, const struct roce_cm_mad *mad,
                           struct fuzz_input *in)
{
    uint8_t bytes[ROCE_MAD_BYTES];
    roce_cm_mad_put(bytes, mad);
    for (unsigned n = fuzz_u8(in) % 8; n > 0; n--) {
        uint8_t at = fuzz_u8(in);
        bytes[at] = fuzz_u8(in);
    }
    give(w, peer, bytes, sizeof bytes);
}

static void good_req(struct roce_cm_req *req, unsigned peer, uint8_t comm_id)
{
    struct roce_cm_path_block path = {.hop_limit = 64, .ack_timeout = 17};
    struct roce_cm_ip ip = {.ip_version = 4, .src_port = 5};
    *req = (struct roce_cm_req){
        .local_comm_id = comm_id,
        .service_id = UINT64_C(0x01060000) + PORT,
        .ca_guid = 1 + peer,
        .qpn = 100u + comm_id,
        .responder_resources = 4,
        .initiator_depth = 4,
        .local_resp_timeout = 16,
        .pkey = 0xffff,
        .path_mtu = 3,
        .max_cm_retries = 3,
    };
    memcpy(path.local_gid, peers[peer % 4].b, 16);
    memcpy(path.remote_gid, here.b, 16);
    roce_cm_path_block_put(req->primary, &path);
    roce_cm_ip_addr_put(ip.src, &peers[peer % 4]);
    roce_cm_ip_addr_put(ip.dst, &here);
    roce_cm_ip_put(req->private_data, &ip);
}

/* Comm IDs stand at the same place in all messages of a connection, the Request ID as well. */
static void message(struct world *w, struct fuzz_input *in)
{
    unsigned peer = fuzz_u8(in), attr = ROCE_CM_ATTR_FIRST + fuzz_u8(in) % ROCE_CM_ATTR_COUNT;
    const struct roce_cm_mad *to = &w->record[fuzz_u8(in) % RECORDS];
    uint8_t comm_id = fuzz_u8(in);
    struct roce_cm_mad mad = {.hdr = to->hdr};
    mad.hdr.base_version = ROCE_MAD_BASE_VERSION;
    mad.hdr.mgmt_class = ROCE_MAD_CLASS_CM;
    mad.hdr.class_version = ROCE_MAD_CM_VERSION;
    mad.hdr.method = ROCE_MAD_METHOD_SEND;
    mad.hdr.attr_id = (uint16_t)attr;
    mad.rtu.local_comm_id = comm_id;
    mad.rtu.remote_comm_id = to->rtu.local_comm_id;
    if (attr == ROCE_CM_REQ) {
        good_req(&mad.req, peer, comm_id);
    } else if (attr == ROCE_CM_REP) {
        mad.rep.qpn = 100u + comm_id;
        mad.rep.ca_guid = 1 + peer;
    } else if (attr == ROCE_CM_DREQ) {
        mad.dreq.remote_qpn = to->hdr.attr_id == ROCE_CM_REQ ? to->req.qpn : to->rep.qpn;
    } else if (attr == ROCE_CM_SIDR_REQ) {
        struct roce_cm_req req;
        good_req(&req, peer, comm_id);
        mad.sidr_req.service_id = UINT64_C(0x01110000) + PORT;
        memcpy(mad.sidr_req.private_data, req.private_data, ROCE_CM_IP_HDR_BYTES);
    } else if (attr == ROCE_CM_SIDR_REP) {
        mad.sidr_rep.request_id = to->sidr_req.request_id;
        mad.sidr_rep.status = comm_id & 7;
    }
    patch_and_give(w, peer, &mad, in);
}

static void raw(struct world *w, struct fuzz_input *in)
{
    unsigned peer = fuzz_u8(in);
    size_t len_bytes = fuzz_u16(in) % 300;
    if (len_bytes > in->left)
        len_bytes = in->left;
    give(w, peer, in->p, len_bytes);
    in->p += len_bytes;
    in->left -= len_bytes;
}

/* --- the application --- */

static void adopt(struct world *w, struct roce_cm_id *id)
{
    for (unsigned i = 0; i < IDS; i++)
        if (!w->id[i]) {
            w->id[i] = id;
            return;
        }
    FUZZ_REQUIRE(!"more ids than there can be");
}

static enum nornic_port_space space_of(uint8_t byte)
{
    static const enum nornic_port_space spaces[] = {NORNIC_PS_TCP, NORNIC_PS_UDP, NORNIC_PS_TCP,
                                                    NORNIC_PS_IB};
    return spaces[byte % 4];
}

static struct roce_cm_id *create(struct world *w, uint8_t how)
{
    struct roce_cm_id *id;
    if (roce_cm_id_create(w->cm, space_of(how), NULL, &id) != 0)
        return NULL;
    if (how & 0x40) /* only one of the IB port space takes it */
        roce_cm_id_set_qp_type(id, how & 0x80 ? NORNIC_QPT_XRC_INI : NORNIC_QPT_XRC_TGT);
    adopt(w, id);
    return id;
}

static void listen_on(struct world *w, uint8_t how, uint8_t backlog)
{
    struct roce_cm_id *id = create(w, how);
    if (id)
        roce_cm_listen(id, how & 4 ? &here : NULL, PORT, backlog % 4);
}

static void connect_to(struct world *w, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    struct roce_cm_route route = {.dst_port = PORT};
    struct nornic_conn_param param = {.responder_resources = 2, .initiator_depth = 2, .qp_num = 50u + how};
    struct roce_cm_id *id = create(w, how);
    route.path.av = (struct nornic_av){.dgid = peers[fuzz_u8(in) % 4], .hop_limit = 64};
    if (id)
        roce_cm_connect(id, &route, how & 8 && how % 4 != 1 ? w->qp[how >> 4 & 3] : NULL, &param, w->now_ns);
}

static void events(struct world *w, unsigned n)
{
    struct roce_cm_event e;
    while (n-- > 0 && roce_cm_get_event(w->cm, &e)) {
        FUZZ_REQUIRE(e.private_data_len <= sizeof e.private_data);
        FUZZ_REQUIRE(strcmp(nornic_cm_event_name(e.type), "?") != 0);
        FUZZ_REQUIRE((e.type == NORNIC_CM_EVENT_CONNECT_REQUEST) == (e.listen_id != NULL));
        if (e.type == NORNIC_CM_EVENT_CONNECT_REQUEST)
            adopt(w, e.id);
        roce_cm_ack_event(&e);
    }
}

static void accept_request(struct world *w, struct roce_cm_id *id, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in), data[256] = {0};
    struct nornic_conn_param param = {.responder_resources = how,
                                      .initiator_depth = how,
                                      .rnr_retry_count = how & 7,
                                      .qp_num = 60u + how,
                                      .private_data = data,
                                      .private_data_len = fuzz_u8(in)};
    roce_cm_accept(id, how & 1 ? w->qp[how >> 1 & 3] : NULL, how & 16 ? NULL : &param, w->now_ns);
}

static void call(struct world *w, enum step what, struct fuzz_input *in)
{
    uint8_t which = fuzz_u8(in) % IDS, data[256] = {0};
    struct roce_cm_id *id = w->id[which];
    if (!id)
        return;
    w->allowed = w->sent + 32;
    if (what == STEP_ACCEPT)
        accept_request(w, id, in);
    else if (what == STEP_REJECT)
        roce_cm_reject(id, fuzz_u8(in), data, fuzz_u8(in), w->now_ns);
    else if (what == STEP_DISCONNECT)
        roce_cm_disconnect(id, data, fuzz_u8(in), w->now_ns);
    else if (what == STEP_ESTABLISH)
        roce_cm_establish(id, data, fuzz_u8(in), w->now_ns);
    else if (what == STEP_MRA)
        roce_cm_mra(id, fuzz_u8(in), data, fuzz_u8(in), w->now_ns);
    else if (what == STEP_NOTIFY)
        roce_cm_notify_established(id, w->now_ns);
    else if (roce_cm_id_destroy(id, w->now_ns) == 0)
        w->id[which] = NULL;
}

/* --- time --- */

static void wait_until(struct world *w, uint64_t now_ns)
{
    w->now_ns = now_ns > w->now_ns ? now_ns : w->now_ns;
    w->allowed = w->sent + IDS; /* a timer fires once, for one message */
    roce_cm_progress(w->cm, w->now_ns);
    FUZZ_REQUIRE(roce_cm_deadline_ns(w->cm) > w->now_ns);
}

static bool next(struct world *w)
{
    uint64_t deadline_ns = roce_cm_deadline_ns(w->cm);
    if (deadline_ns == NET_TIME_NONE)
        return false;
    wait_until(w, deadline_ns);
    return true;
}

static void end(struct world *w)
{
    w->alloc.fail_in = 0;
    w->allowed = UINT64_MAX;
    for (unsigned rounds = 0; next(w); rounds++)
        FUZZ_REQUIRE(rounds < 1000); /* ids times retries */
    events(w, UINT32_MAX);
    w->allowed = UINT64_MAX;
    for (unsigned i = 0; i < IDS; i++)
        if (w->id[i])
            FUZZ_REQUIRE(roce_cm_id_destroy(w->id[i], w->now_ns) == 0);
    for (unsigned rounds = 0; next(w); rounds++)
        FUZZ_REQUIRE(rounds < 1000);
    FUZZ_REQUIRE(roce_cm_destroy(w->cm) == 0);
    for (unsigned i = 0; i < QPS; i++)
        roce_qp_destroy(w->qp[i]);
    rdma_cq_destroy(w->cq);
    FUZZ_REQUIRE(rdma_pd_destroy(w->pd) == 0);
    FUZZ_REQUIRE(roce_dev_destroy(w->dev) == 0);
    FUZZ_REQUIRE(w->alloc.live == 0);
}

static void step(struct world *w, struct fuzz_input *in)
{
    enum step what = (enum step)(fuzz_u8(in) % STEP_COUNT);
    uint8_t how;
    switch (what) {
    case STEP_RAW:
        return raw(w, in);
    case STEP_MESSAGE:
        return message(w, in);
    case STEP_ECHO:
        how = fuzz_u8(in);
        if (w->records > 0)
            patch_and_give(w, how & 7, &w->record[(how >> 3) % (w->records < RECORDS ? w->records : RECORDS)],
                           in);
        return;
    case STEP_WAIT:
        how = fuzz_u8(in);
        return wait_until(w, w->now_ns + ((uint64_t)fuzz_u8(in) << how % 32));
    case STEP_NEXT:
        for (how = fuzz_u8(in) % 32; how > 0 && next(w); how--)
            continue;
        return;
    case STEP_LISTEN:
        how = fuzz_u8(in);
        return listen_on(w, how, fuzz_u8(in));
    case STEP_CONNECT:
        w->allowed = w->sent + 1;
        return connect_to(w, in);
    case STEP_EVENTS:
        return events(w, fuzz_u8(in));
    case STEP_ACCEPT:
    case STEP_REJECT:
    case STEP_DISCONNECT:
    case STEP_ESTABLISH:
    case STEP_MRA:
    case STEP_NOTIFY:
    case STEP_DESTROY:
        return call(w, what, in);
    case STEP_FAIL:
        w->alloc.fail_in = fuzz_u8(in);
        return;
    case STEP_COUNT:
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    struct fuzz_input in = {.p = data, .left = size};
    begin(&w);
    for (unsigned i = 0; i < STEPS_MAX && in.left > 0; i++)
        step(&w, &in);
    end(&w);
    return 0;
}
