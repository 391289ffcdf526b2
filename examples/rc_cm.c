/* SPDX-License-Identifier: BSD-2-Clause */
/* A reliable connection made by the connection manager, as RDMA services are: the client writes a
 * megabyte into the server's memory (RDMA WRITE), reads it back (RDMA READ), compares, and says so
 * (SEND); the server compares too, and answers.
 *
 * Both ends in this process, joined in memory:
 *
 *     rc_cm
 *
 * or each in a process of its own, on xdp:eth0 or packet:eth0; the client is told the server's address:
 *
 *     rc_cm server xdp:eth0
 *
 *     rc_cm client xdp:eth0 192.0.2.1
 *
 *     cc rc_cm.c $(pkg-config --cflags --libs nornic) -pthread */
#include <nornic/nornic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS    UINT64_C(1000000000)
#define PATIENCE_NS  (10 * SECOND_NS)
#define SERVICE_PORT 7471
#define DATA_BYTES   (1u << 20)
#define TEXT_BYTES   64
#define RIGHTS       (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ)

/* What the server tells in its answer: where its memory is. Both ends of this example have the same byte
 * order; a protocol would fix one. */
struct offer {
    uint64_t remote_addr;
    uint32_t rkey;
};

/* One end, and what it has. */
struct side {
    const char *name;
    struct nornic_dev *dev;
    struct nornic_cm *cm;
    struct nornic_cm_id *listener; /* the server's */
    struct nornic_cm_id *id;       /* of the connection */
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_qp *qp;
    struct nornic_mr *mr; /* of all that follows */
    struct {
        uint8_t data[DATA_BYTES], back[DATA_BYTES];
        char sent[TEXT_BYTES], received[TEXT_BYTES];
    } * memory;
};

static void die(const struct side *s, const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", s->name, what, why);
    exit(1);
}

static void check(const struct side *s, int err, const char *what)
{
    if (err)
        die(s, what, strerror(-err));
}

/* --- what both ends do --- */

static void create(struct side *s)
{
    struct nornic_error why;
    if (nornic_cm_open(s->dev, NULL, &s->cm, &why))
        die(s, "connection manager", why.text);
    s->memory = calloc(1, sizeof *s->memory);
    if (!s->memory)
        die(s, "memory", "there is none");
    check(s, nornic_pd_create(s->dev, &s->pd), "protection domain");
    check(s, nornic_mr_reg(s->pd, s->memory, sizeof *s->memory, RIGHTS, &s->mr), "memory region");
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 16};
    check(s, nornic_cq_create(s->dev, &cq, &s->cq), "completion queue");
}

static struct nornic_sge piece_of(const struct side *s, void *bytes, uint32_t len_bytes)
{
    return (struct nornic_sge){(uintptr_t)bytes, len_bytes, nornic_mr_lkey(s->mr)};
}

/* The queue pair, with a receive in it before the peer can send anything. */
static void create_queue_pair(struct side *s)
{
    struct nornic_qp_config qp = {
        NORNIC_INIT(qp),  .type = NORNIC_QPT_RC,
        .pd = s->pd,      .send_cq = s->cq,
        .recv_cq = s->cq, .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
    check(s, nornic_qp_create(s->dev, &qp, &s->qp), "queue pair");
    check(s, nornic_cm_id_prepare(s->id, s->qp), "queue pair to INIT");
    struct nornic_sge piece = piece_of(s, s->memory->received, TEXT_BYTES);
    struct nornic_recv_wr recv = {.sg_list = &piece, .num_sge = 1};
    check(s, nornic_qp_post_recv(s->qp, &recv, NULL), "post a receive");
}

/* Waits for an event, which the caller acknowledges. */
static struct nornic_cm_event *expect(struct side *s, enum nornic_cm_event_type wanted)
{
    struct nornic_cm_event *event;
    check(s, nornic_cm_get_event(s->cm, &event, PATIENCE_NS), nornic_cm_event_name(wanted));
    if (event->type != wanted)
        die(s, nornic_cm_event_name(wanted), nornic_cm_event_name(event->type));
    return event;
}

static void complete(struct side *s, enum nornic_wc_opcode wanted)
{
    struct nornic_wc wc;
    if (nornic_cq_wait(s->cq, &wc, 1, PATIENCE_NS) != 1)
        die(s, nornic_wc_opcode_name(wanted), "no completion");
    if (wc.status != NORNIC_WC_SUCCESS)
        die(s, nornic_wc_opcode_name(wanted), nornic_wc_status_name(wc.status));
    if (wc.opcode != wanted)
        die(s, nornic_wc_opcode_name(wanted), nornic_wc_opcode_name(wc.opcode));
}

/* Without a completion of its own: what the peer does next says that it has come. */
static void send_text(struct side *s, const char *text)
{
    snprintf(s->memory->sent, TEXT_BYTES, "%s", text);
    struct nornic_sge piece = piece_of(s, s->memory->sent, TEXT_BYTES);
    struct nornic_send_wr wr = {.sg_list = &piece, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    check(s, nornic_qp_post_send(s->qp, &wr, NULL), "post a SEND");
}

static uint8_t pattern(uint32_t i)
{
    return (uint8_t)(i * 2654435761u >> 24);
}

static void destroy(struct side *s)
{
    struct nornic_error why;
    check(s, nornic_qp_destroy(s->qp), "queue pair");
    nornic_cm_id_destroy(s->id);
    check(s, nornic_cm_close(s->cm), "connection manager");
    check(s, nornic_cq_destroy(s->cq), "completion queue");
    check(s, nornic_mr_dereg(s->mr), "memory region");
    check(s, nornic_pd_destroy(s->pd), "protection domain");
    if (nornic_dev_close(s->dev, &why))
        die(s, "device", why.text);
    free(s->memory);
}

/* --- the server --- */

static void start_listening(struct side *s)
{
    check(s, nornic_cm_id_create(s->cm, NORNIC_PS_TCP, NULL, &s->listener), "id");
    check(s, nornic_cm_id_listen(s->listener, NULL, SERVICE_PORT, 8), "listen");
}

static void serve(struct side *s)
{
    struct nornic_cm_event *event = expect(s, NORNIC_CM_EVENT_CONNECT_REQUEST);
    s->id = event->id;
    nornic_cm_ack_event(event);
    create_queue_pair(s);
    const struct offer offer = {nornic_mr_remote_addr(s->mr), nornic_mr_rkey(s->mr)};
    struct nornic_conn_param param = {.private_data = &offer,
                                      .private_data_len = sizeof offer,
                                      .responder_resources = 1,
                                      .rnr_retry_count = 7};
    check(s, nornic_cm_id_accept(s->id, s->qp, &param), "accept");
    nornic_cm_ack_event(expect(s, NORNIC_CM_EVENT_ESTABLISHED));

    complete(s, NORNIC_WC_RECV); /* the client is done, so its WRITE is here: RC keeps the order */
    for (uint32_t i = 0; i < DATA_BYTES; i++)
        if (s->memory->data[i] != pattern(i))
            die(s, "RDMA WRITE", "the data is not what the client wrote");
    printf("server: the client says \"%s\", and so it is\n", s->memory->received);
    send_text(s, "it is");
    nornic_cm_ack_event(expect(s, NORNIC_CM_EVENT_DISCONNECTED));
    check(s, nornic_cm_id_disconnect(s->id), "disconnect");
    nornic_cm_id_destroy(s->listener);
    destroy(s);
}

/* --- the client --- */

static void move(struct side *s, enum nornic_wr_opcode opcode, void *bytes, const struct offer *to)
{
    struct nornic_sge piece = piece_of(s, bytes, DATA_BYTES);
    struct nornic_send_wr wr = {.sg_list = &piece,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = to->remote_addr,
                                .rkey = to->rkey};
    check(s, nornic_qp_post_send(s->qp, &wr, NULL), "post");
}

static struct offer connect_to(struct side *s, const struct nornic_addr *server)
{
    struct nornic_error why;
    struct offer offer;
    check(s, nornic_cm_id_create(s->cm, NORNIC_PS_TCP, NULL, &s->id), "id");
    if (nornic_cm_id_resolve_addr(s->id, NULL, server, SERVICE_PORT, PATIENCE_NS, &why))
        die(s, "address", why.text);
    nornic_cm_ack_event(expect(s, NORNIC_CM_EVENT_ADDR_RESOLVED));
    check(s, nornic_cm_id_resolve_route(s->id), "route");
    nornic_cm_ack_event(expect(s, NORNIC_CM_EVENT_ROUTE_RESOLVED));
    create_queue_pair(s);
    struct nornic_conn_param param = {.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};
    check(s, nornic_cm_id_connect(s->id, s->qp, &param), "connect");
    struct nornic_cm_event *event = expect(s, NORNIC_CM_EVENT_ESTABLISHED);
    memcpy(&offer, event->private_data, sizeof offer);
    nornic_cm_ack_event(event);
    return offer;
}

static void ask(struct side *s, const struct nornic_addr *server)
{
    const struct offer offer = connect_to(s, server);
    for (uint32_t i = 0; i < DATA_BYTES; i++)
        s->memory->data[i] = pattern(i);
    move(s, NORNIC_WR_RDMA_WRITE, s->memory->data, &offer);
    complete(s, NORNIC_WC_RDMA_WRITE);
    move(s, NORNIC_WR_RDMA_READ, s->memory->back, &offer);
    complete(s, NORNIC_WC_RDMA_READ);
    if (memcmp(s->memory->data, s->memory->back, DATA_BYTES) != 0)
        die(s, "RDMA READ", "what came back is not what was written");
    send_text(s, "a megabyte there and back");
    complete(s, NORNIC_WC_RECV);
    printf("client: the server says \"%s\"\n", s->memory->received);
    check(s, nornic_cm_id_disconnect(s->id), "disconnect");
    nornic_cm_ack_event(expect(s, NORNIC_CM_EVENT_DISCONNECTED));
    destroy(s);
}

/* --- who is who --- */

static void *serve_thread(void *arg)
{
    serve(arg);
    return NULL;
}

static void run_both(void)
{
    struct side server = {.name = "server"}, client = {.name = "client"};
    struct nornic_dev_config config = {NORNIC_INIT(config)};
    struct nornic_dev *devices[2];
    struct nornic_error why;
    struct nornic_gid gid;
    pthread_t thread;
    if (nornic_dev_open_pair(&config, devices, &why))
        die(&server, "devices", why.text);
    server.dev = devices[0];
    client.dev = devices[1];
    check(&server, nornic_dev_query_gid(server.dev, 0, &gid), "address");
    create(&server);
    create(&client);
    start_listening(&server);
    check(&server, -pthread_create(&thread, NULL, serve_thread, &server), "thread");
    ask(&client, &gid.addr);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    struct side s = {.name = argc > 1 ? argv[1] : "rc_cm"};
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = argc > 2 ? argv[2] : NULL};
    struct nornic_error why;
    struct nornic_addr server;
    const bool is_server = argc == 3 && !strcmp(argv[1], "server");
    const bool is_client = argc == 4 && !strcmp(argv[1], "client") && !nornic_addr_parse(argv[3], &server);
    if (argc == 1) {
        run_both();
        return 0;
    }
    if (!is_server && !is_client)
        die(&s, "usage", "rc_cm, rc_cm server PORT, or rc_cm client PORT ADDRESS");
    if (nornic_dev_open(&config, &s.dev, &why))
        die(&s, "device", why.text);
    create(&s);
    if (is_client) {
        ask(&s, &server);
        return 0;
    }
    start_listening(&s);
    printf("server: listening\n");
    fflush(stdout);
    serve(&s);
    return 0;
}
