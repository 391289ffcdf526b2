/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/demo/smc.h"
#include "cli/report/json.h"

struct json_object *demo_smc_json(const struct demo_smc_result *r)
{
    struct json_object *o = json_object_new_object();
    cli_json_add_count(o, "bytes", r->arrived_bytes);
    cli_json_add_text(o, "sent_sha256", r->sent_sum);
    cli_json_add_text(o, "arrived_sha256", r->file_sum);
    cli_json_add_real(o, "seconds", r->seconds);
    cli_json_add_text(o, "cut", r->cut);
    cli_json_add_real(o, "failover_ms", r->failover_ms);
    cli_json_add_real(o, "regain_ms", r->regain_ms);
    json_object_object_add(o, "client", json_object_get(r->client));
    json_object_object_add(o, "server", json_object_get(r->server));
    return o;
}
