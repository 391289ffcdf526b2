/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/fds.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define ALIVE 0x11feu

struct thing {
    struct fds_object object;
    _Atomic unsigned state; /* ALIVE until it is destroyed */
};

static _Atomic unsigned num_unbound, num_destroyed;

static void unbound(struct fds_object *object)
{
    cr_assert_eq(((struct thing *)object)->state, ALIVE, "unbound after its end");
    num_unbound++;
}

static void destroy(struct fds_object *object)
{
    cr_assert_eq(object->numbers, 0, "destroyed while a number leads to it");
    ((struct thing *)object)->state = 0;
    num_destroyed++;
}

static struct fds_kind kind = {.bytes = sizeof(struct thing), .unbound = unbound, .destroy = destroy};
static struct fds_kind other_kind = {.bytes = sizeof(struct thing), .unbound = unbound, .destroy = destroy};

static struct thing *make(void)
{
    struct thing *thing = fds_new(&kind);
    thing->state = ALIVE;
    return thing;
}

Test(fds, a_number_leads_to_what_it_was_bound_to)
{
    struct thing *thing = make();
    cr_assert_null(fds_get(7, &kind));
    cr_assert(fds_bind(7, thing));
    cr_assert(fds_has(7) && !fds_has(8) && !fds_has(-1) && !fds_has(1 << 30));
    cr_assert_eq(fds_get(7, &kind), thing);
    cr_assert_null(fds_get(7, &other_kind), "of another kind");
    fds_put(thing);
    fds_put(thing);
    fds_unbind(7);
    cr_assert_eq(num_unbound, 1);
    cr_assert_eq(num_destroyed, 1);
    cr_assert_not(fds_has(7));
}

Test(fds, a_call_under_way_survives_that_the_number_is_closed)
{
    struct thing *thing = make();
    fds_bind(7, thing);
    fds_put(thing);
    struct thing *held = fds_get(7, &kind);
    fds_unbind(7);
    cr_assert_eq(num_unbound, 1);
    cr_assert_eq(held->state, ALIVE);
    fds_put(held);
    cr_assert_eq(num_destroyed, 1);
}

Test(fds, copies_share_it_until_the_last_is_gone)
{
    struct thing *thing = make();
    fds_bind(7, thing);
    fds_put(thing);
    fds_copy(7, 2000);
    cr_assert_eq(fds_next_of(thing, -1), 7);
    cr_assert_eq(fds_next_of(thing, 7), 2000);
    cr_assert_eq(fds_next_of(thing, 2000), -1);
    fds_unbind(7);
    cr_assert_eq(num_unbound, 0);
    fds_copy(8, 2000); /* a duplicate of what is nobody's is nobody's */
    cr_assert_eq(num_unbound, 1);
    cr_assert_eq(num_destroyed, 1);
}

Test(fds, what_was_taken_comes_back_unless_the_number_was_given_away)
{
    struct thing *thing = make(), *next = make();
    fds_bind(7, thing);
    fds_put(thing);
    void *taken = fds_take(7);
    cr_assert_not(fds_has(7));
    fds_give_back(7, taken);
    cr_assert(fds_has(7));
    taken = fds_take(7);
    fds_bind(7, next);
    fds_give_back(7, taken);
    cr_assert_eq(num_destroyed, 1);
    cr_assert_eq(fds_next_of(next, -1), 7);
    fds_let_go(NULL);
}

Test(fds, ranges_and_one_of_many)
{
    struct thing *thing = make(), *other = make();
    for (int fd = 1000; fd < 1100; fd++)
        fds_bind(fd, thing);
    fds_unbind_from(1000, other); /* it leads elsewhere */
    cr_assert(fds_has(1000));
    fds_unbind_range(1001, UINT32_MAX);
    cr_assert(fds_has(1000) && !fds_has(1001) && !fds_has(1099));
    cr_assert_eq(num_unbound, 0);
    fds_unbind_range(0, 1000);
    cr_assert_eq(num_unbound, 1);
    fds_put(thing);
    fds_put(other);
    cr_assert_eq(num_destroyed, 2);
}

Test(fds, a_number_too_high_is_nobodys)
{
    struct thing *thing = make();
    cr_assert_not(fds_bind(1 << 21, thing));
    cr_assert_eq(num_unbound, 0);
    fds_put(thing);
    cr_assert_eq(num_destroyed, 1);
}

Test(fds, kept_descriptors_are_out_of_the_way)
{
    int low = open("/dev/null", O_RDONLY), kept = fds_keep(low);
    cr_assert_geq(kept, 1024);
    cr_assert_lt(fcntl(low, F_GETFD), 0, "the low one is closed");
    cr_assert_eq(fcntl(kept, F_GETFD), FD_CLOEXEC);
    cr_assert(fds_is_kept(kept) && !fds_is_kept(low));
    cr_assert_eq(fds_next_kept(3), kept);
    cr_assert_eq(fds_next_kept((unsigned)kept + 1), -1);
    fds_close_kept(kept);
    cr_assert_lt(fcntl(kept, F_GETFD), 0);
    cr_assert_not(fds_is_kept(kept));
    cr_assert_eq(fds_keep(-1), -1);
}

Test(fds, under_a_low_limit_they_are_as_high_as_they_can_be)
{
    struct rlimit limit = {.rlim_cur = 256, .rlim_max = 256};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int kept = fds_keep(open("/dev/null", O_RDONLY));
    cr_assert(kept >= 192 && kept < 256, "%d", kept);
    cr_assert(fds_is_kept(kept));
}

/* --- threads: one binds and unbinds, the others use what they find --- */

#define ROUNDS      100000ul
#define MOST_ROUNDS (1000 * ROUNDS)
#define FOUND       1000u

static _Atomic bool is_over;
static _Atomic unsigned num_found;

static void *use(void *ctx)
{
    while (!is_over) {
        struct thing *thing = fds_get(7, &kind);
        if (!thing)
            continue;
        cr_assert_eq(thing->state, ALIVE, "held, and destroyed all the same");
        num_found++;
        fds_put(thing);
    }
    return ctx;
}

Test(fds, nothing_that_is_held_is_destroyed)
{
    pthread_t threads[3];
    unsigned long rounds = 0;
    for (unsigned i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (; rounds < ROUNDS || (num_found < FOUND && rounds < MOST_ROUNDS); rounds++) {
        struct thing *thing = make();
        fds_bind(7, thing);
        fds_put(thing);
        if (rounds % 64 == 0)
            sched_yield(); /* else one processor would see it bound seldom */
        fds_unbind(7);
    }
    is_over = true;
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(num_unbound, rounds);
    cr_assert_eq(num_destroyed, rounds);
    cr_assert_geq(num_found, FOUND);
}
