/* SPDX-License-Identifier: MIT */
/*
 * Note [Background compilation]
 * A process that lives for a tenth of a second cannot compile a program, which takes a second. So with "tier" auto the
 * program's text is left in the folder of programs (cachefile.h), and somebody calls imgpar_compile_pending():
 * imgpar-run starts a process for that, which takes one text after the other, until there is none. One such process is
 * at work at a time: it holds a lock, and one that finds the lock held ends at once. A text that is left after it
 * looked last and before it gives the lock back may be one whose process found the lock held: so it looks again
 * afterwards.
 */
#include "base/alloc.h"
#include "run/cachefile.h"
#include "run/context.h"
#include "run/device.h"

#include <unistd.h>

/* The devices that are here, and a context for each that something is pending for. */
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

/* What is for a device that is not here, or cannot be opened, is dropped: it is left again when it is wanted. */
static bool compile(builders *b, const char *identity)
{
    for (size_t k = 0; k < b->n; k++) {
        if (!ip_program_is_for(b->devices[k], identity)) continue;
        if (!b->contexts[k] && ip_context_new(b->devices[k]->selector, &b->contexts[k])) continue;
        if (b->contexts[k]->device) return ip_program_compile_pending(b->contexts[k]->device, identity);
    }
    return false;
}

/* The programs that are pending now, one after the other. */
static imgpar_status compile_all(size_t *n_taken, size_t *n_compiled)
{
    builders b = { .n = 0 };
    imgpar_status st = IMGPAR_OK;
    for (char *identity; !st && (identity = ip_cachefile_take_pending()); ++*n_taken) {
        if (!b.contexts) st = find_devices(&b);
        *n_compiled += !st && compile(&b, identity);
        ip_free(identity);
    }
    end(&b);
    return st;
}

imgpar_status imgpar_compile_pending(size_t *n)
{
    size_t n_compiled = 0, n_taken = 0;
    imgpar_status st = IMGPAR_OK;
    int idle = 0; /* how often in a row nothing was taken */
    do {
        const size_t before = n_taken;
        const int lock = ip_cachefile_lock_pending();
        if (lock < 0) break;
        st = compile_all(&n_taken, &n_compiled);
        close(lock);
        idle = n_taken > before ? 0 : idle + 1;
    } while (!st && idle < 2 && ip_cachefile_has_pending());
    if (n) *n = n_compiled;
    return st;
}
