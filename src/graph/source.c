/* SPDX-License-Identifier: MIT */
/* Sources: what a leaf's pixels are read from, shared by the nodes that read it. */
#include "graph/array.h"

#include "base/alloc.h"

void ip_source_release(ip_source *source)
{
    if (!source || atomic_fetch_sub(&source->refs, 1) != 1) return;
    if (source->kind == IP_SOURCE_FILE) ip_file_release(&source->file);
    if (source->on_release)
        source->on_release(source->user, source->data);
    else if (!source->borrowed)
        ip_free(source->data);
    ip_account_give(source->account, source->size_bytes);
    ip_account_release(source->account);
    ip_free(source->name);
    ip_free(source);
}

ip_source *ip_source_of_pixels(void *takes, size_t size_bytes)
{
    ip_source *source = ip_zalloc(sizeof *source);
    if (!source) {
        ip_free(takes);
        return NULL;
    }
    atomic_init(&source->refs, 1);
    source->kind = IP_SOURCE_PIXELS;
    source->data = takes;
    source->size_bytes = size_bytes;
    return source;
}
