/* SPDX-License-Identifier: BSD-2-Clause */
/* A process dies in each state of a connection. Its notes are all that another CM has
 * (roce/cm/estate.h). The peer gets the message that the state asks for, with the numbers of the
 * connection. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "roce/cm/estate.h"
#include "test/cm/net.h"

#define ROWS 8

/* Notes of all nodes; handles are from 1. */
static struct {
    struct roce_cm_connection row[ROWS];
    bool is_used[ROWS];
} notes;

static void take_note(void *ctx, const struct roce_cm_connection *connection, uint32_t *handle)
{
    uint32_t row = *handle ? *handle - 1 : 0;
    (void)ctx;
    while (!*handle && row < ROWS && notes.is_used[row])
        row++;
    cr_assert_lt(row, ROWS);
    notes.is_used[row] = connection != NULL;
    if (connection)
        notes.row[row] = *connection;
    *handle = connection ? row + 1 : 0;
}

static void forget_notes(void)
{
    memset(&notes, 0, sizeof notes);
}

TestSuite(bury, .init = forget_notes, .timeout = 60);

static const struct cm_net_config noted = {.seed = 5, .cm = {.note = take_note}};

/* The ends of a connection: node 0 asks node 1. */
struct scene {
    struct cm_net *net;
    struct roce_cm_id *listener, *active, *passive; /* `passive`: NULL without a request */
    struct roce_qp *qp[2];
    unsigned dead; /* the node */
};

static const struct nornic_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};

static struct roce_cm_id *find_request(struct scene *s)
{
    s->passive = cm_net_expect(s->net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    return s->passive;
}

/* --- to a state: the application of `dead` is in it when it dies --- */

static void ask(struct scene *s)
{
    struct roce_cm_route route = cm_net_route(s->net, 0, 1, 7471);
    struct nornic_conn_param p = param;
    p.qp_num = roce_qp_num(s->qp[0]);
    cr_assert_eq(roce_cm_connect(s->active, &route, NULL, &p, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
}

static void ask_and_see(struct scene *s)
{
    ask(s);
    find_request(s);
}

static void ask_and_wait(struct scene *s)
{
    ask_and_see(s);
    cr_assert_eq(roce_cm_mra(s->passive, 20, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
}

static void answer(struct scene *s)
{
    ask_and_see(s);
    cr_assert_eq(roce_cm_accept(s->passive, s->qp[1], &param, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
}

/* Loses the next message of a kind. */
static void lose_next(struct scene *s, uint16_t attr)
{
    s->net->lose = cm_net_lose_some;
    s->net->lose_attr = attr;
    s->net->lose_count = 1;
}

static void answer_in_vain(struct scene *s)
{
    s->net->lose_from = 1;
    lose_next(s, ROCE_CM_REP);
    answer(s);
}

static void answer_and_see(struct scene *s)
{
    answer(s);
    cm_net_expect(s->net, 0, NORNIC_CM_EVENT_CONNECT_RESPONSE);
}

static void answer_and_wait(struct scene *s)
{
    answer_and_see(s);
    cr_assert_eq(roce_cm_mra(s->active, 20, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
}

static void confirm(struct scene *s)
{
    answer_and_see(s);
    cr_assert_eq(roce_cm_establish(s->active, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
}

static void confirm_in_vain(struct scene *s)
{
    lose_next(s, ROCE_CM_RTU);
    confirm(s);
}

static void establish(struct scene *s)
{
    confirm(s);
    cm_net_expect(s->net, 1, NORNIC_CM_EVENT_ESTABLISHED);
}

static void say_goodbye_in_vain(struct scene *s)
{
    establish(s);
    lose_next(s, ROCE_CM_DREQ);
    cr_assert_eq(roce_cm_disconnect(s->active, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
}

static void say_goodbye(struct scene *s)
{
    establish(s);
    cr_assert_eq(roce_cm_disconnect(s->active, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
    cm_net_expect(s->net, 1, NORNIC_CM_EVENT_DISCONNECTED);
}

static void hear_goodbye(struct scene *s)
{
    establish(s);
    cr_assert_eq(roce_cm_disconnect(s->passive, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
    cm_net_expect(s->net, 0, NORNIC_CM_EVENT_DISCONNECTED);
}

static void end(struct scene *s)
{
    say_goodbye(s);
    cr_assert_eq(roce_cm_disconnect(s->passive, NULL, 0, s->net->now_ns), 0);
    cm_net_run_for(s->net, NS_PER_MS);
    cm_net_expect(s->net, 0, NORNIC_CM_EVENT_DISCONNECTED);
}

static void send_lap(struct scene *s)
{
    establish(s);
    struct roce_cm_mad lap = {.hdr = {.mgmt_class = ROCE_MAD_CLASS_CM, .attr_id = ROCE_CM_LAP, .tid = 9}};
    lap.hdr.base_version = 1;
    lap.hdr.class_version = 2;
    lap.hdr.method = ROCE_MAD_METHOD_SEND;
    lap.lap.local_comm_id = cm_net_last(s->net, 0, ROCE_CM_REQ)->req.local_comm_id;
    lap.lap.remote_comm_id = cm_net_last(s->net, 1, ROCE_CM_REP)->rep.local_comm_id;
    lap.lap.remote_qpn = roce_qp_num(s->qp[1]);
    cm_net_inject(s->net, 0, 1, &lap);
    cr_assert_eq(cm_net_last(s->net, 1, ROCE_CM_APR)->apr.status, ROCE_CM_APR_UNSUPPORTED);
}

static void listen_alone(struct scene *s)
{
    (void)s;
}

#define NO_EVENT NORNIC_CM_EVENT_TIMEWAIT_EXIT
#define NOTHING  0

/* The state of the dead node, its message, and the event at the peer. */
static const struct {
    const char *name;
    void (*go)(struct scene *s);
    unsigned dead;
    enum roce_cm_state state; /* IDLE: there is no note */
    unsigned message;         /* enum roce_cm_attr, or NOTHING */
    uint16_t reason;          /* of a REJ */
    enum roce_cm_message rejected;
    enum nornic_cm_event_type event;
} deaths[] = {
    {"listens", listen_alone, 1, ROCE_CM_IDLE_STATE, NOTHING, 0, 0, NO_EVENT},
    {"REQ sent", ask_and_see, 0, ROCE_CM_REQ_SENT_STATE, ROCE_CM_REJ, ROCE_CM_REJ_TIMEOUT,
     ROCE_CM_MESSAGE_OTHER, NORNIC_CM_EVENT_REJECTED},
    {"REQ received", ask_and_see, 1, ROCE_CM_REQ_RCVD_STATE, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER,
     ROCE_CM_MESSAGE_REQ, NORNIC_CM_EVENT_REJECTED},
    {"REQ received, MRA sent", ask_and_wait, 1, ROCE_CM_MRA_REQ_SENT_STATE, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER,
     ROCE_CM_MESSAGE_REQ, NORNIC_CM_EVENT_REJECTED},
    {"REQ sent, MRA received", ask_and_wait, 0, ROCE_CM_MRA_REQ_RCVD_STATE, ROCE_CM_REJ, ROCE_CM_REJ_TIMEOUT,
     ROCE_CM_MESSAGE_OTHER, NORNIC_CM_EVENT_REJECTED},
    {"REP sent", answer_and_see, 1, ROCE_CM_REP_SENT_STATE, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER,
     ROCE_CM_MESSAGE_OTHER, NORNIC_CM_EVENT_REJECTED},
    {"REP sent and lost", answer_in_vain, 1, ROCE_CM_REP_SENT_STATE, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER,
     ROCE_CM_MESSAGE_OTHER, NORNIC_CM_EVENT_REJECTED},
    {"REP sent, RTU lost", confirm_in_vain, 1, ROCE_CM_REP_SENT_STATE, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER,
     ROCE_CM_MESSAGE_OTHER, NORNIC_CM_EVENT_DISCONNECTED},
    {"REP received", answer_and_see, 0, ROCE_CM_REP_RCVD_STATE, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER,
     ROCE_CM_MESSAGE_REP, NORNIC_CM_EVENT_REJECTED},
    {"REP received, MRA sent", answer_and_wait, 0, ROCE_CM_MRA_REP_SENT_STATE, ROCE_CM_REJ,
     ROCE_CM_REJ_CONSUMER, ROCE_CM_MESSAGE_REP, NORNIC_CM_EVENT_REJECTED},
    {"REP sent, MRA received", answer_and_wait, 1, ROCE_CM_MRA_REP_RCVD_STATE, ROCE_CM_REJ,
     ROCE_CM_REJ_CONSUMER, ROCE_CM_MESSAGE_OTHER, NORNIC_CM_EVENT_REJECTED},
    {"RTU sent and lost", confirm_in_vain, 0, ROCE_CM_ESTABLISHED_STATE, ROCE_CM_DREQ, 0, 0,
     NORNIC_CM_EVENT_DISCONNECTED},
    {"established, the client", establish, 0, ROCE_CM_ESTABLISHED_STATE, ROCE_CM_DREQ, 0, 0,
     NORNIC_CM_EVENT_DISCONNECTED},
    {"established, the server", establish, 1, ROCE_CM_ESTABLISHED_STATE, ROCE_CM_DREQ, 0, 0,
     NORNIC_CM_EVENT_DISCONNECTED},
    {"LAP refused", send_lap, 1, ROCE_CM_ESTABLISHED_STATE, ROCE_CM_DREQ, 0, 0, NORNIC_CM_EVENT_DISCONNECTED},
    {"LAP sent", send_lap, 0, ROCE_CM_ESTABLISHED_STATE, ROCE_CM_DREQ, 0, 0, NORNIC_CM_EVENT_DISCONNECTED},
    {"DREQ sent and lost", say_goodbye_in_vain, 0, ROCE_CM_DREQ_SENT_STATE, ROCE_CM_DREQ, 0, 0,
     NORNIC_CM_EVENT_DISCONNECTED},
    {"DREQ sent", say_goodbye, 0, ROCE_CM_DREQ_SENT_STATE, ROCE_CM_DREQ, 0, 0, NO_EVENT},
    {"DREQ received", say_goodbye, 1, ROCE_CM_DREQ_RCVD_STATE, ROCE_CM_DREP, 0, 0,
     NORNIC_CM_EVENT_DISCONNECTED},
    {"DREQ received, the client", hear_goodbye, 0, ROCE_CM_DREQ_RCVD_STATE, ROCE_CM_DREP, 0, 0,
     NORNIC_CM_EVENT_DISCONNECTED},
    {"timewait, the client", end, 0, ROCE_CM_IDLE_STATE, NOTHING, 0, 0, NO_EVENT},
    {"timewait, the server", end, 1, ROCE_CM_IDLE_STATE, NOTHING, 0, 0, NO_EVENT},
};

static struct scene begin(unsigned dead)
{
    struct scene s = {.net = cm_net_create(&noted), .dead = dead};
    (void)cm_net_qp(s.net, 0); /* so that the numbers of the two differ */
    s.qp[0] = cm_net_qp(s.net, 0);
    s.qp[1] = cm_net_qp(s.net, 1);
    cr_assert_neq(roce_qp_num(s.qp[0]), roce_qp_num(s.qp[1]));
    s.listener = cm_net_listen(s.net, 1, 7471, 8);
    s.active = cm_net_id(s.net, 0, NORNIC_PS_TCP);
    return s;
}

/* Puts the CM of the dead back, which the end of the test destroys with the rest. */
static void finish(struct scene *s, struct roce_cm *dead)
{
    cm_net_run(s->net, NET_TIME_NONE);
    struct roce_cm_event event;
    while (cm_net_event(s->net, s->dead, &event))
        cr_assert_eq(event.type, NORNIC_CM_EVENT_TIMEWAIT_EXIT, "the keeper gets %s",
                     nornic_cm_event_name(event.type));
    cm_net_revive(s->net, s->dead, dead);
    while (cm_net_event(s->net, s->dead, &event))
        ;
    if (s->passive)
        cm_net_drop(s->net, s->passive);
    cm_net_drop(s->net, s->active);
    cm_net_drop(s->net, s->listener);
    cm_net_run(s->net, NET_TIME_NONE);
    cm_net_destroy(s->net);
}

static const struct roce_cm_connection *note_of(const struct scene *s)
{
    const struct roce_cm_connection *found = NULL;
    for (unsigned i = 0; i < ROWS; i++)
        if (notes.is_used[i] && nornic_addr_equal(&notes.row[i].local, &s->net->node[s->dead].addr)) {
            cr_assert_null(found);
            found = &notes.row[i];
        }
    return found;
}

/* Expects the numbers of the connection in the last message. */
static void expect_numbers(const struct scene *s, const struct roce_cm_connection *c, unsigned message)
{
    const struct roce_cm_mad *mad = cm_net_last(s->net, s->dead, message);
    const bool is_new = c->state == ROCE_CM_REQ_RCVD_STATE; /* the peer knows no id of the asked side yet */
    if (message == ROCE_CM_DREQ) {
        cr_expect_eq(mad->dreq.local_comm_id, c->comm_id);
        cr_expect_eq(mad->dreq.remote_comm_id, c->remote_comm_id);
        cr_expect_eq(mad->dreq.remote_qpn, roce_qp_num(s->qp[!s->dead]), "the peer's queue pair");
    } else if (message == ROCE_CM_DREP) {
        cr_expect_eq(mad->drep.local_comm_id, c->comm_id);
        cr_expect_eq(mad->drep.remote_comm_id, c->remote_comm_id);
        cr_expect_eq(mad->hdr.tid, cm_net_last(s->net, !s->dead, ROCE_CM_DREQ)->hdr.tid, "echoed");
        cr_expect_eq(c->tid, mad->hdr.tid);
    } else {
        cr_expect_eq(mad->rej.local_comm_id, is_new ? 0 : c->comm_id);
        cr_expect_eq(mad->rej.remote_comm_id, c->remote_comm_id);
        cr_expect_eq(mad->hdr.tid, cm_net_last(s->net, 0, ROCE_CM_REQ)->hdr.tid, "of the whole exchange");
    }
}

static void expect_message(const struct scene *s, unsigned i, const struct roce_cm_connection *c)
{
    if (deaths[i].message == NOTHING)
        return;
    expect_numbers(s, c, deaths[i].message);
    if (deaths[i].message == ROCE_CM_REJ) {
        const struct roce_cm_rej *rej = &cm_net_last(s->net, s->dead, ROCE_CM_REJ)->rej;
        cr_expect_eq(rej->reason, deaths[i].reason, "%s: reason %u", deaths[i].name, rej->reason);
        cr_expect_eq(rej->rejected_message, deaths[i].rejected, "%s: %u", deaths[i].name,
                     rej->rejected_message);
    }
}

static void die(unsigned i)
{
    struct scene s = begin(deaths[i].dead);
    struct roce_cm_event event;
    const unsigned peer = !s.dead;
    deaths[i].go(&s);
    const struct roce_cm_connection *c = note_of(&s);
    cr_assert_eq(c ? c->state : ROCE_CM_IDLE_STATE, deaths[i].state, "%s: %s", deaths[i].name,
                 c ? roce_cm_state_name(c->state) : "no note");
    unsigned sent = s.net->log_count;
    struct roce_cm *dead = cm_net_die(s.net, s.dead);
    if (c) {
        struct roce_cm_connection copy = *c;
        cr_assert_eq(roce_cm_bury(s.net->node[s.dead].cm, &copy, s.net->now_ns), 0, "%s", deaths[i].name);
        c = &copy;
        cr_expect_eq(roce_cm_count_ending(s.net->node[s.dead].cm), deaths[i].message == ROCE_CM_DREQ);
        cr_assert_eq(s.net->log_count, sent + 1, "%s: a message", deaths[i].name);
        cr_assert_eq(s.net->log[sent].mad.hdr.attr_id, deaths[i].message, "%s", deaths[i].name);
        expect_message(&s, i, c);
        cm_net_run_for(s.net, NS_PER_MS);
    }
    if (deaths[i].event != NO_EVENT)
        cm_net_expect(s.net, peer, deaths[i].event);
    cr_assert_not(cm_net_event(s.net, peer, &event), "%s: also %s", deaths[i].name,
                  nornic_cm_event_name(event.type));
    finish(&s, dead);
}

/* covers: ROCE-CM-16, ROCE-CM-52 */
Test(bury, the_peer_gets_the_message_that_the_state_asks_for)
{
    for (unsigned i = 0; i < array_len(deaths); i++) {
        forget_notes();
        die(i);
    }
}

/* --- the DREQ, again --- */

/* A DREQ that gets no answer is repeated three times, each after 250 ms, and then the keeper is done. */
Test(bury, ROCE_CM_16_a_dreq_without_an_answer_is_repeated_for_a_second)
{
    struct scene s = begin(0);
    establish(&s);
    struct roce_cm_connection c = *note_of(&s);
    s.net->lose = cm_net_lose_some;
    s.net->lose_attr = ROCE_CM_DREQ;
    s.net->lose_count = 99;
    struct roce_cm *dead = cm_net_die(s.net, 0), *cm = s.net->node[0].cm;
    uint64_t begin_ns = s.net->now_ns;
    cr_assert_eq(roce_cm_bury(cm, &c, begin_ns), 0);
    cm_net_run(s.net, begin_ns + 700 * NS_PER_MS);
    cr_expect_eq(cm_net_count(s.net, 0, ROCE_CM_DREQ), 3);
    cr_expect_eq(roce_cm_count_ending(cm), 1);
    cm_net_run(s.net, begin_ns + NS_PER_S);
    cr_expect_eq(cm_net_count(s.net, 0, ROCE_CM_DREQ), 4);
    cr_expect_eq(roce_cm_count_ending(cm), 0);
    s.net->lose_count = 0;
    cm_net_expect_quiet(s.net);
    finish(&s, dead);
}

/* The DREP names the id of the dead process, which is no number of the keeper's own. A DREP of another
 * host, or for another id of the peer, ends nothing. */
Test(bury, ROCE_CM_17_the_drep_is_found_by_the_number_of_the_dead)
{
    struct scene s = begin(0);
    establish(&s);
    struct roce_cm_connection c = *note_of(&s);
    s.net->lose = cm_net_lose_some;
    s.net->lose_attr = ROCE_CM_DREQ;
    s.net->lose_count = 99;
    struct roce_cm *dead = cm_net_die(s.net, 0), *cm = s.net->node[0].cm;
    cr_assert_eq(roce_cm_bury(cm, &c, s.net->now_ns), 0);
    struct roce_cm_mad drep = {.hdr = cm_net_last(s.net, 0, ROCE_CM_DREQ)->hdr};
    drep.hdr.attr_id = ROCE_CM_DREP;
    drep.drep.local_comm_id = c.remote_comm_id;
    drep.drep.remote_comm_id = c.comm_id;
    cm_net_inject(s.net, 2, 0, &drep);
    cr_expect_eq(roce_cm_count_ending(cm), 1, "of another host");
    drep.drep.local_comm_id ^= 1;
    cm_net_inject(s.net, 1, 0, &drep);
    cr_expect_eq(roce_cm_count_ending(cm), 1, "for another id");
    drep.drep.local_comm_id ^= 1;
    drep.drep.remote_comm_id ^= 1;
    cm_net_inject(s.net, 1, 0, &drep);
    cr_expect_eq(roce_cm_count_ending(cm), 1, "of an id that is not there");
    drep.drep.remote_comm_id ^= 1;
    cm_net_inject(s.net, 1, 0, &drep);
    cr_expect_eq(roce_cm_count_ending(cm), 0);
    s.net->lose_count = 0;
    finish(&s, dead);
}

/* The peer asks for the end at the same time: its DREQ is answered, and is the end. */
Test(bury, dreqs_of_the_peer_and_of_the_keeper_cross)
{
    struct scene s = begin(0);
    establish(&s);
    struct roce_cm_connection c = *note_of(&s);
    struct roce_cm *dead = cm_net_die(s.net, 0);
    cr_assert_eq(roce_cm_bury(s.net->node[0].cm, &c, s.net->now_ns), 0);
    cr_assert_eq(roce_cm_disconnect(s.passive, NULL, 0, s.net->now_ns), 0);
    cm_net_run_for(s.net, NS_PER_MS);
    cr_expect_eq(roce_cm_count_ending(s.net->node[0].cm), 0);
    cm_net_expect(s.net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_expect_quiet(s.net);
    finish(&s, dead);
}

/* --- rows that cannot be of a connection, and too many of them --- */

static void spoil(struct roce_cm_connection *c, unsigned how)
{
    switch (how) {
    case 0:
        c->state = ROCE_CM_SIDR_REP_SENT_STATE + 1;
        return;
    case 1:
        c->state = UINT32_MAX;
        return;
    case 2:
        c->state = ROCE_CM_TIMEWAIT_STATE;
        return;
    case 3:
        c->comm_id = 0;
        return;
    case 4:
        c->remote_comm_id = 0;
        return;
    case 5:
        c->remote_qpn = 1;
        return;
    case 6:
        c->remote_qpn = ROCE_MULTICAST_QPN;
        return;
    case 7:
        c->path.remote_qpn = 2;
        return;
    }
    c->path.av.dgid = (struct nornic_addr){0};
}

#define SPOILS 9

/* covers: ROCE-CM-16 */
Test(bury, a_row_that_is_no_connection_sends_nothing)
{
    struct scene s = begin(0);
    establish(&s);
    struct roce_cm_connection c = *note_of(&s), bad;
    struct roce_cm *dead = cm_net_die(s.net, 0), *cm = s.net->node[0].cm;
    unsigned sent = s.net->log_count;
    for (unsigned how = 0; how < SPOILS; how++) {
        bad = c;
        spoil(&bad, how);
        cr_expect_eq(roce_cm_bury(cm, &bad, s.net->now_ns), -EINVAL, "%u", how);
    }
    bad = c; /* the asking side has no numbers of the peer yet */
    bad.remote_comm_id = bad.remote_qpn = 0;
    cr_expect_eq(roce_cm_bury(cm, &bad, s.net->now_ns), -EINVAL);
    cr_expect_eq(s.net->log_count, sent);
    cr_expect_eq(roce_cm_count_ending(cm), 0);
    bad.state = ROCE_CM_REQ_SENT_STATE;
    cr_expect_eq(roce_cm_bury(cm, &bad, s.net->now_ns), 0);
    cr_expect_eq(s.net->log_count, sent + 1);
    cr_assert_eq(roce_cm_bury(cm, &c, s.net->now_ns), 0);
    cm_net_run_for(s.net, NS_PER_MS);
    cm_net_expect(s.net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    finish(&s, dead);
}

Test(bury, without_room_or_memory_the_others_are_ended)
{
    struct cm_net_config config = noted;
    config.cm.max_ids = 2;
    struct scene s = {.net = cm_net_create(&config)};
    s.qp[0] = cm_net_qp(s.net, 0);
    s.qp[1] = cm_net_qp(s.net, 1);
    s.listener = cm_net_listen(s.net, 1, 7471, 8);
    s.active = cm_net_id(s.net, 0, NORNIC_PS_TCP);
    establish(&s);
    struct roce_cm_connection c = *note_of(&s);
    struct roce_cm *dead = cm_net_die(s.net, 0), *cm = s.net->node[0].cm;
    struct test_alloc *alloc = &s.net->node[0].alloc;
    unsigned sent = s.net->log_count;
    for (unsigned call = 1; call <= 2; call++) { /* the id, and the table of numbers */
        unsigned live = alloc->live;
        alloc->fail_at = alloc->calls + call;
        cr_expect_eq(roce_cm_bury(cm, &c, s.net->now_ns), -ENOMEM, "%u", call);
        cr_expect_eq(alloc->live, live);
    }
    alloc->fail_at = 0;
    cr_expect_eq(s.net->log_count, sent);
    cr_expect_eq(roce_cm_bury(cm, &c, s.net->now_ns), 0);
    c.comm_id++;
    cr_expect_eq(roce_cm_bury(cm, &c, s.net->now_ns), 0);
    c.comm_id++;
    cr_expect_eq(roce_cm_bury(cm, &c, s.net->now_ns), -ENOSPC);
    cr_expect_eq(roce_cm_count_ending(cm), 2);
    cm_net_run_for(s.net, NS_PER_MS);
    cm_net_expect(s.net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    finish(&s, dead);
}

/* --- notes --- */

/* Each change of a state is a note. The note goes when nothing is owed any more. */
Test(bury, notes_come_and_go_with_the_connection)
{
    struct scene s = begin(0);
    cr_expect_null(note_of(&s), "an id without a request");
    end(&s);
    cr_expect_null(note_of(&s));
    s.dead = 1;
    cr_expect_null(note_of(&s));
    struct roce_cm *dead = cm_net_die(s.net, 1);
    finish(&s, dead);

    forget_notes();
    s = begin(1);
    ask_and_see(&s);
    cr_assert_eq(roce_cm_reject(s.passive, 0, NULL, 0, s.net->now_ns), 0);
    cr_expect_null(note_of(&s), "rejected");
    cm_net_run_for(s.net, NS_PER_MS);
    cm_net_expect(s.net, 0, NORNIC_CM_EVENT_REJECTED);
    s.dead = 0;
    cr_expect_null(note_of(&s), "was rejected");
    dead = cm_net_die(s.net, 0);
    finish(&s, dead);
}

Test(bury, a_note_has_the_numbers_of_both_ends)
{
    struct scene s = begin(0);
    establish(&s);
    struct roce_cm_connection a = *note_of(&s), b;
    s.dead = 1;
    b = *note_of(&s);
    cr_expect_eq(a.comm_id, b.remote_comm_id);
    cr_expect_eq(b.comm_id, a.remote_comm_id);
    cr_expect_eq(a.local_qpn, roce_qp_num(s.qp[0]));
    cr_expect_eq(a.remote_qpn, roce_qp_num(s.qp[1]));
    cr_expect_eq(b.local_qpn, a.remote_qpn);
    cr_expect_eq(b.remote_qpn, a.local_qpn);
    cr_expect_eq(a.service_id, b.service_id);
    cr_expect_eq(a.tid, b.tid);
    cr_expect(nornic_addr_equal(&a.path.av.dgid, &b.local));
    cr_expect(nornic_addr_equal(&b.path.av.dgid, &a.local));
    struct roce_cm *dead = cm_net_die(s.net, 1);
    finish(&s, dead);
}
