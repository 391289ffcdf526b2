/* SPDX-License-Identifier: BSD-2-Clause */
/* What a call need not ask for (sock/socket/user.c), since it cannot be missing while the call runs:
 *
 * - the calling thread's stack, from the frame of this call up to its end: callers return through it. Only
 *   while the thread runs on it: on an alternate signal stack, or on one that a coroutine has, nothing is
 *   known of either. Of the first thread, whose stack grows, no more counts than had grown when it was looked
 *   at, or else what lies between might be taken for stack.
 * - what the linker laid out of the main program: text and constants to be read, variables to be written,
 *   but for those that are sealed after relocation (RELRO). Not that of libraries, which can be unloaded.
 * - the heap below the break. Where it begins is learnt once; where it ends the C library keeps (sbrk(0) of
 *   glibc enters no kernel), so that a heap that has shrunk ends earlier at the next question. What malloc()
 *   has from mmap() - large blocks, those of other threads - is no part of it.
 *
 * None of that came from a mmap() of the program, so munmap() and mprotect() of it are what POSIX leaves
 * open ("the behavior of this function shall be unspecified if the mapping was not established by a call to
 * mmap()"). That is the limit: Linux allows both, and who takes the rights of a page of its own variables
 * away and then hands it to a call gets SIGSEGV here, where the kernel's own call would say EFAULT.
 * (Collectors that do so to notice writes live on that signal.) Memory from mmap() is always asked for. */
#define _GNU_SOURCE
#include "sock/socket/known.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MAX_SPANS 8 /* of a program's segments: linkers make four or five */

struct span {
    uintptr_t begin, end; /* empty: both are 0 */
};

static struct {
    struct span readable[MAX_SPANS], writable[MAX_SPANS];
    unsigned num_readable, num_writable;
    uintptr_t heap_begin; /* 0: not known */
    struct span first_stack;
} known;

static _Thread_local struct span stack __attribute__((tls_model("initial-exec")));
static _Thread_local bool is_stack_learnt __attribute__((tls_model("initial-exec")));

static size_t part_in(struct span span, uintptr_t at, size_t len_bytes)
{
    if (at < span.begin || at >= span.end)
        return 0;
    return len_bytes < span.end - at ? len_bytes : span.end - at;
}

/* --- learning --- */

static void add(struct span *spans, unsigned *num, struct span span)
{
    if (*num < MAX_SPANS && span.begin < span.end)
        spans[(*num)++] = span;
}

/* Of dl_iterate_phdr(): the main program is the object whose headers the kernel passed on. */
static int learn_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct span sealed = {0};
    (void)size;
    (void)ctx;
    if ((uintptr_t)info->dlpi_phdr != getauxval(AT_PHDR))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_RELRO)
            sealed = (struct span){begin, begin + header->p_memsz};
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        struct span span = {begin, begin + header->p_memsz};
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_R))
            continue;
        add(known.readable, &known.num_readable, span);
        if (part_in(span, sealed.begin, 1) > 0)
            span.begin = sealed.end;
        if (header->p_flags & PF_W)
            add(known.writable, &known.num_writable, span);
    }
    return 1;
}

/* The heap's first byte by the kernel's reckoning, or 0: "start_brk" of proc(5). */
static uintptr_t read_start_brk(void)
{
    char line[1024];
    uintptr_t start = 0;
    FILE *file = fopen("/proc/self/stat", "re");
    if (file && fgets(line, sizeof line, file)) {
        char *rest = strrchr(line, ')'); /* behind the name, which is field 2 */
        for (unsigned field = 2; rest && field < 47; field++)
            rest = strchr(rest + 1, ' ');
        if (!rest || sscanf(rest, "%" SCNuPTR, &start) != 1)
            start = 0;
    }
    if (file)
        fclose(file);
    return start;
}

/* The heap begins where the kernel says, in one mapping that goes up to the break: another's may be its
 * neighbour; and a process that is emulated has another break than the kernel's. */
static void learn_mappings(void)
{
    char line[512];
    uintptr_t start_brk = read_start_brk(), top = (uintptr_t)sbrk(0);
    FILE *file = fopen("/proc/self/maps", "re");
    while (file && fgets(line, sizeof line, file)) {
        struct span span;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " rw", &span.begin, &span.end) != 2)
            continue;
        if (strstr(line, "[stack]"))
            known.first_stack = span;
        if (start_brk > 0 && part_in(span, top - 1, 1) > 0)
            known.heap_begin = span.begin > start_brk ? span.begin : start_brk;
    }
    if (file)
        fclose(file);
}

void smcr_known_learn(void)
{
    memset(&known, 0, sizeof known);
    dl_iterate_phdr(learn_program, NULL);
    learn_mappings();
}

/* It is left empty where the C library cannot say. */
static void learn_stack(void)
{
    pthread_attr_t attr;
    void *begin;
    size_t size;
    int saved = errno;
    is_stack_learnt = true;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &begin, &size) == 0)
            stack = (struct span){(uintptr_t)begin, (uintptr_t)begin + size};
        pthread_attr_destroy(&attr);
    }
    if (part_in(stack, known.first_stack.begin, 1) > 0)
        stack.begin = known.first_stack.begin;
    errno = saved;
}

/* --- answers --- */

static size_t part_on_stack(uintptr_t at, size_t len_bytes)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (at < here)
        return 0;
    if (!is_stack_learnt)
        learn_stack();
    return part_in(stack, here, 1) > 0 ? part_in(stack, at, len_bytes) : 0;
}

static size_t part_on_heap(uintptr_t at, size_t len_bytes)
{
    if (known.heap_begin == 0 || at < known.heap_begin)
        return 0;
    return part_in((struct span){known.heap_begin, (uintptr_t)sbrk(0)}, at, len_bytes);
}

static size_t part_of(const struct span *spans, unsigned num, uintptr_t at, size_t len_bytes)
{
    size_t part = 0;
    for (unsigned i = 0; i < num && part == 0; i++)
        part = part_in(spans[i], at, len_bytes);
    if (part == 0)
        part = part_on_heap(at, len_bytes);
    return part > 0 ? part : part_on_stack(at, len_bytes);
}

size_t smcr_known_readable(const void *at, size_t len_bytes)
{
    return part_of(known.readable, known.num_readable, (uintptr_t)at, len_bytes);
}

size_t smcr_known_writable(const void *at, size_t len_bytes)
{
    return part_of(known.writable, known.num_writable, (uintptr_t)at, len_bytes);
}
