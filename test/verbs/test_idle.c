/* SPDX-License-Identifier: BSD-2-Clause */
/* When a program that polls gives its processor away. */
#include <criterion/criterion.h>

#include "verbs/idle.h"

#define ENOUGH 8 /* answers, to be sure of where they come from */

TestSuite(idle, .timeout = 30);

static struct verbs_idle idle;

/* Polls until the processor is given away. Returns how often. */
static unsigned polls_until_given(void)
{
    unsigned polls = 1;
    while (!verbs_idle_count(&idle, false))
        cr_assert_lt(polls++, 2 * VERBS_IDLE_PATIENT, "it is never given away");
    return polls;
}

/* The peer wants this processor: what it says comes after it had it. */
static void answers_late(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        polls_until_given();
        cr_assert_not(verbs_idle_count(&idle, true));
    }
}

Test(idle, whose_answers_come_while_it_has_the_processor_keeps_it)
{
    for (unsigned i = 0; i < 1000; i++) {
        for (unsigned polls = 1; polls < VERBS_IDLE_PATIENT; polls++)
            cr_assert_not(verbs_idle_count(&idle, false), "given away after %u polls", polls);
        cr_assert_not(verbs_idle_count(&idle, true));
    }
    cr_expect_eq(polls_until_given(), VERBS_IDLE_PATIENT);
    cr_expect_eq(polls_until_given(), VERBS_IDLE_PATIENT, "and again, while nothing comes");
}

Test(idle, whose_answers_come_once_it_is_given_away_gives_it_away_soon)
{
    answers_late(ENOUGH);
    cr_expect_eq(polls_until_given(), VERBS_IDLE_HASTY);
    cr_expect_eq(polls_until_given(), VERBS_IDLE_HASTY);
}

static void answers_in_time(unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        cr_assert_not(verbs_idle_count(&idle, false));
        cr_assert_not(verbs_idle_count(&idle, true));
    }
}

Test(idle, answers_in_time_make_patient_again)
{
    answers_late(5 * ENOUGH);
    answers_in_time(ENOUGH);
    cr_expect_eq(polls_until_given(), VERBS_IDLE_PATIENT);
}

/* The scheduler gave the processor away before the program did. */
Test(idle, one_answer_in_time_does_not)
{
    answers_late(5 * ENOUGH);
    answers_in_time(1);
    cr_expect_eq(polls_until_given(), VERBS_IDLE_HASTY);
}

/* An answer of a peer elsewhere that takes more than a hasty program's patience is seen by a patient one. */
Test(idle, what_was_in_time_for_who_was_patient_keeps_it_so)
{
    unsigned polls;
    do {
        polls = polls_until_given();
        cr_assert_not(verbs_idle_count(&idle, true));
        answers_late(1);
    } while (polls != VERBS_IDLE_HASTY);
    for (unsigned answers = 0; answers < 100; answers++) {
        bool is_given = false;
        for (polls = 0; polls < 2 * VERBS_IDLE_HASTY; polls++)
            is_given = verbs_idle_count(&idle, false) || is_given;
        cr_assert_not(verbs_idle_count(&idle, true));
        cr_expect(!is_given || answers < 70, "given away at answer %u", answers);
    }
}

/* What this program itself has sent, or has found at its first look, says nothing of anybody's processor. */
Test(idle, what_was_not_waited_for_changes_nothing)
{
    answers_late(ENOUGH);
    for (unsigned i = 0; i < 10; i++)
        cr_assert_not(verbs_idle_count(&idle, true));
    cr_expect_eq(polls_until_given(), VERBS_IDLE_HASTY);
}

Test(idle, now_and_then_it_is_patient_for_one_answer)
{
    unsigned patient = 0, hasty = 0;
    answers_late(ENOUGH);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned polls = polls_until_given();
        patient += polls == VERBS_IDLE_PATIENT;
        hasty += polls == VERBS_IDLE_HASTY;
        cr_assert_not(verbs_idle_count(&idle, true));
    }
    cr_expect_eq(patient + hasty, 1000);
    cr_expect(patient > 5 && patient < 50, "%u times", patient);
}
