/* SPDX-License-Identifier: BSD-2-Clause */
/* What `nornic smc` says: of a connection, and of the processes that use SMC-R. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/report/json.h"
#include "cli/smc/smc.h"
#include "cli/smc/stat.h"
#include "test/support/json.h"

static struct smc_options o;
static struct smc_connection c;
static char printed[16384];

static void make(void)
{
    o = (struct smc_options){.listen = false};
    c = (struct smc_connection){.options = &o,
                                .in_fd = -1,
                                .out_fd = -1,
                                .info = {.reason = ""},
                                .connected_ns = NS_PER_S,
                                .end_ns = 3 * NS_PER_S};
    struct sockaddr_in *local = (void *)&c.local, *peer = (void *)&c.peer;
    *local = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(40000)};
    *peer = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(5000)};
    inet_pton(AF_INET, "192.0.2.2", &local->sin_addr);
    inet_pton(AF_INET, "192.0.2.1", &peer->sin_addr);
}

TestSuite(smc_report, .init = make);

/* What goes to a standard stream meanwhile. */
static FILE **stream, *kept;

static void begin(FILE **which)
{
    stream = which;
    kept = *which;
    printed[0] = 0; /* fmemopen() leaves what was there until something is written */
    *which = fmemopen(printed, sizeof printed, "w");
    cr_assert_not_null(*which);
}

static void end(void)
{
    fclose(*stream);
    *stream = kept;
}

static const char *say_transport(void)
{
    begin(&stderr);
    smc_say_transport(&c);
    end();
    return printed;
}

static const char *report(FILE **to, bool ok)
{
    begin(to);
    smc_report(&c, ok);
    end();
    return printed;
}

/* --- pieces --- */

Test(smc_report, addresses)
{
    static const struct {
        int family;
        const char *address, *text;
    } cases[] = {{AF_INET, "192.0.2.1", "192.0.2.1:5000"},
                 {AF_INET6, "fd00::1", "[fd00::1]:5000"},
                 {AF_INET6, "::", "[::]:5000"},
                 {AF_INET6, "::ffff:192.0.2.1", "192.0.2.1:5000"}};
    char text[SMC_ADDR_TEXT];
    for (size_t i = 0; i < array_len(cases); i++) {
        struct sockaddr_storage addr = {.ss_family = (sa_family_t)cases[i].family};
        if (cases[i].family == AF_INET) {
            ((struct sockaddr_in *)&addr)->sin_port = htons(5000);
            inet_pton(AF_INET, cases[i].address, &((struct sockaddr_in *)&addr)->sin_addr);
        } else {
            ((struct sockaddr_in6 *)&addr)->sin6_port = htons(5000);
            inet_pton(AF_INET6, cases[i].address, &((struct sockaddr_in6 *)&addr)->sin6_addr);
        }
        cr_expect_str_eq(smc_addr_text(&addr, text), cases[i].text);
    }
    cr_expect_str_eq(smc_addr_text(&(struct sockaddr_storage){.ss_family = 99}, text), "?");
}

Test(smc_report, bytes_and_times)
{
    static const struct {
        double value;
        const char *bytes, *time;
    } cases[] = {{0, "0 bytes", "0:00"},          {59.4, "59 bytes", "0:59"},
                 {59.6, "60 bytes", "1:00"},      {1023, "1023 bytes", "17:03"},
                 {1024, "1.0 KiB", "17:04"},      {3599, "3.5 KiB", "59:59"},
                 {3600, "3.5 KiB", "1:00:00"},    {1 << 20, "1.0 MiB", "291:16:16"},
                 {1.5 * (1 << 30), "1.5 GiB", 0}, {3.0 * (UINT64_C(1) << 40), "3.0 TiB", 0},
                 {2e15, "1819.0 TiB", 0}};
    char text[32];
    for (size_t i = 0; i < array_len(cases); i++) {
        cr_expect_str_eq(smc_bytes_text(cases[i].value, text), cases[i].bytes);
        if (cases[i].time)
            cr_expect_str_eq(smc_time_text(cases[i].value, text), cases[i].time);
    }
}

/* --- how it travels --- */

Test(smc_report, how_the_bytes_travel_and_why)
{
    c.info.smcr = true;
    cr_expect_str_eq(say_transport(), "to 192.0.2.1:5000: bytes travel by SMC-R\n");
    c.info.smcr = false;
    c.info.reason = "the peer has no RNIC";
    cr_expect_str_eq(say_transport(),
                     "to 192.0.2.1:5000: bytes travel by TCP, not by SMC-R: the peer has no RNIC\n");
    o.listen = true;
    c.info.reason = "";
    cr_expect_str_eq(say_transport(),
                     "from 192.0.2.1:5000: bytes travel by TCP, not by SMC-R: no reason is known\n");
    o.say.quiet = true;
    cr_expect_str_empty(say_transport());
    o.say.quiet = false;
    o.say.json = true;
    cr_expect_str_empty(say_transport(), "the report will say so");
}

/* --- after its end --- */

Test(smc_report, for_people)
{
    c.sent.bytes = 3 << 20;
    c.taken.bytes = 100;
    cr_expect_str_eq(report(&stderr, true), "sent 3.0 MiB (3145728 bytes) in 2.00 s, 1.5 MiB/s\n"
                                            "received 100 bytes in 2.00 s, 50 bytes/s\n");
    c.taken.bytes = 0;
    c.end_ns = c.connected_ns;
    cr_expect_str_eq(report(&stderr, true), "sent 3.0 MiB (3145728 bytes) in 0.00 s, 0 bytes/s\n");
    o.say.quiet = true;
    cr_expect_str_empty(report(&stderr, true));
}

Test(smc_report, sums_are_told_also_by_a_quiet_one)
{
    c.sent = (struct smc_flow){.bytes = 3, .sum = smc_sum_create()};
    smc_sum_add(c.sent.sum, "abc", 3);
    o.say.quiet = o.say.sum = true;
    report(&stderr, true);
    cr_expect_not_null(strstr(printed, "sha256 of what was sent: "
                                       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"),
                       "%s", printed);
    smc_sum_destroy(c.sent.sum);
}

static const char *text(struct json_object *from, const char *key)
{
    return json_object_get_string(json_member(from, key));
}

Test(smc_report, for_scripts)
{
    o.say.json = true;
    o.output = "file";
    c.sent = (struct smc_flow){.bytes = 1000000, .sum = smc_sum_create()};
    c.taken.bytes = 500000;
    c.info.reason = "no --device was given";
    struct json_object *j = json_tokener_parse(report(&stdout, true));
    cr_assert_not_null(j, "%s", printed);
    cr_expect(json_object_get_boolean(json_member(j, "ok")));
    cr_expect_str_eq(text(j, "role"), "client");
    cr_expect_str_eq(text(j, "local"), "192.0.2.2:40000");
    cr_expect_str_eq(text(j, "peer"), "192.0.2.1:5000");
    cr_expect_str_eq(text(j, "transport"), "tcp");
    cr_expect_str_eq(text(j, "reason"), "no --device was given");
    cr_expect_str_eq(text(j, "seconds"), "2.000");
    cr_expect_str_eq(text(j, "sent_bytes"), "1000000");
    cr_expect_str_eq(text(j, "sent_mbit_per_s"), "4.000");
    cr_expect_str_eq(text(j, "received_bytes"), "500000");
    cr_expect_str_eq(text(j, "received_mbit_per_s"), "2.000");
    cr_expect_eq(strlen(text(j, "sent_sha256")), 64);
    cr_expect_not(json_object_object_get_ex(j, "received_sha256", NULL), "nobody asked for it");
    cr_expect_not(json_object_object_get_ex(j, "counters", NULL), "without a device there are none");
    cr_expect_eq(json_object_array_length(json_member(j, "links")), 0);
    json_object_put(j);
    /* standard output carries the data: the report goes to standard error */
    o.output = NULL;
    o.listen = true;
    j = json_tokener_parse(report(&stderr, false));
    cr_assert_not_null(j, "%s", printed);
    cr_expect_not(json_object_get_boolean(json_member(j, "ok")));
    cr_expect_str_eq(text(j, "role"), "server");
    json_object_put(j);
    smc_sum_destroy(c.sent.sum);
}

/* --- the line while it goes on --- */

Test(smc_report, progress_is_for_terminals)
{
    struct smc_progress p;
    begin(&stderr);
    smc_progress_begin(&p, &c);
    cr_expect_not(p.is_on, "standard error is none here");
    smc_progress_show(&p, &c);
    smc_progress_end(&p);
    end();
    cr_expect_str_empty(printed);
}

Test(smc_report, progress_tells_how_long_it_will_take)
{
    struct smc_progress p = {.is_on = true, .rate = 0};
    c.sent = (struct smc_flow){.bytes = 25 << 20, .size_bytes = 100 << 20};
    begin(&stderr);
    p.last_ns = host_now_ns() - NS_PER_S;
    smc_progress_show(&p, &c);
    end();
    cr_expect_not_null(strstr(printed, "\r\033[K  25.0 MiB of 100.0 MiB, 25 %  25.0 MiB/s  0:03 left"), "%s",
                       printed);
    begin(&stderr);
    smc_progress_show(&p, &c);
    end();
    cr_expect_str_empty(printed, "not more often than five times a second");
    begin(&stderr);
    smc_progress_end(&p);
    end();
    cr_expect_str_eq(printed, "\r\033[K");
}

Test(smc_report, progress_of_what_has_no_known_size)
{
    struct smc_progress p = {.is_on = true};
    c.taken.bytes = 10 << 20; /* the way that the most goes */
    c.sent.bytes = 1;
    begin(&stderr);
    p.last_ns = host_now_ns() - NS_PER_S;
    smc_progress_show(&p, &c);
    end();
    cr_expect_not_null(strstr(printed, "  10.0 MiB  10.0 MiB/s"), "%s", printed);
    cr_expect_null(strstr(printed, "left"));
}

/* --- smc stat --- */

/* An answer; 'words' are quoted so that it can be read here. */
static const char process[] =
    "{'pid':77,'command':'nornic smc listen 5000',"
    "'groups':[{'id':1,'role':'server','peer_id':'abcd','redundancy':'SYMMETRIC','max_links':2,'vlan_id':5}],"
    "'links':[{'group':1,'number':1,'state':'ACTIVE','port':'eth0','qpn':17,'peer_qpn':18,'gid':'10.0.0.1',"
    "'peer_gid':'10.0.0.2','path_mtu':1024,'conns':1},"
    "{'group':2,'number':9,'state':'of another group'}],"
    "'rmbs':[{'group':1,'elems':4,'elem_bytes':65536,'used':1}],"
    "'conns':[{'group':1,'local':'::ffff:10.0.0.1','local_port':5000,'remote':'fd00::2','remote_port':40000,"
    "'state':'ACTIVE','link':1,'tx_bytes':2048,'rx_bytes':100,'window_bytes':65536,'readable_bytes':3,"
    "'unsent_bytes':4},"
    "{'group':0,'local':'10.0.0.1','local_port':1,'remote':'10.0.0.2','remote_port':2,'state':'INIT'}],"
    "'counters':{'tx_bytes':2048,'rx_bytes':1024},"
    "'fallbacks':[{'count':3,'reason':'no RNIC'}]}";

static struct json_object *parse_answer(const char *text)
{
    char quoted[2048];
    size_t n = 0;
    for (; *text && n + 1 < sizeof quoted; text++)
        quoted[n++] = *text == '\'' ? '"' : *text;
    quoted[n] = 0;
    struct json_object *answer = json_tokener_parse(quoted);
    cr_assert_not_null(answer, "%s", quoted);
    return answer;
}

static const char *print_stat(struct json_object *now, struct json_object *before, double seconds)
{
    FILE *out = fmemopen(printed, sizeof printed, "w");
    smc_stat_print(out, now, before, seconds);
    fclose(out);
    return printed;
}

static void expect_part(const char *part)
{
    cr_expect_not_null(strstr(printed, part), "'%s' is not in:\n%s", part, printed);
}

Test(smc_report, a_process_with_all_it_has)
{
    struct json_object *now = parse_answer(process);
    print_stat(now, NULL, 0);
    cr_expect_eq(
        strncmp(printed,
                "process 77  nornic smc listen 5000\n"
                "  group 1  server of peer abcd  SYMMETRIC  2 links at most  VLAN 5\n"
                "    link 1   ACTIVE     eth0  QPN 0x000011 to 0x000012  10.0.0.1 to 10.0.0.2  MTU 1024  "
                "connections: 1\n"
                "    RMB      4 elements of 64.0 KiB, 1 in use\n"
                "    10.0.0.1:5000 with [fd00::2]:40000  ACTIVE  link 1  sent 2.0 KiB, received 100 bytes, "
                "window 64.0 KiB, 3 bytes to read, 4 bytes under way\n"
                "    10.0.0.1:1 with 10.0.0.2:2  INIT  sent 0 bytes, received 0 bytes, window 0 bytes\n",
                100),
        0, "%s", printed);
    expect_part("window 64.0 KiB, 3 bytes to read, 4 bytes under way\n");
    expect_part("    10.0.0.1:1 with 10.0.0.2:2  INIT  sent 0 bytes");
    cr_expect_null(strstr(printed, "of another group"));
    expect_part("             3  by TCP, not by SMC-R: no RNIC\n");
    expect_part("          2048  ");
    cr_expect_null(strstr(printed, "  now "), "there is nothing to compare it with");
    json_object_put(now);
}

Test(smc_report, rates_are_those_since_the_last_look)
{
    struct json_object *now = parse_answer(process);
    struct json_object *before = parse_answer("{'pid':77,'counters':{'tx_bytes':0,'rx_bytes':512}}");
    print_stat(now, before, 0.5);
    expect_part("  now      sends 4.0 KiB/s, receives 1.0 KiB/s\n");
    cr_expect_null(strstr(print_stat(now, before, 0), "  now "));
    json_object_put(now);
    json_object_put(before);
}

Test(smc_report, an_answer_that_lacks_everything_is_printed_all_the_same)
{
    static const char *const answers[] = {"{}", "{\"groups\":5,\"conns\":{},\"counters\":[]}",
                                          "{\"groups\":[{}],\"links\":[{}],\"fallbacks\":[{}]}"};
    for (size_t i = 0; i < array_len(answers); i++) {
        struct json_object *now = json_tokener_parse(answers[i]);
        print_stat(now, now, 1);
        cr_expect_eq(strncmp(printed, "process 0  \n", 12), 0, "%s", printed);
        json_object_put(now);
    }
}

Test(smc_report, members_of_an_answer)
{
    struct json_object *now = json_tokener_parse("{\"n\":18446744073709551615,\"t\":\"word\"}");
    cr_expect_eq(cli_json_count(now, "n"), UINT64_MAX);
    cr_expect_eq(cli_json_count(now, "none"), 0);
    cr_expect_eq(cli_json_count(NULL, "n"), 0);
    cr_expect_str_eq(cli_json_plain(now, "t"), "word");
    cr_expect_str_eq(cli_json_plain(now, "none"), "");
    json_object_put(now);
}
