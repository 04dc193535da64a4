/* SPDX-License-Identifier: MIT */
/*
 * buffers.h - the memory of deferred images, shared by the values of a nested call.
 *
 * SQLite hands the result of an inner function to the outer one by address. A
 * value whose address is in the connection's table of live buffers, and whose end
 * is the buffer's end, is extended in place: both values then share the memory,
 * the inner one being a prefix of the outer one. Whoever comes second with the
 * same prefix gets a copy. Nothing is ever read in front of an address that is
 * not in the table.
 *
 * Beside the bytes a buffer keeps the arrays of its records, so the graph of a
 * nested call is built once.
 */
#ifndef IP_SQL_BUFFERS_H
#define IP_SQL_BUFFERS_H

#include "sqlext.h"

#pragma GCC visibility push(hidden)

typedef struct ip_sql_buffer {
    ip_sql_connection *conn;    /* retained */
    struct ip_sql_buffer *next; /* in its bucket */
    int refs;                   /* SQLite values that hold the memory */
    size_t end, capacity;       /* bytes in use, bytes there */
    imgpar_array **graph;       /* array of record k, retained */
    int n_graph, graph_capacity;
    unsigned char data[];
} ip_sql_buffer;

/* The live buffer that starts at data, or NULL. Borrowed. */
ip_sql_buffer *ip_sql_buffer_find(ip_sql_connection *conn, const void *data);
/*
 * A buffer that begins with the n bytes at prefix and has room for n_more behind them: the live buffer
 * of prefix where that can grow, else a new one. Its end is moved; the caller writes the n_more bytes
 * and passes buffer->data to SQLite with ip_sql_buffer_drop. NULL without memory.
 */
ip_sql_buffer *ip_sql_buffer_extend(ip_sql_connection *conn, const void *prefix, size_t n, size_t n_more);
/* Keeps the array of record k; it must be the next one. Forgets it silently without memory. */
void ip_sql_buffer_keep(ip_sql_buffer *b, int k, imgpar_array *a);
/* SQLite's destructor of a value whose memory is data. */
void ip_sql_buffer_drop(void *data);
/* Releases the arrays of all live buffers; their bytes stay. */
void ip_sql_buffers_forget_graphs(ip_sql_connection *conn);

#pragma GCC visibility pop

#endif
