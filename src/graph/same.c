/* SPDX-License-Identifier: MIT */
/*
 * When two nodes compute the same. The hash may be coarser than equality, never
 * finer: a FILE source is hashed by size and time only, and compared in full. Whether
 * the inputs are equal is for the caller to know, who may have merged them already.
 */
#include "graph/array.h"

#include "base/hash.h"
#include "ir/expr.h"

#include <string.h>

static uint64_t hash_number(uint64_t h, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ip_hash_u64(h, bits);
}

static uint64_t hash_param(uint64_t h, const ip_param *p)
{
    h = ip_hash_u64(h, (uint64_t)p->input + 1);
    h = hash_number(h, p->number);
    if (p->text) h = ip_hash_text(h, p->text);
    if (p->numbers)
        h = ip_hash_bytes(h + (uint64_t)p->rows, p->numbers, (size_t)p->rows * (size_t)p->cols * sizeof(double));
    return h;
}

static uint64_t hash_source(uint64_t h, const ip_source *s)
{
    h = ip_hash_u64(h, (uint64_t)s->kind);
    if (s->kind != IP_SOURCE_FILE || s->file.stdin_bytes) return ip_hash_u64(h, (uint64_t)(uintptr_t)s);
    h = ip_hash_u64(h, (uint64_t)s->file.size_bytes);
    return ip_hash_u64(h, (uint64_t)s->file.mtime_sec);
}

bool ip_array_is_placeholder(const imgpar_array *a) { return !a->op->lower && !a->source && !a->loop; }

/* Those of its inputs, and its own. */
static unsigned promises_of(const imgpar_array *a)
{
    unsigned promises = a->op->flags & IP_OP_USABLE ? IP_PROMISES_USE : 0;
    for (int k = 0; k < a->n_inputs; k++)
        promises |= a->inputs[k]->promises;
    for (int k = 0; k < a->op->info.n_params; k++)
        if (strcmp(a->op->info.params[k]->name, "border") == 0 && ip_is_promise((int)a->params[k].number))
            promises |= 1U << (int)a->params[k].number;
    return promises;
}

void ip_array_complete(imgpar_array *a)
{
    ip_array_inherit(a);
    a->promises = promises_of(a);
    uint64_t h = ip_hash_text(1, a->op->info.name);
    /* op names are unique, but the shape of a leaf or a fill is in its type only */
    h = ip_hash_bytes(h, a->type.shape, (size_t)a->type.rank * sizeof *a->type.shape);
    h = ip_hash_u64(h, (uint64_t)a->type.dtype << 8 | (uint64_t)a->type.rank);
    for (int k = 0; k < a->op->info.n_params; k++)
        if (!a->params[k].text || !a->source) /* one file has many paths */
            h = hash_param(h, &a->params[k]);
    for (int k = 0; k < a->n_inputs; k++)
        h = ip_hash_u64(h, a->inputs[k]->hash);
    if (a->source) h = hash_source(h + (uint64_t)a->shrink.by, a->source);
    if (a->loop) h = ip_hash_u64(h, (uint64_t)(uintptr_t)a->loop);
    if (ip_array_is_placeholder(a)) h = ip_hash_u64(h, (uint64_t)(uintptr_t)a);
    a->hash = h;
}

static bool same_param(const ip_param *a, const ip_param *b)
{
    if (a->input != b->input || memcmp(&a->number, &b->number, sizeof a->number) != 0) return false;
    if (!a->text != !b->text || (a->text && strcmp(a->text, b->text) != 0)) return false;
    if (!a->numbers != !b->numbers) return false;
    if (!a->numbers) return true;
    return a->rows == b->rows && a->cols == b->cols &&
           memcmp(a->numbers, b->numbers, (size_t)a->rows * (size_t)a->cols * sizeof(double)) == 0;
}

static bool same_source(const ip_source *a, const ip_source *b)
{
    if (a == b) return true;
    if (!a || !b || a->kind != IP_SOURCE_FILE || b->kind != IP_SOURCE_FILE) return false;
    const ip_file *f = &a->file, *g = &b->file;
    return !f->stdin_bytes && !g->stdin_bytes && a->fail_on == b->fail_on && f->device == g->device &&
           f->inode == g->inode && f->size_bytes == g->size_bytes && f->mtime_sec == g->mtime_sec &&
           f->mtime_nsec == g->mtime_nsec;
}

static bool same_type(const ip_type *a, const ip_type *b)
{
    return a->dtype == b->dtype && a->space == b->space && a->rank == b->rank && a->white == b->white &&
           a->is_mask == b->is_mask && a->alpha_is_number == b->alpha_is_number &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

bool ip_array_same_alone(const imgpar_array *a, const imgpar_array *b)
{
    if (a->op != b->op || a->loop != b->loop || a->bends != b->bends || a->range.lo != b->range.lo ||
        a->range.hi != b->range.hi || a->shrink.by != b->shrink.by || !same_type(&a->type, &b->type))
        return false;
    for (int k = 0; k < a->op->info.n_params; k++)
        if (!same_param(&a->params[k], &b->params[k])) return false;
    return true;
}

bool ip_array_same(const imgpar_array *a, const imgpar_array *b)
{
    if (a == b) return true;
    if (a->hash != b->hash || a->op != b->op || a->n_inputs != b->n_inputs || a->loop != b->loop) return false;
    if (ip_array_is_placeholder(a) || !same_type(&a->type, &b->type) || a->shrink.by != b->shrink.by ||
        !same_source(a->source, b->source))
        return false;
    for (int k = 0; k < a->op->info.n_params; k++)
        if (!(a->source && a->params[k].text) && !same_param(&a->params[k], &b->params[k])) return false;
    return true;
}
