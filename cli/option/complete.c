/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions for shells. Each script is a list of what the commands understand, in its shell's language;
 * which interfaces there are it asks the machine when it runs. */
#include <ctype.h>
#include <string.h>

#include "cli/option/option.h"

#define BRIEF_BYTES 80

typedef void say_row(FILE *out, const struct cli_command *command, const struct cli_option *row);
typedef void say_command(FILE *out, const struct cli_command *command);

/* The first words of a sentence: up to what only explains, without what a shell would take for its own.
 * `brief` has BRIEF_BYTES; returns it. */
static const char *brief_of(const char *sentence, char *brief)
{
    size_t n = 0;
    for (const char *c = sentence; *c && !strchr(";:(,", *c) && n + 1 < BRIEF_BYTES; c++)
        if (isalnum((unsigned char)*c) || strchr(" -_./", *c))
            brief[n++] = *c;
    while (n > 0 && brief[n - 1] == ' ')
        n--;
    brief[n] = 0;
    return brief;
}

static const char *brief_row(const struct cli_option *row, char *brief)
{
    char sentence[CLI_SENTENCE_BYTES];
    return brief_of(cli_option_sentence(row, sentence), brief);
}

static bool takes_files(const struct cli_command *command)
{
    const struct cli_operand *operand = command->operands;
    return operand && operand->name && operand->kind == CLI_FILE;
}

/* "listen" of "smc listen". */
static const char *last_word(const struct cli_command *command)
{
    const char *blank = strchr(command->name, ' ');
    return blank ? blank + 1 : command->name;
}

/* Each row that is told of, and --help, which every command has. */
static void each_row(FILE *out, const struct cli_command *command, say_row *say)
{
    for (const struct cli_group *g = command->groups; g < command->groups + CLI_GROUPS_MAX && g->rows; g++)
        for (const struct cli_option *row = g->rows; row->name; row++)
            if (!row->is_hidden)
                say(out, command, row);
    say(out, command, &cli_help_row);
}

/* Each command that has options; not "smc", but what is in it. */
static void each_command(FILE *out, const struct cli_command *const *commands, say_command *say)
{
    for (; *commands; commands++) {
        if ((*commands)->commands)
            for (const struct cli_command *const *inner = (*commands)->commands; *inner; inner++)
                say(out, *inner);
        else
            say(out, *commands);
    }
}

static void put_names(FILE *out, const struct cli_command *const *commands)
{
    for (unsigned i = 0; commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", last_word(commands[i]));
}

static void put_words(FILE *out, const struct cli_option *row)
{
    for (unsigned i = 0; row->words[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", row->words[i]);
}

/* --- bash --- */

static const char bash_head[] =
    "_nornic_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_nornic_files() {\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n"
    "_nornic_interfaces() { _nornic_words \"$(ls /sys/class/net)\"; }\n"
    "_nornic_ports() {\n"
    "    _nornic_words 'udp: xdp: packet: memory'\n"
    "    [[ ${COMPREPLY[*]} != *: ]] || compopt -o nospace 2>/dev/null\n"
    "}\n"
    "_nornic() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
    "    COMPREPLY=()\n"
    "    # --port=xdp:eth0 comes as the words --port = xdp : eth0\n"
    "    if [[ $cur == : || $prev == : ]]; then\n"
    "        [[ $cur != : ]] || cur=\n"
    "        _nornic_interfaces\n"
    "        return\n"
    "    fi\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

static void bash_inner(FILE *out, const struct cli_command *command)
{
    fprintf(out,
            "    if [[ $command == %s ]]; then\n"
            "        if ((COMP_CWORD == 2)); then\n"
            "            _nornic_words '",
            command->name);
    put_names(out, command->commands);
    fputs("'\n"
          "            return\n"
          "        fi\n"
          "        command+=\" ${COMP_WORDS[2]}\"\n"
          "    fi\n",
          out);
}

/* What may follow an option that has a value. */
static void bash_value(FILE *out, const struct cli_command *command, const struct cli_option *row)
{
    if (!row->argument || row->is_optional)
        return;
    fprintf(out, "    \"%s --%s\"", command->name, row->name);
    if (row->letter)
        fprintf(out, " | \"%s -%c\"", command->name, row->letter);
    if (row->kind == CLI_FILE)
        fputs(") _nornic_files ;;\n", out);
    else if (row->kind == CLI_IFACE)
        fputs(") _nornic_interfaces ;;\n", out);
    else if (row->kind == CLI_PORT)
        fputs(") _nornic_ports ;;\n", out);
    else if (row->words) {
        fputs(") _nornic_words '", out);
        put_words(out, row);
        fputs("' ;;\n", out);
    } else {
        fputs(") ;;\n", out);
    }
}

static void bash_values(FILE *out, const struct cli_command *command)
{
    each_row(out, command, bash_value);
}

static void bash_option(FILE *out, const struct cli_command *command, const struct cli_option *row)
{
    (void)command;
    fprintf(out, " --%s", row->name);
}

/* What may stand anywhere else. */
static void bash_options(FILE *out, const struct cli_command *command)
{
    fprintf(out, "    \"%s \"*)\n        if [[ $cur == -* ]]; then\n            _nornic_words '",
            command->name);
    each_row(out, command, bash_option);
    fprintf(out, "'\n        %sfi ;;\n",
            takes_files(command) ? "else\n            _nornic_files\n        " : "");
}

static void bash_print(FILE *out, const struct cli_command *const *commands)
{
    fputs("# SPDX-License-Identifier: BSD-2-Clause\n"
          "# bash completion, made by `nornic help --completion bash` of the tables that the parser reads\n",
          out);
    fputs(bash_head, out);
    fputs("    if ((COMP_CWORD == 1)) || [[ $command == help ]]; then\n        _nornic_words '", out);
    put_names(out, commands);
    fputs("'\n        return\n    fi\n", out);
    for (const struct cli_command *const *one = commands; *one; one++)
        if ((*one)->commands)
            bash_inner(out, *one);
    fputs("    case \"$command $prev\" in\n", out);
    each_command(out, commands, bash_values);
    each_command(out, commands, bash_options);
    fputs("    esac\n}\ncomplete -F _nornic nornic\n", out);
}

/* --- zsh --- */

static void zsh_action(FILE *out, const struct cli_option *row)
{
    if (row->kind == CLI_FILE)
        fputs("_files", out);
    else if (row->kind == CLI_IFACE)
        fputs("_net_interfaces", out);
    else if (row->kind == CLI_PORT)
        fputs("(xdp\\: packet\\: memory)", out);
    else if (row->words) {
        putc('(', out);
        put_words(out, row);
        putc(')', out);
    }
}

static void zsh_row(FILE *out, const struct cli_command *command, const struct cli_option *row)
{
    char brief[BRIEF_BYTES];
    (void)command;
    fputs(" \\\n            ", out);
    if (row->letter)
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}", row->letter, row->name, row->letter,
                row->argument && !row->is_optional ? "+" : "", row->name,
                !row->argument     ? ""
                : row->is_optional ? "=-"
                                   : "=");
    else
        fprintf(out, "'--%s%s'", row->name, !row->argument ? "" : row->is_optional ? "=-" : "=");
    fprintf(out, "'[%s]", brief_row(row, brief));
    if (row->argument) {
        fprintf(out, "%s:%s:", row->is_optional ? ":" : "", row->argument);
        zsh_action(out, row);
    }
    putc('\'', out);
}

static void zsh_command(FILE *out, const struct cli_command *command)
{
    fprintf(out, "    '%s')\n        _arguments -s -S", command->name);
    each_row(out, command, zsh_row);
    fprintf(out, " \\\n            '*:: :%s' ;;\n", takes_files(command) ? "_files" : "");
}

static void zsh_print(FILE *out, const struct cli_command *const *commands)
{
    fputs("#compdef nornic\n"
          "# SPDX-License-Identifier: BSD-2-Clause\n"
          "# made by `nornic help --completion zsh` of the tables that the parser reads\n"
          "_nornic() {\n"
          "    local command=$words[2]\n"
          "    if (( CURRENT == 2 )) || [[ $command == help ]]; then\n"
          "        compadd -- ",
          out);
    put_names(out, commands);
    fputs("\n        return\n    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n",
          out);
    for (const struct cli_command *const *one = commands; *one; one++) {
        if (!(*one)->commands)
            continue;
        fprintf(out,
                "    if [[ $command == %s ]]; then\n"
                "        if (( CURRENT == 2 )); then\n"
                "            compadd -- ",
                (*one)->name);
        put_names(out, (*one)->commands);
        fputs("\n            return\n        fi\n"
              "        command+=\" $words[2]\"\n"
              "        shift words\n"
              "        (( CURRENT-- ))\n"
              "    fi\n",
              out);
    }
    fputs("    case $command in\n", out);
    each_command(out, commands, zsh_command);
    fputs("    esac\n}\n_nornic \"$@\"\n", out);
}

/* --- fish --- */

/* The condition under which a word belongs to `command`. */
static void fish_condition(FILE *out, const struct cli_command *command)
{
    const char *blank = strchr(command->name, ' ');
    if (blank)
        fprintf(out, "__fish_seen_subcommand_from %.*s; and ", (int)(blank - command->name), command->name);
    fprintf(out, "__fish_seen_subcommand_from %s", last_word(command));
}

static void fish_row(FILE *out, const struct cli_command *command, const struct cli_option *row)
{
    char brief[BRIEF_BYTES];
    fputs("complete -c nornic -n '", out);
    fish_condition(out, command);
    fprintf(out, "' -l %s", row->name);
    if (row->letter)
        fprintf(out, " -s %c", row->letter);
    if (row->argument && !row->is_optional)
        fputs(row->kind == CLI_FILE ? " -r -F" : " -x", out);
    if (row->kind == CLI_IFACE)
        fputs(" -a '(ls /sys/class/net)'", out);
    if (row->kind == CLI_PORT)
        fputs(" -a '{xdp,packet}:(ls /sys/class/net) memory'", out);
    if (row->words) {
        fputs(" -a '", out);
        put_words(out, row);
        putc('\'', out);
    }
    fprintf(out, " -d '%s'\n", brief_row(row, brief));
}

static void fish_command(FILE *out, const struct cli_command *command)
{
    char brief[BRIEF_BYTES];
    const char *blank = strchr(command->name, ' ');
    if (blank)
        fprintf(out, "complete -c nornic -f -n '__fish_seen_subcommand_from %.*s' -a %s -d '%s'\n",
                (int)(blank - command->name), command->name, blank + 1, brief_of(command->summary, brief));
    if (takes_files(command)) {
        fputs("complete -c nornic -F -n '", out);
        fish_condition(out, command);
        fputs("'\n", out);
    }
    each_row(out, command, fish_row);
}

static void fish_print(FILE *out, const struct cli_command *const *commands)
{
    char brief[BRIEF_BYTES];
    fputs("# SPDX-License-Identifier: BSD-2-Clause\n"
          "# made by `nornic help --completion fish` of the tables that the parser reads\n"
          "complete -c nornic -f\n",
          out);
    for (const struct cli_command *const *one = commands; *one; one++)
        fprintf(out, "complete -c nornic -n __fish_use_subcommand -a %s -d '%s'\n", (*one)->name,
                brief_of((*one)->summary, brief));
    each_command(out, commands, fish_command);
}

bool cli_completion_print(FILE *out, const struct cli_command *const *commands, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out, const struct cli_command *const *commands);
    } shells[] = {{"bash", bash_print}, {"zsh", zsh_print}, {"fish", fish_print}};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(out, commands);
            return true;
        }
    return false;
}
