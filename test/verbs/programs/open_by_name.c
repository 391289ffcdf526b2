/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a library by the name given, as NCCL, brpc and others do, and prints the first device that it lists:
 * "NAME: DEVICE", or "NAME: why not". Exit status 0 where the list has a device.
 *     open_by_name libibverbs.so | librdmacm.so | ... */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

/* Returns the first device that `library` lists, librdmacm by its contexts; NULL where it lists none. */
static const struct ibv_device *find_device(void *library, int is_cm)
{
    int count = 0;
    if (is_cm) {
        struct ibv_context **(*get_contexts)(int *) = dlsym(library, "rdma_get_devices");
        struct ibv_context **contexts = get_contexts ? get_contexts(&count) : NULL;
        return contexts && count ? contexts[0]->device : NULL;
    }
    struct ibv_device **(*get_devices)(int *) = dlsym(library, "ibv_get_device_list");
    struct ibv_device **devices = get_devices ? get_devices(&count) : NULL;
    return devices && count ? devices[0] : NULL;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "libibverbs.so";
    void *library = dlopen(name, RTLD_NOW);
    const struct ibv_device *device = library ? find_device(library, strstr(name, "rdmacm") != NULL) : NULL;
    printf("%s: %s\n", name, !library ? dlerror() : device ? device->name : "no device");
    return device ? 0 : 1;
}
