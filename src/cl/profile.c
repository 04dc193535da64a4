/* SPDX-License-Identifier: MIT */
/* The profile of a queue, as rows and as a table. */
#include "cl/cl.h"

#include "base/str.h"

#include <string.h>

static imgpar_status copy_rows(imgpar_cl_queue *q, imgpar_cl_profile_row ***rows, size_t *n, ip_error *err)
{
    if (!q) return ip_cl_null(err, "profile", "the queue");
    if (ip_context_check(q->ctx, err)) return IMGPAR_E_DEVICE_LOST;
    ip_cl_queue_settle(q);
    pthread_mutex_lock(&q->lock);
    *rows = ip_list_new(q->n_rows, sizeof ***rows);
    if (*rows) *n = q->n_rows;
    for (size_t k = 0; k < *n; k++)
        *(*rows)[k] = q->rows[k];
    pthread_mutex_unlock(&q->lock);
    return *rows ? IMGPAR_OK : ip_fail_memory(err, "profiling");
}

imgpar_status imgpar_cl_profile(imgpar_cl_queue *q, imgpar_cl_profile_row ***rows, size_t *n)
{
    ip_error err = { .status = IMGPAR_OK };
    if (!rows || !n) {
        ip_cl_null(&err, "profile", rows ? "n" : "rows");
    } else {
        *rows = NULL;
        *n = 0;
        copy_rows(q, rows, n, &err);
    }
    return ip_cl_say(&err);
}

static char *table_of(imgpar_cl_profile_row *const *rows, size_t n)
{
    ip_str s = IP_STR_INIT;
    double all_ms = 0;
    for (size_t k = 0; k < n; k++)
        all_ms += rows[k]->total_ms;
    ip_str_printf(&s, "%-24s %7s %11s %11s %11s %6s %8s\n", "command", "count", "total ms", "least ms", "most ms", "%",
                  "GB/s");
    for (size_t k = 0; k < n; k++) {
        const imgpar_cl_profile_row *r = rows[k];
        ip_str_printf(&s, "%-24s %7llu %11.3f %11.3f %11.3f %6.1f", r->name, (unsigned long long)r->count, r->total_ms,
                      r->least_ms, r->most_ms, all_ms > 0 ? 100 * r->total_ms / all_ms : 0);
        if (r->bytes > 0 && r->total_ms > 0) ip_str_printf(&s, " %8.2f", (double)r->bytes / r->total_ms / 1e6);
        ip_str_putc(&s, '\n');
    }
    return ip_str_take(&s);
}

imgpar_status imgpar_cl_profile_text(imgpar_cl_queue *q, char **out)
{
    ip_error err = { .status = IMGPAR_OK };
    imgpar_cl_profile_row **rows = NULL;
    size_t n = 0;
    if (!out) {
        ip_cl_null(&err, "profile_text", "out");
        return ip_cl_say(&err);
    }
    *out = NULL;
    if (!copy_rows(q, &rows, &n, &err)) {
        *out = table_of(rows, n);
        if (!*out) ip_fail_memory(&err, "profiling");
    }
    ip_free(rows);
    return ip_cl_say(&err);
}
