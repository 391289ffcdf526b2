/* SPDX-License-Identifier: BSD-2-Clause */
/* A round of progress, and what the two sides tell each other on their socket. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cli/demo/side.h"
#include "cli/stop.h"

#define SPIN_ROUNDS 64u /* rounds with nothing to do before sleeping */
#define SLEEP_NS    1000000u

bool demo_side_fail(struct demo_side *side, const char *format, ...)
{
    va_list args;
    if (side->result->error.text[0])
        return false;
    va_start(args, format);
    vsnprintf(side->result->error.text, sizeof side->result->error.text, format, args);
    va_end(args);
    return false;
}

bool demo_side_round(struct demo_side *side, bool did_something)
{
    if (host_round(side->dev, NULL) || did_something) {
        side->idle_rounds = 0;
    } else if (++side->idle_rounds > SPIN_ROUNDS) {
        host_dev_wait(side->dev, SLEEP_NS);
        side->idle_rounds = SPIN_ROUNDS / 2;
    }
    return !atomic_load_explicit(&side->board->stop, memory_order_relaxed) && !cli_stopped();
}

bool demo_side_send(struct demo_side *side, const struct demo_msg *msg)
{
    /* A few messages a phase: the socket's buffer never fills. */
    return send(side->peer, msg, sizeof *msg, MSG_NOSIGNAL) == (ssize_t)sizeof *msg;
}

int demo_side_poll(struct demo_side *side, struct demo_msg *msg)
{
    ssize_t n = recv(side->peer, msg, sizeof *msg, MSG_DONTWAIT);
    if (n == (ssize_t)sizeof *msg)
        return 1;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

bool demo_side_await(struct demo_side *side, enum demo_msg_type type, struct demo_msg *msg)
{
    uint64_t until_ns = host_now_ns() + DEMO_PATIENCE_NS;

    while (demo_side_round(side, false)) {
        int n = demo_side_poll(side, msg);
        if (n < 0 || (n > 0 && msg->type != type))
            return false;
        if (n > 0)
            return true;
        if (host_now_ns() > until_ns)
            return demo_side_fail(side, "side %c said nothing for 10 seconds", "AB"[!side->role]);
    }
    return false;
}
