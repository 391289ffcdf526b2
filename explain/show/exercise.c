/* SPDX-License-Identifier: BSD-2-Clause */
/* docs/exercises.txt: an entry is a line for each of its parts, "name: ...", a part goes on in lines that
 * begin with a blank, an empty line ends the entry; lines that begin with # are for readers of the file. */
#include "explain/show/exercise.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

__asm__(".pushsection .rodata\n"
        ".globl explain_exercise_text\n.hidden explain_exercise_text\nexplain_exercise_text:\n"
        ".incbin \"docs/exercises.txt\"\n.byte 0\n.popsection\n");
extern const char explain_exercise_text[];

static const struct part {
    const char *key;
    size_t offset, size;
} parts[] = {
#define PART(member)                                            \
    {                                                           \
#member ":", offsetof(struct explain_exercise, member), \
            sizeof(((struct explain_exercise *)0)->member)      \
    }
    PART(name), PART(capture), PART(ask), PART(answer), PART(hint), PART(because),
#undef PART
};

/* The part that a line begins; NULL: it goes on with the one before. */
static const struct part *part_of(const char *line)
{
    for (unsigned i = 0; i < array_len(parts); i++)
        if (strncmp(line, parts[i].key, strlen(parts[i].key)) == 0)
            return &parts[i];
    return NULL;
}

/* Appends a line of the file to a part, with a blank between lines. */
static void add_line(struct explain_exercise *exercise, const struct part *part, const char *line, size_t n)
{
    char *text = (char *)exercise + part->offset;
    size_t used = strlen(text);
    snprintf(text + used, part->size - used, "%s%.*s", used ? " " : "", (int)n, line);
}

bool explain_exercise_next(const char **place, struct explain_exercise *exercise)
{
    const struct part *part = NULL;
    *exercise = (struct explain_exercise){0};
    if (!*place)
        *place = explain_exercise_text;
    for (const char *at = *place; *at; at = *place) {
        size_t n = strcspn(at, "\n");
        *place = at + n + (at[n] == '\n');
        if (n == 0 && exercise->name[0])
            return true;
        if (n == 0 || *at == '#')
            continue;
        const struct part *begun = part_of(at);
        size_t skipped = begun ? strlen(begun->key) : 0;
        part = begun ? begun : part;
        skipped += strspn(at + skipped, " ");
        if (part)
            add_line(exercise, part, at + skipped, n - skipped);
    }
    return exercise->name[0];
}
