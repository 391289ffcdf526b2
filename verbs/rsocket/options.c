/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of rsockets. Most are kept for who asks for them again: what they ask of TCP, RDMA does
 * anyway. */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "verbs/rsocket/rsocket.h"

/* --- those that are a number; most change nothing --- */

static const struct kept {
    int level, name;
    int preset;
} kept[] = {
    {SOL_SOCKET, SO_REUSEADDR, 0},      {SOL_SOCKET, SO_KEEPALIVE, 0},    {SOL_SOCKET, SO_OOBINLINE, 0},
    {SOL_SOCKET, SO_BROADCAST, 0},      {IPPROTO_TCP, TCP_NODELAY, 0},    {IPPROTO_TCP, TCP_MAXSEG, 0},
    {IPPROTO_TCP, TCP_KEEPCNT, 9},      {IPPROTO_TCP, TCP_KEEPINTVL, 75}, {IPPROTO_TCP, TCP_KEEPIDLE, 7200},
    {IPPROTO_IPV6, IPV6_V6ONLY, 0},     {IPPROTO_IP, IP_TOS, 0},          {IPPROTO_IPV6, IPV6_TCLASS, 0},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 0},
};
_Static_assert(array_len(kept) <= RS_OPTIONS_MAX, "an rsocket has a place for each");

/* The values are kept as their distance from the presets, so that a new rsocket has these. */
static int *find_kept(struct rsock *s, int level, int name, int *preset)
{
    for (size_t i = 0; i < array_len(kept); i++)
        if (kept[i].level == level && kept[i].name == name) {
            *preset = kept[i].preset;
            return &s->options[i];
        }
    return NULL;
}

unsigned rs_keepalive_s(const struct rsock *s)
{
    unsigned seconds = 0;
    bool is_on = false;
    for (size_t i = 0; i < array_len(kept); i++) {
        int value = kept[i].preset + s->options[i];
        if (kept[i].level == SOL_SOCKET && kept[i].name == SO_KEEPALIVE)
            is_on = value;
        if (kept[i].level == IPPROTO_TCP && kept[i].name == TCP_KEEPIDLE)
            seconds = (unsigned)value;
    }
    return is_on ? seconds : 0;
}

/* --- sizes --- */

static uint32_t queue(int wanted)
{
    return wanted < RS_QUEUE_MIN ? RS_QUEUE_MIN : min_u32((uint32_t)wanted, RS_QUEUE_MAX);
}

/* Twice what is asked for, as Linux does it for sockets. */
static uint32_t buffer(int wanted)
{
    return wanted < RS_BUFFER_MIN / 2 ? RS_BUFFER_MIN : min_u32((uint32_t)wanted, RS_BUFFER_MAX / 2) * 2;
}

/* 0 or an errno value; -1: it is none of these. What a connection has it keeps. */
static int set_size(struct rsock *s, int level, int name, int value)
{
    bool is_open = s->state != RS_NEW && s->state != RS_LISTENING;
    if (level == SOL_SOCKET && (name == SO_RCVBUF || name == SO_SNDBUF)) {
        if (!is_open)
            *(name == SO_RCVBUF ? &s->recv_bytes : &s->send_bytes) = buffer(value);
        return 0;
    }
    if (level != SOL_RDMA)
        return -1;
    if (is_open || value < 0)
        return EINVAL;
    if (name == RDMA_SQSIZE)
        s->sq_size = queue(value);
    else if (name == RDMA_RQSIZE)
        s->rq_size = queue(value);
    else if (name == RDMA_INLINE)
        s->inline_size = (uint32_t)value;
    else if (name == RDMA_IOMAPSIZE)
        s->own_iomaps = min_u32((uint32_t)value, RS_IOMAP_MAX);
    else
        return -1;
    return 0;
}

/* --- setting --- */

/* SO_RCVTIMEO, SO_SNDTIMEO. 0 or an errno value. */
static int set_timeout(uint64_t *timeout_ms, const void *value, socklen_t len)
{
    struct timeval wanted;
    if (!value || len < sizeof wanted)
        return EINVAL;
    memcpy(&wanted, value, sizeof wanted);
    if (wanted.tv_usec < 0 || wanted.tv_usec >= 1000000)
        return EDOM;
    /* None: 0, and what no clock will come to (some mean "without end" by the largest number). */
    bool is_none = wanted.tv_sec < 0 || wanted.tv_sec > INT32_MAX;
    *timeout_ms = is_none ? 0 : (uint64_t)wanted.tv_sec * 1000 + (uint64_t)(wanted.tv_usec + 999) / 1000;
    return 0;
}

/* What a number that is kept changes besides. 0 or an errno value. */
static int follow(struct rsock *s, int level, int name, int number)
{
    if (level == IPPROTO_TCP && name == TCP_USER_TIMEOUT) {
        if (number < 0)
            return EINVAL;
        s->user_timeout_ms = (uint64_t)number;
    }
    bool is_sharing = level == SOL_SOCKET && name == SO_REUSEADDR;
    if (is_sharing && s->type == SOCK_STREAM && s->state == RS_NEW &&
        rdma_set_option(s->id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &number, sizeof number))
        return errno;
    bool is_keepalive =
        level == SOL_SOCKET ? name == SO_KEEPALIVE : level == IPPROTO_TCP && name == TCP_KEEPIDLE;
    return is_keepalive && s->type == SOCK_STREAM ? rs_keep_alive(s, rs_keepalive_s(s)) : 0;
}

static int set(struct rsock *s, int level, int name, const void *value, socklen_t len)
{
    int number = 0, preset, *place;
    if (level == SOL_SOCKET && name == SO_LINGER)
        return 0; /* who closes waits until what was sent has arrived */
    if (level == IPPROTO_TCP && name == TCP_CONGESTION)
        return 0;
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
        return set_timeout(name == SO_RCVTIMEO ? &s->recv_timeout_ms : &s->send_timeout_ms, value, len);
    if (!value || len < sizeof number)
        return EINVAL;
    memcpy(&number, value, sizeof number);
    int err = set_size(s, level, name, number);
    if (err >= 0)
        return err;
    place = find_kept(s, level, name, &preset);
    if (!place)
        return verbs_fail(ENOTSUP, "rsockets have no option %d of level %d", name, level);
    if (level == IPPROTO_TCP && name == TCP_KEEPIDLE && number < 1)
        return EINVAL;
    *place = number - preset;
    return follow(s, level, name, number);
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    int err = set(s, level, optname, optval, optlen);
    int answer = rs_ended(s, __func__, err);
    rs_done(s);
    return answer;
}

/* --- asking --- */

static int get_own(struct rsock *s, int name, int *out)
{
    switch (name) {
    case SO_ERROR:
        rs_progress(s);
        *out = rs_take_err(s);
        return 0;
    case SO_TYPE:
        *out = s->type;
        return 0;
    case SO_DOMAIN:
        *out = s->family;
        return 0;
    case SO_PROTOCOL:
        *out = s->type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
        return 0;
    case SO_ACCEPTCONN:
        *out = s->state == RS_LISTENING;
        return 0;
    case SO_RCVBUF:
        *out = (int)s->recv_bytes;
        return 0;
    case SO_SNDBUF:
        *out = (int)s->send_bytes;
        return 0;
    default:
        return ENOTSUP;
    }
}

static int get_rdma(const struct rsock *s, int name, int *out)
{
    switch (name) {
    case RDMA_SQSIZE:
        *out = (int)s->sq_size;
        return 0;
    case RDMA_RQSIZE:
        *out = (int)s->rq_size;
        return 0;
    case RDMA_INLINE:
        *out = (int)s->inline_size;
        return 0;
    case RDMA_IOMAPSIZE:
        *out = (int)s->own_iomaps;
        return 0;
    default:
        return ENOTSUP;
    }
}

static int get_number(struct rsock *s, int level, int name, int *out)
{
    int preset;
    const int *place = find_kept(s, level, name, &preset);
    if (level == IPPROTO_TCP && name == TCP_MAXSEG && s->id && s->id->route.num_paths) {
        *out = 128 << s->id->route.path_rec->mtu;
        return 0;
    }
    if (place)
        *out = *place + preset;
    else if (level == SOL_SOCKET)
        return get_own(s, name, out);
    else if (level == SOL_RDMA)
        return get_rdma(s, name, out);
    return place ? 0 : ENOTSUP;
}

static int answer(const void *from, size_t bytes, void *value, socklen_t *len)
{
    if (!value || !len)
        return EINVAL;
    *len = min_u32(*len, (uint32_t)bytes);
    memcpy(value, from, *len);
    return 0;
}

static struct timeval timeval_of(uint64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

static int get(struct rsock *s, int level, int name, void *value, socklen_t *len)
{
    const struct linger linger = {.l_onoff = 1};
    const struct tcp_info info = {.tcpi_state = s->state == RS_CONNECTED ? TCP_ESTABLISHED : TCP_CLOSE,
                                  .tcpi_snd_cwnd = s->sq_size};
    const struct timeval recv_timeout = timeval_of(s->recv_timeout_ms);
    const struct timeval send_timeout = timeval_of(s->send_timeout_ms);
    int number;
    if (level == SOL_SOCKET && name == SO_RCVTIMEO)
        return answer(&recv_timeout, sizeof recv_timeout, value, len);
    if (level == SOL_SOCKET && name == SO_SNDTIMEO)
        return answer(&send_timeout, sizeof send_timeout, value, len);
    if (level == SOL_SOCKET && name == SO_LINGER)
        return answer(&linger, sizeof linger, value, len);
    if (level == IPPROTO_TCP && name == TCP_INFO)
        return answer(&info, sizeof info, value, len);
    if (level == IPPROTO_TCP && name == TCP_CONGESTION)
        return answer("rdma", sizeof "rdma", value, len);
    int err = get_number(s, level, name, &number);
    return err ? verbs_fail(err, "rsockets have no option %d of level %d", name, level)
               : answer(&number, sizeof number, value, len);
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    int err = get(s, level, optname, optval, optlen);
    int answer = rs_ended(s, __func__, err);
    rs_done(s);
    return answer;
}
