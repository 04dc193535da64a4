/* SPDX-License-Identifier: MIT */
/*
 * Note [Built behind]
 * A process that lives for a tenth of a second cannot build a program, which takes a second. So with "tier" auto the
 * program's text is left in the folder of programs (cachefile.h), and somebody calls imgpar_build_left(): imgpar-run
 * starts a process for that, which takes one text after the other, until none is left. One such process is at work at a
 * time: it holds a lock, and one that finds the lock held ends at once. What is left after it looked last and before it
 * gives the lock back was left by somebody whose process may have found the lock held: so it looks again afterwards.
 */
#include "base/alloc.h"
#include "run/cachefile.h"
#include "run/context.h"
#include "run/device.h"

#include <unistd.h>

/* The devices that are here, and a context for each that something was left for. */
typedef struct builders {
    imgpar_device **devices;
    imgpar_context **contexts;
    size_t n;
} builders;

static imgpar_status find_devices(builders *b)
{
    imgpar_status st = imgpar_device_list(&b->devices, &b->n);
    if (st) return st;
    b->contexts = ip_zalloc(b->n * sizeof *b->contexts);
    return b->contexts ? IMGPAR_OK : IMGPAR_E_HOST_MEMORY;
}

static void end(builders *b)
{
    for (size_t k = 0; b->contexts && k < b->n; k++)
        imgpar_context_release(b->contexts[k]);
    ip_free(b->contexts);
    if (b->devices) imgpar_device_list_release(b->devices, b->n);
}

/* What was left for a device that is not here, or cannot be opened, is dropped: it is left again when it is wanted. */
static bool build(builders *b, const char *identity)
{
    for (size_t k = 0; k < b->n; k++) {
        if (!ip_program_is_for(b->devices[k], identity)) continue;
        if (!b->contexts[k] && ip_context_new(b->devices[k]->selector, &b->contexts[k])) continue;
        if (b->contexts[k]->device) return ip_program_build_left(b->contexts[k]->device, identity);
    }
    return false;
}

/* The programs that are left now, one after the other. */
static imgpar_status build_all(size_t *n)
{
    builders b = { .n = 0 };
    size_t bytes;
    imgpar_status st = IMGPAR_OK;
    for (char *identity; !st && (identity = ip_cachefile_take_left(&bytes));) {
        if (!b.contexts) st = find_devices(&b);
        *n += !st && build(&b, identity);
        ip_free(identity);
    }
    end(&b);
    return st;
}

imgpar_status imgpar_build_left(size_t *n)
{
    size_t built = 0, before;
    imgpar_status st = IMGPAR_OK;
    do {
        const int lock = ip_cachefile_lock_left();
        if (lock < 0) break;
        before = built;
        st = build_all(&built);
        close(lock);
    } while (!st && built > before);
    if (n) *n = built;
    return st;
}
