/* SPDX-License-Identifier: BSD-2-Clause */
/* The page's parts. What the page makes of them, test/e2e/explain_page.sh asks a browser. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/page/html.h"
#include "explain/page/inside.h"

static unsigned count_of(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

Test(html, words_are_split_into_what_stays_and_numbers)
{
    struct explain_text frame = {0}, numbers = {0};
    explain_html_split_words("READ 3/16 of #7, PSN 0x003048, a<b v2", &frame, &numbers);
    cr_assert_str_eq(frame.bytes, "READ \\#/\\# of #\\#, PSN \\#, a\\lb v2");
    cr_assert_str_eq(numbers.bytes, " 3 16 7 0x003048");
    explain_text_free(&frame);
    explain_text_free(&numbers);
}

Test(html, nothing_of_a_capture_ends_the_script)
{
    struct explain_text out = {0};
    explain_html_put_safe(&out, "a\\b</script>\n\t\r<!--");
    cr_assert_str_eq(out.bytes, "a\\\\b\\l/script>\\n\\t\\r\\l!--");
    explain_text_free(&out);
}

Test(html, base64_without_padding)
{
    static const char *const expected[] = {NULL, "/w", "/+4", "/+7d", "/+7dzA"};
    for (size_t n = 1; n <= 4; n++) {
        struct explain_text out = {0};
        explain_html_put_base64(&out, (const uint8_t[]){0xff, 0xee, 0xdd, 0xcc}, n);
        cr_assert_str_eq(out.bytes, expected[n]);
        explain_text_free(&out);
    }
}

Test(html, a_full_dictionary_takes_no_more)
{
    struct explain_html_dict *dict = calloc(1, sizeof *dict);
    bool is_new;
    char text[16];
    for (unsigned round = 0; round < 2; round++)
        for (int i = 0; i < HTML_DICT_MAX; i++) {
            snprintf(text, sizeof text, "text %d", i);
            cr_assert_eq(explain_html_dict_number(dict, text, &is_new), i);
            cr_assert_eq(is_new, round == 0);
        }
    cr_assert_eq(explain_html_dict_number(dict, "one more", &is_new), -1);
    cr_assert_not(is_new);
    explain_html_dict_free(dict);
    free(dict);
}

/* One page of a capture, under the name `name`. */
static void write_page(struct explain_text *out, const char *path, const char *name, uint64_t step)
{
    struct explain_html *html = explain_html_create(false);
    struct explain_analysis *analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    uint64_t n = 0;
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    explain_html_begin(html, out);
    explain_html_open(html, out, NULL);
    explain_html_file(html, out, name);
    while (net_capture_next(capture, &record, &why) == 1) {
        struct explain_packet p;
        struct explain_meaning m;
        explain_dissect(&p, &record, ++n);
        explain_analysis_next(analysis, &p, &m);
        if (n % step == 0)
            explain_html_packet(html, out, &p, &m);
    }
    explain_html_close(html, out, n, analysis, "A story.\n");
    explain_html_end(html, out);
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
    explain_html_destroy(html);
}

/* No mark is left, the scripts are closed by the page alone, and nothing is asked of a network. */
Test(html, a_page_is_whole_and_alone)
{
    struct explain_text out = {0};
    write_page(&out, "pcaps/rc_mix.pcap", "a</script><script>alert(1)", 1);
    cr_assert_not(out.has_failed);
    cr_assert_eq(count_of(out.bytes, "</script"), 4);
    cr_assert_eq(count_of(out.bytes, "<script"), 4);
    cr_assert_eq(count_of(out.bytes, "src="), 0);
    cr_assert_eq(count_of(out.bytes, "@CSS@") + count_of(out.bytes, "@DATA@") +
                     count_of(out.bytes, "@WORDS@") + count_of(out.bytes, "@SCRIPT@"),
                 0);
    cr_assert_eq(count_of(out.bytes, "\n=n "), 0);
    cr_assert_str_eq(out.bytes + out.len - strlen("</html>\n"), "</html>\n");
    explain_text_free(&out);
}

/* What a filter leaves out shows in the numbers. */
Test(html, numbers_skip_what_is_left_out)
{
    struct explain_text out = {0};
    write_page(&out, "pcaps/rc_mix.pcap", "rc_mix", 10);
    cr_assert_eq(count_of(out.bytes, "\n=n "), 9);
    cr_assert_not_null(strstr(out.bytes, "\n=n 90\n"));
    cr_assert_not_null(strstr(out.bytes, "{\"total\":91,"));
    explain_text_free(&out);
}
