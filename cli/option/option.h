/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command understands, said once: a row an option, a row an operand, and the words around them.
 * The parser (parse.c), --help (help.c), the man page (roff.c) and the completions of shells (complete.c)
 * read the same rows, so that none of them can promise what another does not keep.
 *
 * * A command's options are a struct of its own; a row says which member it sets. Rows that several
 * commands have in common (those of a port) stand in a group of their own, which each command places in
 * its struct. */
#ifndef NORNIC_CLI_OPTION_OPTION_H
#define NORNIC_CLI_OPTION_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How the value is read, and what kind of member takes it. */
enum cli_kind {
    CLI_FLAG,     /* no value; bool: becomes true */
    CLI_SET,      /* no value; any integer or enum: becomes `min` */
    CLI_COUNT,    /* a whole number; any integer, of 1 to 8 bytes */
    CLI_SIZE,     /* bytes, with K, M or G; uint32_t or uint64_t */
    CLI_DURATION, /* a time; uint64_t of nanoseconds */
    CLI_RATE,     /* "1%" or "200ppm"; uint32_t of parts per million */
    CLI_PMTU,     /* a path MTU; uint32_t of bytes */
    CLI_CHOICE,   /* one of `words`; an enum: the word's index */
    CLI_TEXT,     /* any word; const char *, which points into argv. So do the next three: */
    CLI_FILE,     /* the name of a file */
    CLI_IFACE,    /* the name of an interface */
    CLI_PORT,     /* a port by name */
    CLI_OWN,      /* take() reads it */
};

#define CLI_ALSO_MAX 3

/* A row: {"size", 's', "BYTES", "of a message", AT(size_bytes), CLI_TAKES_SIZE(1, 1 << 20), .preset =
 * "4K"}. One without a name ends the rows of a group. */
struct cli_option {
    const char *name;     /* "loss" for --loss */
    char letter;          /* 'l' for -l, or 0 */
    const char *argument; /* what the value is called in the help: "RATE"; NULL: there is none */
    /* A sentence's beginning, without a full stop. %r stands for the range or the words to choose from. The
     * preset is added to its end. */
    const char *help;
    uint8_t kind;             /* enum cli_kind */
    uint8_t width;            /* of the member, in bytes */
    uint16_t offset;          /* of the member in the struct that the group sets */
    bool is_optional;         /* the value may be left out: --cc, --cc=SETTINGS. take() gets NULL then */
    bool is_hidden;           /* understood, and told to nobody */
    uint64_t min, max;        /* of counts, bytes and nanoseconds, both included */
    const char *preset;       /* the value without the option, as a user would write it; NULL: zero */
    const char *const *words; /* CLI_CHOICE, ended by NULL */
    /* CLI_OWN: sets what it likes in the group's struct. `option` is how the user knows it, "--cc"; `text` is
     * the user's word, which it may cut. CLI_OK, or CLI_ERROR after a sentence. */
    int (*take)(void *settings, const char *option, char *text);
    const char *also[CLI_ALSO_MAX]; /* further names that still work: "colour"; "w" is the letter -w */
};

/* What a row takes. One that has none of these, and no kind, is a flag. */
#define CLI_TAKES_COUNT(least, most) .kind = CLI_COUNT, .min = (least), .max = (most)
#define CLI_TAKES_SIZE(least, most)  .kind = CLI_SIZE, .min = (least), .max = (most)
#define CLI_TAKES_TIME(least, most)  .kind = CLI_DURATION, .min = (least), .max = (most)
#define CLI_TAKES_ONE_OF(list)       .kind = CLI_CHOICE, .words = (list)
#define CLI_TAKEN_BY(function)       .kind = CLI_OWN, .take = (function)
#define CLI_MEANS(value)             .kind = CLI_SET, .min = (value)

/* The member that a row sets. */
#define CLI_SETS(type, member) .offset = offsetof(type, member), .width = sizeof(((type *)0)->member)

/* Words without a dash. */
struct cli_operand {
    const char *name; /* "HOST"; NULL ends the operands */
    uint8_t kind;     /* CLI_TEXT, CLI_FILE */
    bool is_optional;
    bool is_many;    /* the last one: as many as there are; the member is a struct cli_words */
    uint16_t offset; /* of the member in the command's struct: const char *, or struct cli_words */
};

/* Operands that there may be many of; they point into argv. */
struct cli_words {
    char **at;
    unsigned count;
};

struct cli_group {
    const char *title; /* "Port"; NULL: the command's own */
    const struct cli_option *rows;
    uint16_t offset; /* of the struct that the rows set in the command's */
    bool is_shared;  /* several commands have it: the man page describes it once */
};

/* What does not go together, or not alone; by the names of two options. */
struct cli_rule {
    enum { CLI_END_OF_RULES, CLI_EXCLUDES, CLI_NEEDS } kind;
    const char *one, *other;
    const char *why; /* behind a colon, or NULL */
};

#define CLI_GROUPS_MAX 4

struct cli_command {
    const char *name;    /* "smc listen" */
    const char *summary; /* in the list of commands */
    const char *usage;   /* behind "nornic "; a second form in a line of its own */
    const char *about;   /* what it does; paragraphs, apart by an empty line, filled to the width */
    struct cli_group groups[CLI_GROUPS_MAX];
    const struct cli_operand *operands; /* NULL: none */
    const char *operands_missing;       /* the sentence for a command line without those that must be */
    const struct cli_rule *rules;       /* NULL: none */
    const char *notes;                  /* behind the options, line by line as it is; or NULL */
    const char *examples;               /* as it is */
    const char *status[3];              /* what the exit statuses 0, 1 and 2 mean; NULL: does not occur */
    const struct cli_command *const *commands; /* of "smc": ended by NULL; the members below are not used */

    size_t settings_bytes; /* of the command's struct */
    /* What follows from the options together: after all have been taken. CLI_OK or CLI_ERROR. NULL:
     * nothing. */
    int (*check)(void *settings);
    /* Does it; the exit status. */
    int (*run)(void *settings);
};

/* --- parse.c --- */

/* Sets every member to its preset, and to 0 what has none; then reads the words behind the command's name.
 * `settings` has settings_bytes and keeps pointers into argv, whose words change their order.
 * CLI_OK; CLI_HELP: the help was printed, which --help asks for wherever it stands; CLI_ERROR after a
 * sentence. */
int cli_parse(const struct cli_command *command, int argc, char **argv, void *settings);
#define CLI_HELP (-1)

/* --- help.c --- */

/* --help, which every command has beside its own rows. */
extern const struct cli_option cli_help_row;

/* The help of a command as people read it, at most CLI_HELP_COLUMNS wide. */
void cli_help_print(FILE *out, const struct cli_command *command);
#define CLI_HELP_COLUMNS 100

/* What an option's value may be, as its help says it: "1 to 256", "rc, uc, ud or srq"; "" where there is no
 * limit to name. `text` has CLI_RANGE_BYTES; returns it. */
const char *cli_range_text(const struct cli_option *row, char *text);
#define CLI_RANGE_BYTES 128

/* The whole sentence that describes an option, %r and preset in their places. `text` has CLI_SENTENCE_BYTES;
 * returns it. */
const char *cli_option_sentence(const struct cli_option *row, char *text);
#define CLI_SENTENCE_BYTES 1024

/* "-s, --size=BYTES" into `text` of CLI_HEAD_BYTES; returns it. */
const char *cli_option_head(const struct cli_option *row, char *text);
#define CLI_HEAD_BYTES 64

/* --- roff.c, complete.c --- */

/* The part of the man page that describes commands, as roff. `commands` is ended by NULL. */
void cli_roff_print(FILE *out, const struct cli_command *const *commands);

/* A script that completes command lines of nornic in `shell`: bash, zsh or fish. False: another one. */
bool cli_completion_print(FILE *out, const struct cli_command *const *commands, const char *shell);

#endif
