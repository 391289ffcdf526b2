/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that loads librdmacm, has it open the devices, and unloads it, as Open MPI does with
 * components that it does not choose. The devices stay open, since librdmacm keeps them for the whole
 * process, and so do their threads: the code that they run in has to stay as well. Prints "unloaded, and
 * loaded again: DEVICE", or what was wrong. */
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ibv_context **get_devices(int *count);
typedef void free_devices(struct ibv_context **devices);

static void *function(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "unload: %s\n", dlerror());
        exit(1);
    }
    return found;
}

/* Loads librdmacm, asks for the first device, and unloads it. -> the device's name */
static const char *device(void)
{
    void *library = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
    get_devices *get = (get_devices *)function(library, "rdma_get_devices");
    free_devices *give_back = (free_devices *)function(library, "rdma_free_devices");
    int count;
    struct ibv_context **devices = get(&count);
    if (!devices || count < 1) {
        fprintf(stderr, "unload: there is no device\n");
        exit(1);
    }
    static char name[IBV_SYSFS_NAME_MAX];
    snprintf(name, sizeof name, "%s", devices[0]->device->name);
    give_back(devices);
    if (dlclose(library)) {
        fprintf(stderr, "unload: %s\n", dlerror());
        exit(1);
    }
    return name;
}

int main(void)
{
    static const char *const libraries[] = {"librdmacm.so.1", "libibverbs.so.1"};
    device();
    for (unsigned i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (!dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD)) {
            fprintf(stderr, "unload: the code of %s is gone, under threads that run in it\n", libraries[i]);
            return 1;
        }
    printf("unloaded, and loaded again: %s\n", device());
    return 0;
}
