/* SPDX-License-Identifier: MIT */
/*
 * The table of live buffers.
 *
 * R1. Bytes before a value's end never change while the value lives.
 * R2. Memory never moves while a value holds it: growing past the capacity makes a copy.
 * R3. An address is looked up, never trusted; only the destructor, which gets back what we gave, goes from the data
 *     to its head.
 * R4. A buffer outlives its connection's functions if a value does: it holds the connection.
 * R5. Not SQLite's own destructor (sqlite3_free): SQLite may write behind the end of such values.
 */
#include "buffers.h"

#include <string.h>

/* Room for some fifty operations, and more behind large sources, so that a chain is copied at most once. */
enum { SPARE_BYTES = 4096, SPARE_MAX_BYTES = 65536 };

static unsigned bucket_of(const void *data)
{
    uint64_t h = (uint64_t)(uintptr_t)data * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(h >> 58);
}

ip_sql_buffer *ip_sql_buffer_find(ip_sql_connection *conn, const void *data)
{
    ip_sql_buffer *b = conn->buckets[bucket_of(data)];
    while (b && b->data != data) /* R3 */
        b = b->next;
    return b;
}

static ip_sql_buffer *new_buffer(ip_sql_connection *conn, size_t n)
{
    size_t spare = n / 16 < SPARE_BYTES ? SPARE_BYTES : n / 16 < SPARE_MAX_BYTES ? n / 16 : SPARE_MAX_BYTES;
    if (n > SIZE_MAX - spare - sizeof(ip_sql_buffer)) return NULL;
    ip_sql_buffer *b = sqlite3_malloc64(sizeof *b + n + spare);
    if (!b) return NULL;
    memset(b, 0, sizeof *b);
    b->conn = ip_sql_connection_retain(conn); /* R4 */
    b->refs = 1;
    b->end = n;
    b->capacity = n + spare;
    ip_sql_buffer **bucket = &conn->buckets[bucket_of(b->data)];
    b->next = *bucket;
    *bucket = b;
    return b;
}

ip_sql_buffer *ip_sql_buffer_extend(ip_sql_connection *conn, const void *prefix, size_t n, size_t n_more)
{
    if (n > SIZE_MAX - n_more) return NULL;
    ip_sql_buffer *b = ip_sql_buffer_find(conn, prefix);
    bool can_grow = b && b->end == n && n_more <= b->capacity - n; /* R1, R2 */
    if (can_grow || (b && n <= b->end && !n_more)) {
        b->end += n_more;
        b->refs++;
        return b;
    }
    ip_sql_buffer *copy = new_buffer(conn, n + n_more);
    if (copy && n) memcpy(copy->data, prefix, n);
    return copy;
}

void ip_sql_buffer_keep(ip_sql_buffer *b, int k, imgpar_array *a)
{
    if (k != b->n_graph) return;
    if (k == b->graph_capacity) {
        int capacity = k ? 2 * k : 8;
        imgpar_array **graph = sqlite3_realloc64(b->graph, (sqlite3_uint64)capacity * sizeof *graph);
        if (!graph) return; /* the graph is then built again from the bytes */
        b->graph = graph;
        b->graph_capacity = capacity;
    }
    b->graph[b->n_graph++] = imgpar_array_retain(a);
}

static void release_graph(ip_sql_buffer *b)
{
    while (b->n_graph)
        imgpar_array_release(b->graph[--b->n_graph]);
}

void ip_sql_buffer_drop(void *data)
{
    ip_sql_buffer *b = (ip_sql_buffer *)((unsigned char *)data - offsetof(ip_sql_buffer, data)); /* R3 */
    if (--b->refs) return;
    ip_sql_connection *conn = b->conn;
    ip_sql_buffer **at = &conn->buckets[bucket_of(data)];
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    release_graph(b);
    sqlite3_free(b->graph);
    sqlite3_free(b);
    ip_sql_connection_release(conn);
}

void ip_sql_buffers_forget_graphs(ip_sql_connection *conn)
{
    for (int k = 0; k < IP_SQL_N_BUCKETS; k++)
        for (ip_sql_buffer *b = conn->buckets[k]; b; b = b->next)
            release_graph(b);
}
