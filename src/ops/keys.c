/* SPDX-License-Identifier: MIT */
#include "ops/keys.h"

#include "base/dtype.h"

#include <string.h>

ip_key_format ip_key_format_of(imgpar_dtype dtype, bool joins_zeros, bool descending)
{
    const ip_dtype_facts *facts = ip_dtype(dtype);
    ip_key_format f = { .size_bytes = facts->size_bytes,
                        .is_float = facts->is_float,
                        .is_signed = facts->is_signed,
                        .is_bool = dtype == IMGPAR_BOOL,
                        .joins_zeros = joins_zeros,
                        .descending = descending };
    f.infinity = f.size_bytes == 2 ? 0x7c00 : f.size_bytes == 4 ? 0x7f800000 : 0x7ff0000000000000;
    f.nan = f.infinity + (f.infinity & -f.infinity) / 2; /* the highest bit of the fraction */
    return f;
}

uint64_t ip_key_load(const ip_key_format *f, const unsigned char *from)
{
    uint64_t bits = 0, top = (uint64_t)1 << (8 * f->size_bytes - 1);
    memcpy(&bits, from, f->size_bytes);
    if (f->is_bool) return bits != 0;
    return f->is_float && (bits & ~top) > f->infinity ? f->nan : bits;
}

uint64_t ip_key_of(const ip_key_format *f, uint64_t bits)
{
    uint64_t top = (uint64_t)1 << (8 * f->size_bytes - 1), all = top | (top - 1), key = bits;
    if (f->is_float && bits == f->nan) return all; /* last in either direction */
    if (f->is_float && f->joins_zeros && bits == top) bits = 0;
    if (f->is_float)
        key = bits & top ? ~bits & all : bits | top;
    else if (f->is_signed)
        key = bits ^ top;
    return f->descending ? ~key & all : key;
}

uint64_t ip_key_element(const ip_key_format *f, uint64_t key)
{
    uint64_t top = (uint64_t)1 << (8 * f->size_bytes - 1), all = top | (top - 1);
    if (f->is_float && key == all) return f->nan;
    if (f->descending) key = ~key & all;
    if (f->is_float) return key & top ? key & ~top : ~key & all;
    return f->is_signed ? key ^ top : key;
}

#define DEFINES(T, BITS, KIND, INDEX) \
    "#define S_T " #T "\n#define S_BITS " #BITS "\n#define S_KIND " #KIND "\n#define S_INDEX " #INDEX "\n"
#define BOTH(T, BITS, KIND)                                  \
    {                                                        \
        DEFINES(T, BITS, KIND, 0), DEFINES(T, BITS, KIND, 1) \
    }
static const char *const defines[IMGPAR_N_DTYPES][2] = {
    [IMGPAR_U8] = BOTH(uchar, 8, 0),    [IMGPAR_I8] = BOTH(uchar, 8, 1),   [IMGPAR_U16] = BOTH(ushort, 16, 0),
    [IMGPAR_I16] = BOTH(ushort, 16, 1), [IMGPAR_U32] = BOTH(uint, 32, 0),  [IMGPAR_I32] = BOTH(uint, 32, 1),
    [IMGPAR_I64] = BOTH(ulong, 64, 1),  [IMGPAR_U64] = BOTH(ulong, 64, 0), [IMGPAR_F16] = BOTH(ushort, 16, 2),
    [IMGPAR_F32] = BOTH(uint, 32, 2),   [IMGPAR_F64] = BOTH(ulong, 64, 2), [IMGPAR_BOOL] = BOTH(uchar, 8, 3),
};

const char *ip_key_defines(imgpar_dtype dtype, bool joins_zeros) { return defines[dtype][joins_zeros]; }
