/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/smc/ladder.h"

static const char client[] = "100.000100 > tcp: Proposal\n"
                             "100.000900 < tcp: Accept\n"
                             "100.001000 > link 1: CDC 1 seq 1, producer 0:10\n"
                             "100.001001 > link 1: CDC 1 seq 2, producer 0:20\n"
                             "no line of a trace\n"
                             "100.001002 > link 1: CDC 1 seq 3, producer 0:30\n"
                             "100.001003 > link 1: CDC 1 seq 4, producer 0:40\n"
                             "100.002000 * link 1: ACTIVE -> DOWN: the port is down\n"
                             "100.002100 > link 2: CDC 1 seq 1 failover validation\n"
                             "100.002101 > link 2: CDC 1 seq 2, producer 0:20\n"
                             "100.004101 * group 1: SINGLE -> SYMMETRIC\n"
                             "100.005000 > link 2: CDC 1 seq 9, closed\n";
static const char server[] = "100.000050 < tcp: Proposal\n" /* its time was taken before it came */
                             "100.000700 > tcp: Accept\n"
                             "100.001010 < link 1: CDC 1 seq 1, producer 0:10\n"
                             "100.002300 < link 2: CDC 1 seq 1 failover validation\n"
                             "100.002301 < link 2: CDC 1 seq 2, producer 0:20\n"
                             "100.004100 * group 1: SINGLE -> SYMMETRIC\n"
                             "100.005100 < link 2: CDC 1 seq 9, closed\n";

static void add(struct smc_ladder *ladder, enum smc_side side, const char *text)
{
    FILE *from = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    cr_assert_eq(smc_ladder_add(ladder, side, from), 0);
    fclose(from);
}

static struct smc_ladder make(void)
{
    struct smc_ladder ladder = {0};
    add(&ladder, SMC_LEFT, client);
    add(&ladder, SMC_RIGHT, server);
    smc_ladder_match(&ladder);
    return ladder;
}

static const struct smc_row *find(const struct smc_ladder *ladder, const char *text, unsigned nth)
{
    for (size_t i = 0; i < ladder->count; i++)
        if (strcmp(ladder->rows[i].text, text) == 0 && nth-- == 0)
            return &ladder->rows[i];
    return NULL;
}

Test(smc_ladder, a_message_is_one_row_from_who_sent_it)
{
    struct smc_ladder ladder = make();
    cr_assert_eq(ladder.count, 12); /* 18 lines, six of them receipts */
    cr_assert_eq(find(&ladder, "Proposal", 0)->side, SMC_LEFT);
    cr_assert(find(&ladder, "Proposal", 0)->has_arrived);
    cr_assert_eq(find(&ladder, "Accept", 0)->side, SMC_RIGHT);
    cr_assert(find(&ladder, "Accept", 0)->has_arrived);
    for (size_t i = 1; i < ladder.count; i++)
        cr_assert_leq(ladder.rows[i - 1].time_us, ladder.rows[i].time_us);
    smc_ladder_free(&ladder);
}

/* What was sent twice and received once is lost the first time. */
Test(smc_ladder, what_was_lost_is_told_from_its_replay)
{
    struct smc_ladder ladder = make();
    cr_assert_not(find(&ladder, "CDC 1 seq 2, producer 0:20", 0)->has_arrived);
    cr_assert(find(&ladder, "CDC 1 seq 2, producer 0:20", 1)->has_arrived);
    cr_assert_not(find(&ladder, "CDC 1 seq 3, producer 0:30", 0)->has_arrived);
    smc_ladder_free(&ladder);
}

Test(smc_ladder, the_failover_is_found)
{
    struct smc_ladder ladder = make();
    size_t first, count;
    cr_assert(smc_ladder_find_failover(&ladder, &first, &count));
    cr_assert_eq(first, 0);
    cr_assert_str_eq(ladder.rows[first + count - 1].text, "SINGLE -> SYMMETRIC");
    cr_assert_eq(count, ladder.count - 1); /* all but the close */
    smc_ladder_free(&ladder);
    ladder = (struct smc_ladder){0};
    cr_assert_not(smc_ladder_find_failover(&ladder, &first, &count));
}

static char *print(bool fold)
{
    struct smc_ladder ladder = make();
    struct smc_ladder_style style = {.left = "client", .right = "server", .width = 100, .fold = fold};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    smc_ladder_print(out, &ladder, 0, ladder.count, &style);
    fclose(out);
    smc_ladder_free(&ladder);
    return text;
}

Test(smc_ladder, lines_are_of_one_width_and_say_what_is_lost)
{
    char *text = print(false);
    unsigned lost = 0, lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        cr_assert_eq(strlen(line), 100, "%s", line);
        lost += strstr(line, "X LOST") != NULL;
    }
    cr_assert_eq(lines, 13);
    cr_assert_eq(lost, 3);
    free(text);
}

Test(smc_ladder, a_run_of_data_is_folded)
{
    char *text = print(true);
    cr_assert(strstr(text, "... 2 CDC messages there, 0 back, 2 of them lost ..."), "%s", text);
    cr_assert(strstr(text, "failover validation"));
    cr_assert(strstr(text, "closed"));
    free(text);
}
