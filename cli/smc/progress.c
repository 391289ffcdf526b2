/* SPDX-License-Identifier: BSD-2-Clause */
#include <unistd.h>

#include "base/base.h"
#include "cli/smc/smc.h"

#define LIVE_NS      200000000ull
#define SMOOTH       0.3 /* weight of the last interval in the rate */
#define MAX_ETA_SECS 359999.0

static uint64_t moved(const struct smc_connection *c)
{
    return c->sent.bytes + c->taken.bytes;
}

void smc_progress_begin(struct smc_progress *p, const struct smc_connection *c)
{
    /* What comes from or goes to a terminal is seen there. */
    bool by_hand = (c->in_fd >= 0 && isatty(c->in_fd)) || isatty(c->out_fd);
    *p = (struct smc_progress){.is_on = !c->options->say.quiet && !by_hand && isatty(STDERR_FILENO)};
    p->last_ns = host_now_ns();
    p->next_ns = p->last_ns + LIVE_NS;
}

/* The way that the most goes. */
static const struct smc_flow *main_flow(const struct smc_connection *c)
{
    return c->sent.bytes >= c->taken.bytes ? &c->sent : &c->taken;
}

void smc_progress_show(struct smc_progress *p, const struct smc_connection *c)
{
    uint64_t now_ns = host_now_ns(), bytes = moved(c);
    if (!p->is_on || now_ns < p->next_ns)
        return;
    double rate = (double)(bytes - p->last_bytes) * NS_PER_S / (double)(now_ns - p->last_ns);
    p->rate = p->last_bytes ? p->rate * (1 - SMOOTH) + rate * SMOOTH : rate;
    p->last_ns = now_ns;
    p->last_bytes = bytes;
    p->next_ns = now_ns + LIVE_NS;
    const struct smc_flow *flow = main_flow(c);
    char done[32], size[32], speed[32], eta[32];
    fprintf(stderr, "\r\033[K  %s", smc_bytes_text((double)flow->bytes, done));
    if (flow->size_bytes)
        fprintf(stderr, " of %s, %.0f %%", smc_bytes_text((double)flow->size_bytes, size),
                100.0 * (double)flow->bytes / (double)flow->size_bytes);
    fprintf(stderr, "  %s/s", smc_bytes_text(p->rate, speed));
    if (flow->size_bytes > flow->bytes && p->rate > 0) {
        double seconds = (double)(flow->size_bytes - flow->bytes) / p->rate;
        if (seconds < MAX_ETA_SECS)
            fprintf(stderr, "  %s left", smc_time_text(seconds, eta));
    }
}

void smc_progress_end(struct smc_progress *p)
{
    if (p->is_on)
        fputs("\r\033[K", stderr);
}
