/* SPDX-License-Identifier: MIT */
/* Reading and writing elements: border rules, stored dtypes, and loads of a block. */
#include "run/ref_impl.h"

#include "base/dtype.h"

#include <string.h>

/* i mod n, never negative; n > 0. */
static int64_t modulo(int64_t i, int64_t n)
{
    int64_t m = i % n;
    return m < 0 ? m + n : m;
}

int64_t ip_ref_border(int border, int64_t index, int64_t extent)
{
    int64_t m;
    if (extent <= 0) return 0;
    if (index >= 0 && index < extent) return index;
    switch (border) {
    case IMGPAR_BORDER_REFLECT: m = modulo(index, 2 * extent); return m < extent ? m : 2 * extent - 1 - m;
    case IMGPAR_BORDER_REFLECT101:
        if (extent == 1) return 0;
        m = modulo(index, 2 * extent - 2);
        return m < extent ? m : 2 * extent - 2 - m;
    case IMGPAR_BORDER_WRAP: return modulo(index, extent);
    default: return index < 0 ? 0 : extent - 1;
    }
}

/* ---- elements -------------------------------------------------------------------------- */

/* Memory is what users and decoders gave us: it may not be aligned, so it is copied, not pointed at. */
typedef union elements {
    uint8_t u8[IP_REF_BLOCK];
    int8_t i8[IP_REF_BLOCK];
    uint16_t u16[IP_REF_BLOCK];
    int16_t i16[IP_REF_BLOCK];
    uint32_t u32[IP_REF_BLOCK];
    int32_t i32[IP_REF_BLOCK];
    int64_t i64[IP_REF_BLOCK];
    float f32[IP_REF_BLOCK];
    double f64[IP_REF_BLOCK];
} elements;

void ip_ref_fetch(imgpar_dtype dtype, const void *from, int n, ip_ref_values *to, int at)
{
    elements e;
    memcpy(&e, from, (size_t)n * ip_dtype(dtype)->size_bytes);
    int64_t *i = to->i + at;
    float *f = to->f + at;
    /* clang-format off */
    switch (dtype) {
    case IMGPAR_U8:   for (int k = 0; k < n; k++) i[k] = e.u8[k]; break;
    case IMGPAR_I8:   for (int k = 0; k < n; k++) i[k] = e.i8[k]; break;
    case IMGPAR_U16:  for (int k = 0; k < n; k++) i[k] = e.u16[k]; break;
    case IMGPAR_I16:  for (int k = 0; k < n; k++) i[k] = e.i16[k]; break;
    case IMGPAR_U32:  for (int k = 0; k < n; k++) i[k] = e.u32[k]; break;
    case IMGPAR_I32:  for (int k = 0; k < n; k++) i[k] = e.i32[k]; break;
    case IMGPAR_U64:
    case IMGPAR_I64:  for (int k = 0; k < n; k++) i[k] = e.i64[k]; break;
    case IMGPAR_F16:  for (int k = 0; k < n; k++) f[k] = ip_float_from_half(e.u16[k]); break;
    case IMGPAR_F32:  for (int k = 0; k < n; k++) f[k] = e.f32[k]; break;
    case IMGPAR_F64:  for (int k = 0; k < n; k++) to->d[at + k] = e.f64[k]; break;
    case IMGPAR_BOOL: for (int k = 0; k < n; k++) i[k] = e.u8[k] != 0; break;
    case IMGPAR_COMPLEX64: case IMGPAR_N_DTYPES: break; /* no stage has them */
    }
    /* clang-format on */
}

void ip_ref_store(imgpar_dtype dtype, const ip_ref_values *from, int n, void *to)
{
    elements e;
    /* clang-format off */
    switch (dtype) {
    case IMGPAR_U8:
    case IMGPAR_I8:
    case IMGPAR_BOOL: for (int k = 0; k < n; k++) e.u8[k] = (uint8_t)from->i[k]; break;
    case IMGPAR_U16:
    case IMGPAR_I16:  for (int k = 0; k < n; k++) e.u16[k] = (uint16_t)from->i[k]; break;
    case IMGPAR_U32:
    case IMGPAR_I32:  for (int k = 0; k < n; k++) e.u32[k] = (uint32_t)from->i[k]; break;
    case IMGPAR_U64:
    case IMGPAR_I64:  for (int k = 0; k < n; k++) e.i64[k] = from->i[k]; break;
    case IMGPAR_F16:  for (int k = 0; k < n; k++) e.u16[k] = ip_half_from_float(from->f[k]); break;
    case IMGPAR_F32:  for (int k = 0; k < n; k++) e.f32[k] = from->f[k]; break;
    case IMGPAR_F64:  for (int k = 0; k < n; k++) e.f64[k] = from->d[k]; break;
    case IMGPAR_COMPLEX64: case IMGPAR_N_DTYPES: return;
    }
    /* clang-format on */
    memcpy(to, &e, (size_t)n * ip_dtype(dtype)->size_bytes);
}

/* ---- loads ------------------------------------------------------------------------------ */

static bool is_inside(int64_t index, int64_t extent) { return index >= 0 && index < extent; }

static void copy_value(imgpar_dtype dtype, ip_ref_values *to, const ip_ref_values *from, int k)
{
    if (dtype == IMGPAR_F32)
        to->f[k] = from->f[k];
    else if (dtype == IMGPAR_F64)
        to->d[k] = from->d[k];
    else
        to->i[k] = from->i[k];
}

/* Element k of the block, by its own four indices. */
static void load_one(ip_ref_program *program, const ip_ref_instr *instr, int k)
{
    static const ip_ref_values zero;
    const ip_stage *source = instr->x->source;
    ip_ref_values *to = &program->slots[instr->slot];
    const int border = instr->x->border;
    int64_t offset = 0;
    for (int axis = 0; axis < 4; axis++) {
        int64_t index = program->slots[instr->arg[axis]].i[k], extent = source->dims[axis];
        if (!is_inside(index, extent)) {
            if (border == IMGPAR_BORDER_CONSTANT) {
                copy_value(instr->x->dtype, to, &program->slots[instr->arg[4]], k);
                return;
            }
            if (border == IP_BORDER_NONE) program->bad_source = source->id;
            if (border == IP_BORDER_NONE || extent <= 0) {
                copy_value(instr->x->dtype, to, &zero, k);
                return;
            }
            index = ip_ref_border(border, index, extent);
        }
        offset = offset * extent + index;
    }
    const unsigned char *bytes = instr->memory;
    size_t size_bytes = ip_dtype(source->dtype)->size_bytes;
    ip_ref_fetch(source->dtype, bytes + (size_t)offset * size_bytes, 1, to, k);
}

/* Where a plane or row is read by the border rule; -1: nowhere. */
static int64_t line_index(int border, int64_t index, int64_t extent)
{
    if (is_inside(index, extent)) return index;
    bool has_rule = border != IP_BORDER_NONE && border != IMGPAR_BORDER_CONSTANT && extent > 0;
    return has_rule ? ip_ref_border(border, index, extent) : -1;
}

/* Loads the part of the block that lies within one row of the source, as one run: elements *from to *to - 1. */
static void load_run(ip_ref_program *program, const ip_ref_instr *instr, int n, int *from, int *to)
{
    const ip_stage *source = instr->x->source;
    const int64_t *dims = source->dims;
    const int border = instr->x->border;
    int64_t z = line_index(border, program->slots[instr->arg[0]].i[0], dims[0]);
    int64_t y = line_index(border, program->slots[instr->arg[1]].i[0], dims[1]);
    int64_t x = program->slots[instr->arg[2]].i[0], c = program->slots[instr->arg[3]].i[0];
    if (z < 0 || y < 0 || !is_inside(c, dims[3])) return;

    int64_t first = x * dims[3] + c, row = dims[2] * dims[3]; /* the block begins at element first of the row */
    int64_t lo = first < 0 ? -first : 0, hi = row - first < n ? row - first : n;
    if (lo >= hi) return;
    *from = (int)lo;
    *to = (int)hi;
    size_t offset = (size_t)((z * dims[1] + y) * row + first + lo) * ip_dtype(source->dtype)->size_bytes;
    ip_ref_fetch(source->dtype, (const unsigned char *)instr->memory + offset, *to - *from,
                 &program->slots[instr->slot], *from);
}

void ip_ref_load(ip_ref_program *program, const ip_ref_instr *instr, const ip_ref_place *place)
{
    int from = 0, to = 0; /* loaded as a run */
    if (instr->is_run) load_run(program, instr, place->n, &from, &to);
    for (int k = 0; k < from; k++)
        load_one(program, instr, k);
    for (int k = to; k < place->n; k++)
        load_one(program, instr, k);
}
