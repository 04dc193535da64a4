/* SPDX-License-Identifier: MIT */
/*
 * The memo.
 *
 * R1. Recipes are compared byte by byte; their last check only tells which are worth it.
 * R2. A few entries, the oldest one goes first. Recipes of more than MAX_RECIPE bytes and images of more than
 *     MAX_PIXELS bytes are not remembered.
 * R3. Only sinks, which need all pixels anyway, leave images here: a measure fuses with what it measures.
 * R4. A recipe whose bytes live in a buffer is remembered by that, not by a copy.
 */
#include "memo.h"
#include "buffers.h"

#include <string.h>

enum { MAX_RECIPE = 16 << 20, MAX_PIXELS = 64 << 20 };

static bool same_recipe(const ip_sql_memo_entry *e, const ip_sql_recipe *r)
{
    return e->buffer && e->n_bytes == r->n_bytes && e->n_records == r->n_records && e->check == r->check &&
           (e->buffer->data == r->bytes || !memcmp(e->buffer->data, r->bytes, r->n_bytes)); /* R1 */
}

static void forget(ip_sql_memo_entry *e)
{
    ip_sql_buffer *b = e->buffer;
    memset(e, 0, sizeof *e);
    if (b) ip_sql_buffer_drop(b->data);
}

void ip_sql_memo_clear(ip_sql_connection *conn)
{
    for (int k = 0; k < IP_SQL_N_MEMO; k++)
        forget(&conn->memo[k]);
}

bool ip_sql_memo_attach(ip_sql_connection *conn, ip_sql_recipe *r)
{
    for (int k = 0; k < IP_SQL_N_MEMO; k++) {
        ip_sql_memo_entry *e = &conn->memo[k];
        if (!same_recipe(e, r) || e->buffer->n_graph < r->n_records) continue;
        for (int i = 0; i < r->n_records; i++)
            r->records[i].array = imgpar_array_retain(e->buffer->graph[i]);
        e->used_at = ++conn->memo_clock;
        return true;
    }
    return false;
}

/* A reference to the buffer whose first bytes are the recipe's, with its arrays. NULL without memory. */
static ip_sql_buffer *buffer_of(ip_sql_connection *conn, const ip_sql_recipe *r)
{
    ip_sql_buffer *b = ip_sql_buffer_find(conn, r->bytes);
    if (b && b->end >= r->n_bytes && b->n_graph >= r->n_records) { /* R4 */
        b->refs++;
        return b;
    }
    b = ip_sql_buffer_extend(conn, NULL, 0, r->n_bytes);
    if (!b) return NULL;
    memcpy(b->data, r->bytes, r->n_bytes);
    for (int k = 0; k < r->n_records; k++)
        ip_sql_buffer_keep(b, k, r->records[k].array);
    return b;
}

static void remember(ip_sql_connection *conn, const ip_sql_recipe *r)
{
    ip_sql_memo_entry *oldest = &conn->memo[0];
    for (int k = 0; k < IP_SQL_N_MEMO; k++) {
        if (same_recipe(&conn->memo[k], r)) return;
        if (conn->memo[k].used_at < oldest->used_at) oldest = &conn->memo[k];
    }
    ip_sql_buffer *b = buffer_of(conn, r);
    if (!b) return; /* it is then computed again */
    forget(oldest); /* R2 */
    *oldest = (ip_sql_memo_entry){ b, r->n_bytes, r->n_records, r->check, ++conn->memo_clock };
}

int ip_sql_memo_compute(ip_sql_call *call, const ip_sql_recipe *r)
{
    imgpar_array *a = r->records[r->n_records - 1].array;
    imgpar_info info = { .struct_size = sizeof info };
    if (imgpar_array_info(a, &info) || info.size_bytes > MAX_PIXELS || r->n_bytes > MAX_RECIPE || !r->bytes)
        return SQLITE_OK;
    if (!ip_sql_evaluate(call, &a, 1)) remember(call->conn, r);
    return call->code;
}
