/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC domains. A file makes one domain of all that a context opens with it; other contexts, and other
 * processes, have a domain of their own for the same file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "verbs/object.h"
#include "verbs/ops.h"

/* Finds the open domain of a file in a context, under its lock. NULL: there is none. */
static struct verbs_xrcd *find(struct verbs_context_own *own, const struct stat *file)
{
    struct verbs_xrcd *xrcd;
    for (xrcd = LIST_FIRST(&own->xrcds); xrcd; xrcd = LIST_NEXT(xrcd, entry))
        if (xrcd->has_file && xrcd->device == file->st_dev && xrcd->inode == file->st_ino)
            break;
    return xrcd;
}

/* Opens the domain of `file` (NULL: one without a file), or makes it. 0 or an errno value, as kernels have
 * it: EAGAIN (there is none, and O_CREAT is missing), EINVAL (there is one, and O_EXCL). Under the
 * context's lock. */
static int share_or_make(struct verbs_context_own *own, const struct stat *file, int oflags,
                         struct verbs_xrcd *xrcd)
{
    struct verbs_xrcd *origin = file ? find(own, file) : NULL;
    if (origin && (oflags & O_EXCL))
        return EINVAL;
    if (!origin && !(oflags & O_CREAT))
        return file ? EAGAIN : EINVAL;
    int err = origin ? 0 : -nornic_xrcd_create(own->dev, &xrcd->nornic);
    if (err)
        return err;
    if (origin) {
        xrcd->nornic = origin->nornic;
        xrcd->origin = origin->origin ? origin->origin : origin;
        xrcd->origin->names++;
    }
    if (file) {
        xrcd->has_file = true;
        xrcd->device = file->st_dev;
        xrcd->inode = file->st_ino;
    }
    LIST_INSERT_HEAD(&own->xrcds, xrcd, entry);
    return 0;
}

struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init)
{
    const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    struct verbs_context_own *own = verbs_own(context);
    struct stat file;
    if (init->comp_mask != needed || (init->oflags & ~(O_CREAT | O_EXCL)))
        return verbs_fail_null(EINVAL, "open_xrcd: comp_mask 0x%x, oflags 0%o", init->comp_mask,
                               (unsigned)init->oflags);
    if (init->fd != -1 && fstat(init->fd, &file))
        return verbs_fail_null(EBADF, "open_xrcd: descriptor %d is of no file", init->fd);
    struct verbs_xrcd *xrcd = verbs_object_new(VERBS_XRCD, sizeof *xrcd);
    if (!xrcd)
        return verbs_fail_null(ENOMEM, "no memory for an XRC domain");
    xrcd->base.context = context;
    pthread_mutex_lock(&own->lock);
    int err = share_or_make(own, init->fd != -1 ? &file : NULL, init->oflags, xrcd);
    pthread_mutex_unlock(&own->lock);
    if (err) {
        verbs_object_free(VERBS_XRCD, xrcd);
        return verbs_fail_null(err, "open_xrcd: descriptor %d with oflags 0%o", init->fd,
                               (unsigned)init->oflags);
    }
    return &xrcd->base;
}

/* Ends a name of a domain, or the domain with its last name. 0 or an errno value. Under the context's
 * lock. */
static int close_name(struct verbs_xrcd *xrcd)
{
    if (xrcd->names)
        return EBUSY;
    int err = xrcd->origin ? 0 : -nornic_xrcd_destroy(xrcd->nornic);
    if (err)
        return err;
    if (xrcd->origin)
        xrcd->origin->names--;
    LIST_REMOVE(xrcd, entry);
    return 0;
}

int verbs_close_xrcd(struct ibv_xrcd *base)
{
    struct verbs_xrcd *xrcd = verbs_xrcd_of(base);
    int err = verbs_object_claim(VERBS_XRCD, xrcd);
    if (err || verbs_is_inherited(base->context))
        return err;
    struct verbs_context_own *own = verbs_own(base->context);
    pthread_mutex_lock(&own->lock);
    err = close_name(xrcd);
    pthread_mutex_unlock(&own->lock);
    if (err) {
        verbs_object_keep(VERBS_XRCD, xrcd);
        return verbs_fail(err, "the XRC domain has SRQs or queue pairs, or is open elsewhere");
    }
    verbs_object_free(VERBS_XRCD, xrcd);
    return 0;
}
