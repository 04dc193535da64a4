/* SPDX-License-Identifier: MIT */
/*
 * Recipes: reading, checking, extending, writing.
 *
 * R1. Any bytes at all are safe to read: lengths are compared with what is left before they are used.
 * R2. Everything is checked before anything is built: known kind, name in the table and offered in SQL, its number of
 *     inputs, inputs before their user, texts ended by their only zero, sums right, every record but the last one
 *     used by a later one.
 * R3. Caps: 1,000 sources, 10,000 records, 1,000 levels, 1,000,000 bytes of text a record.
 * R4. Equal records are stored once. Equality compares bytes; a hash only finds the candidates.
 * R5. Reading costs by the number of records, not by the size of the sources.
 * R6. A damaged byte is found: in heads and texts when read, in a source when it is built. A recipe cut at the end of
 *     a record that is itself a value is that value (recipe.h says why).
 */
#include "recipe.h"
#include "buffers.h"
#include "memo.h"

#include <string.h>

/* The notice is what a shell shows of a deferred image. */
enum { NOTICE_BYTES = 80, HEAD_BYTES = 24 };
static const char notice[NOTICE_BYTES] =
    "imgpar deferred image, format 1: finish it with png(), jpeg(), npy() or save().";
static const char claim[] = "imgpar deferred image, format ";

static uint64_t get(const unsigned char *p, int n)
{
    uint64_t v = 0;
    for (int k = n - 1; k >= 0; k--)
        v = v << 8 | p[k];
    return v;
}

static unsigned char *put(unsigned char *p, uint64_t v, int n)
{
    for (int k = 0; k < n; k++, v >>= 8)
        *p++ = (unsigned char)v;
    return p;
}

/* Four lanes keep the multiplier busy; every step is one-to-one, so no change of one word is lost. */
uint64_t ip_sql_hash(uint64_t seed, const void *bytes, size_t n)
{
    static const uint64_t odd = UINT64_C(0x9fb21c651e98df25);
    const unsigned char *p = bytes;
    uint64_t lane[4] = { seed, seed ^ odd, seed + odd, ~seed };
    for (size_t left = n; left >= 32; left -= 32)
        for (int k = 0; k < 4; k++, p += 8) {
            uint64_t word;
            memcpy(&word, p, 8);
            lane[k] = (lane[k] ^ word) * odd;
            lane[k] ^= lane[k] >> 29;
        }
    uint64_t h = (uint64_t)n;
    for (int k = 0; k < 4; k++) {
        h = (h ^ lane[k]) * odd;
        h ^= h >> 32;
    }
    for (size_t k = n & ~(size_t)31; k < n; k++) {
        h = (h ^ *p++) * odd;
        h ^= h >> 32;
    }
    return h;
}

bool ip_sql_recipe_is(const void *bytes, size_t n)
{
    return n >= sizeof claim - 1 && !memcmp(bytes, claim, sizeof claim - 1);
}

void ip_sql_recipe_free(ip_sql_recipe *r)
{
    for (int k = 0; k < r->n_records; k++)
        imgpar_array_release(r->records[k].array);
    sqlite3_free(r->records);
    sqlite3_free(r->slots);
    memset(r, 0, sizeof *r);
}

static int bad(ip_sql_call *call, const char *where, int k, const char *what)
{
    return ip_sql_call_fail(call, SQLITE_ERROR, "%s: the deferred image is damaged (record %d: %s)", where, k + 1,
                            what);
}

/* What the check of a record covers, chained from the record before it. */
static uint32_t check_of(uint32_t before, const unsigned char *head, size_t n_inputs_and_name)
{
    unsigned char copy[HEAD_BYTES];
    memcpy(copy, head, HEAD_BYTES);
    put(copy + 4, before, 4);
    uint64_t h = ip_sql_hash(ip_sql_hash(0, copy, HEAD_BYTES), head + HEAD_BYTES, n_inputs_and_name);
    return (uint32_t)(h ^ h >> 32);
}

/* Room for one more record; R3. */
static int reserve(ip_sql_call *call, ip_sql_recipe *r)
{
    if (r->n_records == IP_SQL_MAX_RECORDS)
        return ip_sql_call_fail(call, SQLITE_ERROR,
                                "a deferred image holds at most %d operations; finish it with png()",
                                IP_SQL_MAX_RECORDS);
    if (r->n_records < r->capacity) return SQLITE_OK;
    int capacity = r->capacity ? 2 * r->capacity : 16;
    ip_sql_record *records = sqlite3_realloc64(r->records, (sqlite3_uint64)capacity * sizeof *records);
    if (!records) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    r->records = records;
    r->capacity = capacity;
    return SQLITE_OK;
}

/* Depth, sources and inputs of a record about to become number r->n_records; R3. */
static int admit(ip_sql_call *call, ip_sql_recipe *r, ip_sql_record *record)
{
    if (reserve(call, r)) return call->code;
    record->depth = 1;
    record->used = false;
    for (int k = 0; k < record->n_inputs; k++) {
        ip_sql_record *input = &r->records[record->inputs[k]];
        if (record->depth <= input->depth) record->depth = input->depth + 1;
        input->used = true;
    }
    if (record->depth > IP_SQL_MAX_DEPTH)
        return ip_sql_call_fail(call, SQLITE_ERROR,
                                "a deferred image is at most %d operations deep; finish it with png()",
                                IP_SQL_MAX_DEPTH);
    if (record->kind == IP_SQL_SOURCE && ++r->n_sources > IP_SQL_MAX_SOURCES)
        return ip_sql_call_fail(call, SQLITE_ERROR, "a deferred image holds at most %d sources; finish it with png()",
                                IP_SQL_MAX_SOURCES);
    r->records[r->n_records++] = *record;
    return SQLITE_OK;
}

/* NULL, or what is wrong with a record's own facts; R2. */
static const char *judge(const ip_sql_record *record)
{
    if (record->kind == IP_SQL_SOURCE) return record->n_inputs || *record->name ? "a source with inputs" : NULL;
    bool is_fault = record->kind == IP_SQL_FAULT;
    bool is_text = record->kind == IP_SQL_TEXT || record->kind == IP_SQL_GRADIENT;
    if (record->kind != IP_SQL_OPERATION && !is_text && !is_fault) return "unknown kind";
    if (is_fault && (record->n_inputs || *record->name || record->n_body > IP_SQL_MAX_FAULT))
        return "a fault with inputs";
    const char *text = record->body;
    uint64_t n = record->n_body;
    if (!n || n > IP_SQL_MAX_TEXT || memchr(text, 0, n) != text + n - 1) return "bad text";
    if (ip_sql_hash(0, text, record->n_body) != record->hash) return "bad sum";
    if (is_fault) return NULL;
    if (record->kind == IP_SQL_GRADIENT && !record->n_inputs) return "wrong number of inputs";
    if (is_text) return *record->name ? "a text with a name" : record->n_inputs > 9 ? "too many inputs" : NULL;
    const imgpar_op_info *op = imgpar_op_find(record->name);
    if (!op || !op->in_sql || strcmp(op->name, record->name)) return "unknown operation";
    const bool is_right = record->n_inputs == op->n_inputs || (op->takes_more && record->n_inputs > op->n_inputs);
    return is_right ? NULL : "wrong number of inputs";
}

/* Reads the record at p of n bytes left; *used gets its length. R1: every length is compared with n first. */
static int parse_record(ip_sql_call *call, const char *where, const unsigned char *p, size_t n, ip_sql_recipe *r,
                        size_t *used)
{
    int number = r->n_records;
    if (n < HEAD_BYTES) return bad(call, where, number, "cut off");
    ip_sql_record record = {
        .kind = (ip_sql_kind)p[0], .n_inputs = p[1], .name = "", .n_body = get(p + 8, 8), .hash = get(p + 16, 8)
    };
    size_t n_name = (size_t)get(p + 2, 2);
    size_t n_fixed = (size_t)record.n_inputs * 4 + n_name;
    if (record.n_inputs > IP_SQL_MAX_INPUTS) return bad(call, where, number, "too many inputs");
    if (n_fixed > n - HEAD_BYTES || record.n_body > n - HEAD_BYTES - n_fixed)
        return bad(call, where, number, "cut off");
    uint32_t check = check_of(r->check, p, n_fixed);
    if (check != get(p + 4, 4)) return bad(call, where, number, "bad sum");
    for (int k = 0; k < record.n_inputs; k++) {
        record.inputs[k] = (uint32_t)get(p + HEAD_BYTES + 4 * k, 4);
        if (record.inputs[k] >= (uint32_t)number) return bad(call, where, number, "an input that is not before it");
    }
    if (n_name) {
        record.name = (const char *)p + HEAD_BYTES + 4 * (size_t)record.n_inputs;
        if (memchr(record.name, 0, n_name) != record.name + n_name - 1) return bad(call, where, number, "bad name");
    }
    record.body = p + HEAD_BYTES + n_fixed;
    const char *fault = judge(&record);
    if (fault) return bad(call, where, number, fault);
    *used = HEAD_BYTES + n_fixed + (size_t)record.n_body;
    r->check = check;
    return admit(call, r, &record);
}

/* The arrays of an equal value that was computed lately, or of this one where the connection made it and still holds
 * it. */
static void attach_graph(ip_sql_connection *conn, ip_sql_recipe *r)
{
    if (ip_sql_memo_attach(conn, r)) return;
    ip_sql_buffer *b = ip_sql_buffer_find(conn, r->bytes);
    if (!b || b->end < r->n_bytes || b->n_graph < r->n_records) return;
    for (int k = 0; k < r->n_records; k++)
        r->records[k].array = imgpar_array_retain(b->graph[k]);
}

int ip_sql_recipe_parse(ip_sql_call *call, const char *where, const void *bytes, size_t n, ip_sql_recipe *out)
{
    memset(out, 0, sizeof *out);
    if (n < NOTICE_BYTES || memcmp(bytes, notice, NOTICE_BYTES))
        return ip_sql_call_fail(call, SQLITE_ERROR, "%s: a damaged deferred image, or one of another version", where);
    for (size_t at = NOTICE_BYTES, used = 0; at < n; at += used)
        if (parse_record(call, where, (const unsigned char *)bytes + at, n - at, out, &used)) return call->code;
    if (!out->n_records) return ip_sql_call_fail(call, SQLITE_ERROR, "%s: a deferred image without records", where);
    for (int k = 0; k < out->n_records - 1; k++)
        if (!out->records[k].used) /* R2 */
            return bad(call, where, k, "not used");
    out->n_written = out->n_records;
    out->bytes = bytes;
    out->n_bytes = n;
    attach_graph(call->conn, out);
    return SQLITE_OK;
}

static uint64_t key_of(const ip_sql_record *record)
{
    uint64_t h = ip_sql_hash(record->hash ^ (uint64_t)record->kind, record->name, strlen(record->name));
    return ip_sql_hash(h, record->inputs, (size_t)record->n_inputs * sizeof record->inputs[0]);
}

static bool same_record(const ip_sql_record *a, const ip_sql_record *b)
{
    return a->kind == b->kind && a->hash == b->hash && a->n_body == b->n_body && a->n_inputs == b->n_inputs &&
           !memcmp(a->inputs, b->inputs, (size_t)a->n_inputs * sizeof a->inputs[0]) && !strcmp(a->name, b->name) &&
           (a->body == b->body || !memcmp(a->body, b->body, a->n_body)); /* R4 */
}

/* The slot of record's equal, or the empty one where it belongs. */
static uint32_t *slot_of(const ip_sql_recipe *r, const ip_sql_record *record)
{
    uint32_t k = (uint32_t)key_of(record) & (r->n_slots - 1);
    while (r->slots[k] && !same_record(&r->records[r->slots[k] - 1], record))
        k = (k + 1) & (r->n_slots - 1);
    return &r->slots[k];
}

/* Slots for twice as many records as there are, at most half full. */
static int index_records(ip_sql_call *call, ip_sql_recipe *r)
{
    if (r->slots && (uint32_t)r->n_records * 2 < r->n_slots) return SQLITE_OK;
    uint32_t n_slots = 64;
    while (n_slots < (uint32_t)r->n_records * 4)
        n_slots *= 2;
    uint32_t *slots = sqlite3_realloc64(r->slots, (sqlite3_uint64)n_slots * sizeof *slots);
    if (!slots) return ip_sql_call_fail(call, SQLITE_NOMEM, NULL);
    memset(slots, 0, n_slots * sizeof *slots);
    r->slots = slots;
    r->n_slots = n_slots;
    for (int k = 0; k < r->n_records; k++)
        *slot_of(r, &r->records[k]) = (uint32_t)k + 1;
    return SQLITE_OK;
}

int ip_sql_recipe_add(ip_sql_call *call, ip_sql_recipe *r, const ip_sql_record *record, uint32_t *index)
{
    ip_sql_record mine = *record;
    if (index_records(call, r)) {
        imgpar_array_release(mine.array);
        return call->code;
    }
    uint32_t *slot = slot_of(r, &mine);
    if (*slot) {
        imgpar_array_release(mine.array);
        *index = *slot - 1;
        return SQLITE_OK;
    }
    *index = (uint32_t)r->n_records;
    if (admit(call, r, &mine)) {
        imgpar_array_release(mine.array);
        return call->code;
    }
    *slot = *index + 1;
    return SQLITE_OK;
}

int ip_sql_recipe_start(ip_sql_call *call, ip_sql_recipe *r, const void *bytes, size_t n, imgpar_array *a)
{
    uint32_t index;
    ip_sql_record record = {
        .kind = IP_SQL_SOURCE, .name = "", .body = bytes, .n_body = n, .hash = ip_sql_hash(0, bytes, n), .array = a
    };
    return ip_sql_recipe_add(call, r, &record, &index);
}

uint64_t ip_sql_recipe_more(const ip_sql_recipe *r)
{
    uint64_t n = r->n_written ? 0 : NOTICE_BYTES;
    for (int k = r->n_written; k < r->n_records; k++) {
        const ip_sql_record *record = &r->records[k];
        n += HEAD_BYTES + (uint64_t)record->n_inputs * 4 + record->n_body;
        n += record->kind == IP_SQL_OPERATION ? strlen(record->name) + 1 : 0;
    }
    return n;
}

void ip_sql_recipe_write(ip_sql_recipe *r, unsigned char *dst)
{
    if (!r->n_written) {
        memcpy(dst, notice, NOTICE_BYTES);
        dst += NOTICE_BYTES;
    }
    for (; r->n_written < r->n_records; r->n_written++) {
        const ip_sql_record *record = &r->records[r->n_written];
        size_t n_name = record->kind == IP_SQL_OPERATION ? strlen(record->name) + 1 : 0;
        unsigned char *head = dst;
        *dst++ = (unsigned char)record->kind;
        *dst++ = (unsigned char)record->n_inputs;
        dst = put(dst, n_name, 2) + 4; /* the check comes last */
        dst = put(dst, record->n_body, 8);
        dst = put(dst, record->hash, 8);
        for (int k = 0; k < record->n_inputs; k++)
            dst = put(dst, record->inputs[k], 4);
        memcpy(dst, record->name, n_name);
        dst += n_name;
        r->check = check_of(r->check, head, (size_t)(dst - head) - HEAD_BYTES);
        put(head + 4, r->check, 4);
        memcpy(dst, record->body, record->n_body);
        dst += record->n_body;
    }
}

/* An image that was given, or what was given in its place. */
static bool is_leaf(const ip_sql_record *record)
{
    return record->kind == IP_SQL_SOURCE || record->kind == IP_SQL_FAULT;
}

void ip_sql_recipe_path(const ip_sql_recipe *r, uint32_t index, char *path, size_t n)
{
    enum { MAX_NAMES = 6 };
    const char *names[MAX_NAMES];
    int depth = 0;
    const ip_sql_record *record = &r->records[index];
    *path = 0;
    if (is_leaf(record)) return;
    while (!is_leaf(record) && depth < MAX_NAMES) {
        names[depth++] = *record->name ? record->name : record->kind == IP_SQL_GRADIENT ? "grad" : "apply";
        if (!record->n_inputs) break;
        record = &r->records[record->inputs[0]];
    }
    sqlite3_snprintf((int)n, path, "%s", is_leaf(record) ? "image" : "...");
    for (int k = depth - 1; k >= 0; k--) {
        size_t used = strlen(path);
        sqlite3_snprintf((int)(n - used), path + used, " > %s", names[k]);
    }
}
