/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc enable`, `disable` and `status`: in which cgroups programs offer SMC-R without privileges. */
#include "sock/rendezvous/enable.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/smc_mark.h"
#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/report/json.h"
#include "cli/smc/smc.h"

struct settings {
    const char *cgroup;
    bool json;
};

static const struct cli_operand operands[] = {
    {.name = "CGROUP", .kind = CLI_FILE, .offset = offsetof(struct settings, cgroup)}, {NULL}};

static int enable(void *settings)
{
    const struct settings *s = settings;
    struct nornic_error why;
    int rc = smcr_enable(s->cgroup, &why);
    if (rc < 0)
        return cli_fail("%s", why.text);
    if (rc > 0)
        cli_tell("SMC-R is enabled for %s already", s->cgroup);
    return CLI_OK;
}

static int disable(void *settings)
{
    const struct settings *s = settings;
    struct nornic_error why;
    int rc = smcr_disable(s->cgroup, &why);
    if (rc < 0)
        return cli_fail("%s", why.text);
    return rc == 0 ? CLI_OK : cli_negative("SMC-R is not enabled for %s", s->cgroup);
}

/* --- status --- */

static void print_name(void *ctx, const char *name)
{
    (void)ctx;
    printf("enabled for the cgroup %s\n", name);
}

static void add_name(void *cgroups, const char *name)
{
    json_object_array_add(cgroups, json_object_new_string(name));
}

/* Who may not ask the kernel is told of his own place alone. */
static int status(void *settings)
{
    const struct settings *s = settings;
    struct nornic_error why;
    bool is_enabled = smc_mark_is_enabled();
    struct json_object *all = json_object_new_array();
    int err = smcr_enabled_visit(s->json ? add_name : print_name, all, &why);
    if (s->json) {
        struct json_object *report = json_object_new_object();
        json_object_object_add(report, "here", json_object_new_boolean(is_enabled));
        json_object_object_add(report, "cgroups", err ? NULL : json_object_get(all));
        cli_json_print(report);
    } else {
        printf("SMC-R is %s for this process\n", is_enabled ? "enabled" : "not enabled");
        if (err)
            cli_tell("for which cgroups is not known: %s", why.text);
    }
    json_object_put(all);
    return is_enabled ? CLI_OK : CLI_NEGATIVE;
}

static const struct cli_option status_rows[] = {
    {"json", 'j', NULL, "print one JSON object", CLI_SETS(struct settings, json)}, {NULL}};

const struct cli_command smc_enable_command = {
    .name = "smc enable",
    .summary = "let programs of a cgroup offer SMC-R without privileges",
    .usage = "smc enable CGROUP",
    .about =
        "SMC-R begins with an option of TCP's SYN, which only a BPF program can set. This puts that program "
        "on a cgroup of version 2, and with it on all below: from then on `nornic smc service` and `nornic "
        "run --smc` of any user there need no privileges. It stays without a process until `nornic smc "
        "disable`, or until the cgroup is removed; sockets that do not ask to offer SMC-R are as they were.",
    .operands = operands,
    .operands_missing = "say which cgroup: nornic smc enable /user.slice",
    .notes = "CGROUP is a directory of the hierarchy, or its name there as in /proc/PID/cgroup.",
    .examples = "Example, as root, once:\n"
                "  # nornic smc enable /user.slice\n"
                "and then by anybody who is logged in:\n"
                "  $ nornic run --smc --port udp:eth0 -- redis-server\n",
    .status = {"it is enabled", NULL, "wrong usage, or it could not be"},
    .settings_bytes = sizeof(struct settings),
    .run = enable,
};

const struct cli_command smc_disable_command = {
    .name = "smc disable",
    .summary = "take back what `smc enable` did",
    .usage = "smc disable CGROUP",
    .about = "New connections of the cgroup are plain TCP then; those that are there go on.",
    .operands = operands,
    .operands_missing = "say which cgroup: nornic smc disable /user.slice",
    .notes = "CGROUP is a directory of the hierarchy, or its name there as in /proc/PID/cgroup.",
    .examples = "Example, as root:\n"
                "  # nornic smc disable /user.slice\n",
    .status = {"it is no longer enabled", "it was not", "wrong usage, or it could not be taken back"},
    .settings_bytes = sizeof(struct settings),
    .run = disable,
};

const struct cli_command smc_status_command = {
    .name = "smc status",
    .summary = "whether programs here can offer SMC-R without privileges, and in which cgroups",
    .usage = "smc status [OPTION...]",
    .about = "Says whether SMC-R is enabled for the cgroup of this process, and, to root, for which cgroups "
             "it is. `nornic smc stat` shows connections.",
    .groups = {{.rows = status_rows}},
    .examples = "Example, in a script:\n"
                "  nornic smc status > /dev/null || echo 'ask for: nornic smc enable'\n",
    .status = {"it is enabled for this process", "it is not", "wrong usage"},
    .settings_bytes = sizeof(struct settings),
    .run = status,
};
