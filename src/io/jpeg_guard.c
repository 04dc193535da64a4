/* SPDX-License-Identifier: MIT */
#include "io/jpeg_guard.h"

#include "base/alloc.h"

#include <jerror.h>

static void on_error_exit(j_common_ptr c)
{
    ip_jpeg_guard *g = c->client_data;
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    g->on_error(g, c->err->msg_code, text);
    longjmp(g->jump, 1);
}

static void on_message(j_common_ptr c, int level)
{
    ip_jpeg_guard *g = c->client_data;
    char text[JMSG_LENGTH_MAX];
    if (level >= 0 || !g->on_warning) return; /* traces */
    c->err->num_warnings++;
    c->err->format_message(c, text);
    if (g->on_warning(g, c->err->msg_code, text)) longjmp(g->jump, 1);
}

static void on_output(j_common_ptr c) { (void)c; /* a library does not print */ }

void ip_jpeg_guard_errors(ip_jpeg_guard *guard, j_common_ptr c)
{
    c->err = jpeg_std_error(&guard->errors);
    c->client_data = guard;
    guard->errors.error_exit = on_error_exit;
    guard->errors.emit_message = on_message;
    guard->errors.output_message = on_output;
}

static const struct jpeg_memory_mgr *ask(j_common_ptr c)
{
    ip_jpeg_guard *g = c->client_data;
    if (ip_fault(IP_FAULT_ALLOC)) ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
    return &g->memory;
}

static void *alloc_small(j_common_ptr c, int pool, size_t n) { return ask(c)->alloc_small(c, pool, n); }

static void *alloc_large(j_common_ptr c, int pool, size_t n) { return ask(c)->alloc_large(c, pool, n); }

static JSAMPARRAY alloc_sarray(j_common_ptr c, int pool, JDIMENSION width, JDIMENSION n_rows)
{
    return ask(c)->alloc_sarray(c, pool, width, n_rows);
}

static JBLOCKARRAY alloc_barray(j_common_ptr c, int pool, JDIMENSION width, JDIMENSION n_rows)
{
    return ask(c)->alloc_barray(c, pool, width, n_rows);
}

static void realize_virt_arrays(j_common_ptr c) { ask(c)->realize_virt_arrays(c); }

void ip_jpeg_guard_memory(ip_jpeg_guard *guard, j_common_ptr c)
{
    guard->memory = *c->mem;
    c->mem->alloc_small = alloc_small;
    c->mem->alloc_large = alloc_large;
    c->mem->alloc_sarray = alloc_sarray;
    c->mem->alloc_barray = alloc_barray;
    c->mem->realize_virt_arrays = realize_virt_arrays;
}
