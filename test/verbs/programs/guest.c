/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest for QEMU that knows what its memory has to be: a multiboot kernel without a system, for
 * migration by test/verbs/programs/migrate.py. Between 16 MiB and the last 32, the pages of every
 * EVERYth MiB hold words that follow from the page's number and a generation; the rest are zero. A pass
 * looks at every word of those, and of the rest at one in each 64 bytes (no word of the others is zero),
 * and writes every DIRTYth page with words anew, of the next generation: a page that a migration lost,
 * mixed up or left as it was before is found in the next pass. "every=N dirty=N" is the command line.
 * What it says goes to the first serial port, a line for each pass, "pass N right", or what was wrong,
 * after which it stops. Built by qemu.sh. */
#include <stdbool.h>
#include <stdint.h>

#define FIRST_BYTE 0x1000000u
#define LAST_BYTES 0x2000000u /* of memory, in which the BIOS has worked */
#define PAGE_WORDS 1024u
#define PAGE_BYTES 4096u
#define RUN_PAGES  256u /* a MiB: what QEMU's rdma looks at as one, also for being zero */

/* What the loader leaves, as the Multiboot Specification 0.6.96, 3.3, has it. */
struct multiboot_info {
    uint32_t flags, mem_lower_kib, mem_upper_kib, boot_device, command_line;
};

#define MULTIBOOT_MAGIC 0x1badb002u
#define MULTIBOOT_FLAGS 2u /* tell how much memory there is */
__attribute__((section(".multiboot"), used)) static const uint32_t multiboot_header[] = {
    MULTIBOOT_MAGIC, MULTIBOOT_FLAGS, -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)};

__asm__(".globl _start\n"
        "_start: movl $stack_end, %esp\n"
        "        pushl %ebx\n"
        "        call guest\n"
        "stop:   hlt\n"
        "        jmp stop\n"
        ".bss\n"
        ".balign 16\n"
        ".skip 16384\n"
        "stack_end:\n"
        ".text\n");

static void say_byte(char byte)
{
    uint8_t status;
    do
        __asm__ volatile("inb %1, %0" : "=a"(status) : "Nd"((uint16_t)0x3fd));
    while (!(status & 0x20));
    __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"((uint16_t)0x3f8));
}

static void say(const char *before, uint32_t number, const char *after)
{
    char digits[10];
    unsigned count = 0;
    while (*before)
        say_byte(*before++);
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        say_byte(digits[--count]);
    while (*after)
        say_byte(*after++);
}

/* The number behind `name` in `line`; 1 where it is not there. */
static uint32_t option(const char *line, const char *name)
{
    for (; *line; line++) {
        unsigned at = 0;
        while (name[at] && line[at] == name[at])
            at++;
        if (!name[at]) {
            uint32_t number = 0;
            for (line += at; *line >= '0' && *line <= '9'; line++)
                number = number * 10 + (uint32_t)(*line - '0');
            return number ? number : 1;
        }
    }
    return 1;
}

static uint32_t word_of(uint32_t page, uint32_t generation, uint32_t at)
{
    return ((page * PAGE_WORDS + at) * 2654435761u ^ generation * 40503u) | 1;
}

static void write_page(uint32_t page, uint32_t generation)
{
    volatile uint32_t *words = (volatile uint32_t *)(FIRST_BYTE + page * PAGE_BYTES);
    for (uint32_t at = 0; at < PAGE_WORDS; at++)
        words[at] = word_of(page, generation, at);
}

/* The first word of the page that is not what it has to be, PAGE_WORDS if there is none. `generation` 0:
 * all are zero. */
static uint32_t first_wrong(uint32_t page, uint32_t generation)
{
    const volatile uint32_t *words = (const volatile uint32_t *)(FIRST_BYTE + page * PAGE_BYTES);
    uint32_t seen = 0, at;
    for (at = 0; !generation && at < PAGE_WORDS; at += 16)
        seen |= words[at];
    if (!generation && !seen)
        return PAGE_WORDS;
    for (at = 0; at < PAGE_WORDS && words[at] == (generation ? word_of(page, generation, at) : 0);)
        at++;
    return at;
}

__attribute__((used)) void guest(const struct multiboot_info *info)
{
    const char *line = (const char *)info->command_line;
    uint32_t every = option(line, "every="), dirty = option(line, "dirty=");
    uint32_t pages = (info->mem_upper_kib * 1024u + 0x100000u - LAST_BYTES - FIRST_BYTE) / PAGE_BYTES;
    for (uint32_t page = 0; page < pages; page++)
        if (page / RUN_PAGES % every == 0)
            write_page(page, 1);
    say("pages ", pages, "\r\n");
    for (uint32_t pass = 1;; pass++) {
        for (uint32_t page = 0; page < pages; page++) {
            bool is_filled = page / RUN_PAGES % every == 0, is_dirtied = is_filled && page % dirty == 0;
            uint32_t wrong = first_wrong(page, is_filled ? is_dirtied ? pass : 1 : 0);
            if (wrong < PAGE_WORDS) {
                say("page ", page, "");
                say(" pass ", pass, "");
                say(" wrong at word ", wrong, "");
                say(": ", *(const volatile uint32_t *)(FIRST_BYTE + page * PAGE_BYTES + wrong * 4), "\r\n");
                return;
            }
            if (is_dirtied)
                write_page(page, pass + 1);
        }
        say("pass ", pass, " right\r\n");
    }
}
