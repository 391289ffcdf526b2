/* SPDX-License-Identifier: BSD-2-Clause */
/* The page's own text, as strings of this library, so that what is installed needs no further file. The
 * scripts come one after the other, as one. */
#include "explain/page/inside.h"

#define PAGE_STRING(name, files)     \
    __asm__(".pushsection .rodata\n" \
            ".globl " #name "\n.hidden " #name "\n" #name ":\n" files ".byte 0\n.popsection\n")

PAGE_STRING(explain_page_html, ".incbin \"explain/page/page.html\"\n");
PAGE_STRING(explain_page_words, ".incbin \"explain/page/words.txt\"\n");
PAGE_STRING(explain_page_css, ".incbin \"explain/page/page.css\"\n");
PAGE_STRING(explain_page_js, ".incbin \"explain/page/read.js\"\n"
                             ".incbin \"explain/page/model.js\"\n"
                             ".incbin \"explain/page/words.js\"\n"
                             ".incbin \"explain/page/filter.js\"\n"
                             ".incbin \"explain/page/detail.js\"\n"
                             ".incbin \"explain/page/ladder.js\"\n"
                             ".incbin \"explain/page/plot.js\"\n"
                             ".incbin \"explain/page/ends.js\"\n"
                             ".incbin \"explain/page/smc.js\"\n"
                             ".incbin \"explain/page/iwarp.js\"\n"
                             ".incbin \"explain/page/export.js\"\n"
                             ".incbin \"explain/page/tours.js\"\n"
                             ".incbin \"explain/page/page.js\"\n");
