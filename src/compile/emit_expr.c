/* SPDX-License-Identifier: MIT */
/*
 * Expressions as OpenCL C. Each operation has one row in the table below; loads, casts and
 * windows are written out further down. Semantics are those at the head of ir/expr.h.
 */
#include "base/alloc.h"
#include "base/dtype.h"
#include "compile/emit.h"

#include <math.h>
#include <string.h>

const char *ip_cl_type(imgpar_dtype dtype) { return ip_dtype(dtype)->cl; }

/* ---- names in scope ------------------------------------------------------------- */

void ip_emit_name(ip_emit *e, const ip_expr *x, const char *name)
{
    if (x->id >= e->n_names) {
        size_t n = e->ir->n_exprs + 256;
        const char **names = ip_realloc_array(e->names, n, sizeof *names);
        if (!names) {
            e->ir->failed = true;
            return;
        }
        memset(names + e->n_names, 0, (n - e->n_names) * sizeof *names);
        e->names = names;
        e->n_names = n;
    }
    if (e->n_trail == e->trail_capacity) {
        size_t capacity = e->trail_capacity ? e->trail_capacity * 2 : 256;
        unsigned *trail = ip_realloc_array(e->trail, capacity, sizeof *trail);
        if (!trail) {
            e->ir->failed = true;
            return;
        }
        e->trail = trail;
        e->trail_capacity = capacity;
    }
    e->names[x->id] = name;
    e->trail[e->n_trail++] = x->id;
}

const char *ip_emit_name_of(const ip_emit *e, const ip_expr *x) { return x->id < e->n_names ? e->names[x->id] : NULL; }

ip_mark ip_emit_enter(ip_emit *e, ip_stmt *block)
{
    ip_mark mark = { e->block, e->n_trail, e->n_rows };
    e->block = block;
    return mark;
}

void ip_emit_leave(ip_emit *e, ip_mark mark)
{
    while (e->n_trail > mark.n_trail)
        e->names[e->trail[--e->n_trail]] = NULL;
    e->n_rows = mark.n_rows;
    e->block = mark.block;
}

typedef struct use_count {
    int *uses;
    size_t n;
} use_count;

static void count_args(ip_expr *x, void *user)
{
    use_count *c = user;
    for (int k = 0; k < x->n_args; k++)
        if (x->arg[k]->id < c->n) c->uses[x->arg[k]->id]++;
}

static unsigned uses_size(const ip_emit *e) { return e->uses ? (unsigned)e->uses[0] : 0; }

void ip_emit_count_uses(ip_emit *e, ip_expr *const *roots, int n)
{
    /* uses[0] holds the size; expression k is counted in uses[k + 1]. */
    ip_free(e->uses);
    size_t size = e->ir->n_exprs + 1;
    e->uses = ip_zalloc((size + 1) * sizeof *e->uses);
    if (!e->uses) {
        e->ir->failed = true;
        return;
    }
    e->uses[0] = (int)size;
    use_count c = { e->uses + 1, size };
    for (int k = 0; k < n; k++) {
        ip_x_walk(e->ir, roots[k], count_args, &c);
        if (n > 1 && roots[k]->id < size) e->uses[roots[k]->id + 1]++;
    }
}

static bool used_once(const ip_emit *e, const ip_expr *x) { return x->id < uses_size(e) && e->uses[x->id + 1] == 1; }

/* ---- one operation ---------------------------------------------------------------- */

#define IP_NAME_OF(NAME) #NAME

/* How an operation is written: %1 %2 %3 are its arguments. NULL: by hand below. */
static const char *const patterns[IP_X_N] = {
    [IP_X_DIV] = "(%1 / %2)",       [IP_X_AND] = "(%1 & %2)",
    [IP_X_OR] = "(%1 | %2)",        [IP_X_XOR] = "(%1 ^ %2)",
    [IP_X_POW] = "pow(%1, %2)",     [IP_X_ATAN2] = "atan2(%1, %2)",
    [IP_X_LT] = "(%1 < %2)",        [IP_X_LE] = "(%1 <= %2)",
    [IP_X_EQ] = "(%1 == %2)",       [IP_X_NE] = "(%1 != %2)",
    [IP_X_FMA] = "fma(%1, %2, %3)", [IP_X_SELECT] = "(%1 ? %2 : %3)",
    [IP_X_FLOOR] = "floor(%1)",     [IP_X_CEIL] = "ceil(%1)",
    [IP_X_RINT] = "rint(%1)",       [IP_X_NEXTAFTER] = "nextafter(%1, %2)",
    [IP_X_TRUNC] = "trunc(%1)",     [IP_X_SQRT] = "sqrt(%1)",
    [IP_X_ISNAN] = "(%1 != %1)",
#define half_exp exp /* OpenCL has it of f32 only */
#define fifth_root ip_rootn5
#define FUNCTION(OP, NAME, F64) [IP_X_##OP] = IP_NAME_OF(NAME) "(%1)",
#include "ir/functions.def"
#undef FUNCTION
#undef fifth_root
#undef half_exp
};

/* The same as functions of our own, of f32 and f64: shaders/functions.cl. */
static const char *const own_patterns[IP_X_N][2] = {
    [IP_X_POW] = { "ip_pow(%1, %2)", "ip_pow64(%1, %2)" },
    [IP_X_ATAN2] = { "ip_atan2(%1, %2)", "ip_atan2_64(%1, %2)" },
    [IP_X_NEXTAFTER] = { "ip_nextafter(%1, %2)", "ip_nextafter64(%1, %2)" },
#define FUNCTION(OP, NAME, F64) [IP_X_##OP] = { "ip_" #NAME "(%1)", #F64 "(%1)" },
#include "ir/functions.def"
#undef FUNCTION
};

/* Rounding to whole numbers, of f32 and f64: an instruction, for which PoCL's functions take ten. */
static const char *const roundings[IP_X_N][2] = {
    [IP_X_FLOOR] = { "__builtin_floorf(%1)", "__builtin_floor(%1)" },
    [IP_X_CEIL] = { "__builtin_ceilf(%1)", "__builtin_ceil(%1)" },
    [IP_X_RINT] = { "__builtin_rintf(%1)", "__builtin_rint(%1)" },
    [IP_X_TRUNC] = { "__builtin_truncf(%1)", "__builtin_trunc(%1)" },
};

/* Whether x is a number above 0, and not whole: powers by it have few special cases. */
static bool is_fraction(const ip_expr *x)
{
    return (x->op == IP_X_PARAM || x->op == IP_X_CONST) && isfinite(x->f) && x->f > 0 &&
           (float)x->f != floorf((float)x->f);
}

/* Those that are given, for %2, what notes far angles (emit_row.c, Note [Far angles]). */
static const char *const near_patterns[IP_X_N] = {
    [IP_X_SIN] = "ip_sin64_near(%1, &%2)",
    [IP_X_COS] = "ip_cos64_near(%1, &%2)",
    [IP_X_TAN] = "ip_tan64_near(%1, &%2)",
};

/* Of f32 that are at most 0. */
static const char *const negative_patterns[IP_X_N] = {
    [IP_X_EXP] = "ip_exp_negative(%1)",
    [IP_X_HALF_EXP] = "ip_half_exp_negative(%1)",
};

static const char *pattern_of(ip_emit *e, const ip_expr *x)
{
    const char *own = own_patterns[x->op][x->dtype == IMGPAR_F64], *rounding = roundings[x->op][x->dtype == IMGPAR_F64];
    if (e->options->device.uses_own_functions && rounding) return rounding;
    if (!e->options->device.uses_own_functions || !own) return patterns[x->op];
    e->helpers |= 1u << IP_HELPERS_FUNCTIONS;
    bool is_root = x->op == IP_X_POW && x->dtype == IMGPAR_F32 && is_fraction(x->arg[1]);
    if (e->far && ip_is_of_angle(e->options, x)) return near_patterns[x->op];
    if (x->dtype == IMGPAR_F32 && negative_patterns[x->op] && x->arg[0]->hi <= 0) return negative_patterns[x->op];
    return is_root ? "ip_pow_fraction(%1, %2)" : own;
}

static bool is_small(imgpar_dtype dtype) { return ip_dtype(dtype)->size_bytes < 4; }

static const char *fill(ip_emit *e, const char *pattern, const char *const *arg)
{
    ip_str s = IP_STR_INIT;
    for (const char *p = pattern; *p; p++) {
        if (*p == '%')
            ip_str_append(&s, arg[*++p - '1']);
        else
            ip_str_putc(&s, *p);
    }
    const char *text = ip_text(e->ir, "%s", ip_str_text(&s));
    e->ir->failed |= s.failed;
    ip_str_free(&s);
    return text;
}

static const char *number_text(ip_emit *e, const ip_expr *x)
{
    if (ip_x_is_float(x)) {
        char buf[40];
        const char *suffix = x->dtype == IMGPAR_F32 ? "f" : "";
        if (isnan(x->f)) return x->dtype == IMGPAR_F32 ? "NAN" : "((double)NAN)";
        if (isinf(x->f))
            return x->f > 0 ? (x->dtype == IMGPAR_F32 ? "INFINITY" : "((double)INFINITY)")
                            : (x->dtype == IMGPAR_F32 ? "(-INFINITY)" : "(-(double)INFINITY)");
        ip_number_text(x->f, buf);
        bool has_point = strpbrk(buf, ".en") != NULL;
        return ip_text(e->ir, x->f < 0 || signbit(x->f) ? "(%s%s%s)" : "%s%s%s", buf, has_point ? "" : ".0", suffix);
    }
    if (x->dtype == IMGPAR_U64) return ip_text(e->ir, "%lluul", (unsigned long long)x->i);
    if (x->dtype == IMGPAR_I64)
        return x->i == INT64_MIN ? "(-9223372036854775807l - 1)"
                                 : ip_text(e->ir, x->i < 0 ? "(%lldl)" : "%lldl", (long long)x->i);
    if (x->dtype == IMGPAR_U32) return ip_text(e->ir, "%lluu", (unsigned long long)x->i);
    if (x->i == INT32_MIN) return "(-2147483647 - 1)";
    return ip_text(e->ir, x->i < 0 ? "(%lld)" : "%lld", (long long)x->i);
}

/*
 * Note [Sums of 16 bits]
 * C widens what is added. A compiler that sees that a sum of shorts never wraps leaves out that it is cut to 16 bits
 * again, and where the sum is read twice, as by a rounded quotient, all that it is made of is computed in 32: with half
 * as many lanes, and widening each element by itself. A sum that saturates is one of 16 bits, is as quick, and the same
 * where nothing wraps.
 */
static bool is_kept_short(const ip_emit *e, const ip_expr *x)
{
    bool is_read_again = x->id < uses_size(e) && e->uses[x->id + 1] > 1;
    return e->options->device.has_loop_hints && x->dtype == IMGPAR_U16 && x->op == IP_X_ADD && is_read_again &&
           !ip_x_is_uniform(x) && x->arg[0]->hi + x->arg[1]->hi <= UINT16_MAX;
}

/* + - * of integers: small ones are computed as int and cut; wide ones that may wrap go through unsigned. */
static const char *arithmetic(ip_emit *e, const ip_expr *x, const char *const *arg, char symbol)
{
    const char *type = ip_cl_type(x->dtype);
    if (ip_x_is_float(x)) return ip_text(e->ir, "(%s %c %s)", arg[0], symbol, arg[1]);
    if (is_small(x->dtype)) {
        if (symbol == '*' && ip_dtype(x->dtype)->size_bytes == 2) /* 65535 * 65535 overflows int */
            return ip_text(e->ir, "(%s)((uint)%s * (uint)%s)", type, arg[0], arg[1]);
        if (is_kept_short(e, x)) return ip_text(e->ir, "ip_add_ushort(%s, %s)", arg[0], arg[1]);
        return ip_text(e->ir, "(%s)(%s %c %s)", type, arg[0], symbol, arg[1]);
    }
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    bool may_wrap = facts->is_signed && x->lo <= facts->minimum && x->hi >= facts->maximum;
    if (may_wrap) return ip_text(e->ir, "(%s)((u%s)%s %c (u%s)%s)", type, type, arg[0], symbol, type, arg[1]);
    return ip_text(e->ir, "(%s %c %s)", arg[0], symbol, arg[1]);
}

/* Whether x + a negative number is written as x - a number: of int, where it cannot wrap. */
static bool subtracts(const ip_expr *x)
{
    const ip_expr *by = x->arg[1];
    return x->dtype == IMGPAR_I32 && by->op == IP_X_CONST && by->i < 0 && by->i > INT32_MIN &&
           !(x->lo <= INT32_MIN && x->hi >= INT32_MAX);
}

/*
 * Note [Least of squares]
 * Floats that are never negative, nor a negative zero, are in the order of their bits, and NaN, of either sign, is
 * behind them all: the lesser one is one instruction on bits, where four choose among numbers that may be NaN. So are
 * distances.
 */
enum { MOST_LOOKED_AT = 256 };
static bool is_plus(const ip_expr *x, int *left)
{
    if (--*left < 0) return false;
    switch (x->op) {
    case IP_X_CONST: return x->f >= 0 && !signbit(x->f);
    case IP_X_ABS: return true;
    case IP_X_MUL: return x->arg[0] == x->arg[1];
    case IP_X_SQRT: return is_plus(x->arg[0], left);
    case IP_X_ADD:
    case IP_X_MIN:
    case IP_X_MAX: return is_plus(x->arg[0], left) && is_plus(x->arg[1], left);
    default: return false;
    }
}

const char *ip_emit_extreme_test(ip_emit *e, bool is_min, const char *a, const char *b)
{
    return ip_text(e->ir, "(%s %s %s) | (%s != %s)", a, is_min ? "<" : ">", b, b, b);
}

const char *ip_emit_extreme(ip_emit *e, bool is_min, const char *a, const char *b)
{
    return ip_text(e->ir, "(%s ? %s : %s)", ip_emit_extreme_test(e, is_min, a, b), a, b);
}

static const char *chosen(ip_emit *e, const ip_expr *x, const char *const *arg)
{
    const char *symbol = x->op == IP_X_MIN ? "<" : ">";
    if (!ip_x_is_float(x))
        return ip_text(e->ir, "%s(%s, %s)", x->op == IP_X_MIN ? "min" : "max",
                       is_small(x->dtype) ? ip_text(e->ir, "(%s)%s", ip_cl_type(x->dtype), arg[0]) : arg[0],
                       is_small(x->dtype) ? ip_text(e->ir, "(%s)%s", ip_cl_type(x->dtype), arg[1]) : arg[1]);
    bool no_nan = isfinite(x->arg[1]->lo) && isfinite(x->arg[1]->hi);
    if (!no_nan && x->op == IP_X_MIN && is_plus(x, &(int){ MOST_LOOKED_AT })) {
        const char *type = x->dtype == IMGPAR_F32 ? "float" : "double",
                   *bits = x->dtype == IMGPAR_F32 ? "uint" : "ulong";
        return ip_text(e->ir, "as_%s(min(as_%s(%s), as_%s(%s)))", type, bits, arg[0], bits, arg[1]);
    }
    if (no_nan) return ip_text(e->ir, "(%s %s %s ? %s : %s)", arg[0], symbol, arg[1], arg[0], arg[1]);
    return ip_emit_extreme(e, x->op == IP_X_MIN, arg[0], arg[1]);
}

/*
 * Note [Quotients of shorts]
 * Compilers divide 16 bits by a number that stands in the text as a product's upper half and a shift. A product that
 * is written out they make of 32 bits, and of what is multiplied, too, where that is a sum.
 */
static const char *quotient(ip_emit *e, const ip_expr *x, const char *const *arg)
{
    const char *type = ip_cl_type(x->dtype);
    if (ip_x_is_float(x)) /* MOD of floats floors too */
        return ip_text(e->ir, "ip_fmod_%s(%s, %s)", type, arg[0], arg[1]);
    const char *symbol = x->op == IP_X_IDIV ? "/" : "%";
    if (x->arg[0]->lo >= 0 && x->arg[1]->lo > 0) return ip_text(e->ir, "(%s)(%s %s %s)", type, arg[0], symbol, arg[1]);
    return ip_text(e->ir, "(%s)ip_%s_%s(%s, %s)", type, x->op == IP_X_IDIV ? "div" : "mod",
                   is_small(x->dtype) ? "int" : type, arg[0], arg[1]);
}

static const char *shifted(ip_emit *e, const ip_expr *x, const char *const *arg)
{
    const char *type = ip_cl_type(x->dtype);
    int bits = (int)ip_dtype(x->dtype)->size_bytes * 8;
    const bool is_count = x->arg[1]->lo >= 0 && x->arg[1]->hi < bits;
    const char *count = is_count ? arg[1] : ip_text(e->ir, "((uint)%s & %du)", arg[1], bits - 1);
    if (x->op == IP_X_SHR) return ip_text(e->ir, "(%s)(%s >> %s)", type, arg[0], count);
    const char *wide = bits == 64 ? "ulong" : "uint";
    return ip_text(e->ir, "(%s)((%s)%s << %s)", type, wide, arg[0], count);
}

/* Compilers have an instruction for what the functions do. */
static const char *mean(ip_emit *e, const ip_expr *x, const char *const *arg)
{
    const char *type = ip_cl_type(x->dtype);
    if (x->dtype == IMGPAR_U8 || x->dtype == IMGPAR_U16)
        return ip_text(e->ir, "ip_mean_%s(%s, %s)", type, arg[0], arg[1]);
    return ip_text(e->ir, "rhadd((%s)%s, (%s)%s)", type, arg[0], type, arg[1]);
}

static const char *negated(ip_emit *e, const ip_expr *x, const char *const *arg)
{
    const char *type = ip_cl_type(x->dtype);
    if (ip_x_is_float(x)) return ip_text(e->ir, "(-%s)", arg[0]);
    const char *wide = ip_dtype(x->dtype)->size_bytes == 8 ? "ulong" : "uint";
    return ip_text(e->ir, "(%s)(0u - (%s)%s)", type, wide, arg[0]);
}

static const char *absolute(ip_emit *e, const ip_expr *x, const char *const *arg)
{
    if (ip_x_is_float(x)) return ip_text(e->ir, "fabs(%s)", arg[0]);
    return ip_text(e->ir, "(%s)(%s < 0 ? -%s : %s)", ip_cl_type(x->dtype), arg[0], arg[0], arg[0]);
}

static const char *cast(ip_emit *e, const ip_expr *x, const char *arg)
{
    if (x->dtype == IMGPAR_BOOL) return ip_text(e->ir, "(%s != 0)", arg);
    return ip_text(e->ir, "(%s)%s", ip_cl_type(x->dtype), arg);
}

/*
 * Note [Rounding to nearest even]
 * Adding 1.5 * 2^23 to a float below 2^22 in size puts its integer part, rounded to nearest even, in
 * the low bits of the sum's representation. That is one addition where convert_*_sat_rte is a call. Of f64 it is
 * 1.5 * 2^52, which leaves room for 32 bits.
 */
static const char *limited(ip_emit *e, const char *type, const char *v, char symbol, double limit)
{
    const char *name = ip_text(e->ir, "v%d", e->n_values++), *suffix = type[0] == 'f' ? "f" : "";
    ip_emit_let(e, type, name,
                ip_text(e->ir, "(%s %c %.0f.0%s ? %s : %.0f.0%s)", v, symbol, limit, suffix, v, limit, suffix));
    return name;
}

static const char *saturate_float(ip_emit *e, const ip_expr *x, const char *arg)
{
    const ip_expr *a = x->arg[0];
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    const char *type = ip_cl_type(x->dtype), *real = ip_cl_type(a->dtype), *v = arg;
    const bool is_double = a->dtype == IMGPAR_F64;
    if (facts->size_bytes > (is_double ? 4 : 2)) return ip_text(e->ir, "convert_%s_sat_rte(%s)", type, arg);
    if (facts->is_signed && !isfinite(a->lo + a->hi)) {
        v = ip_text(e->ir, "v%d", e->n_values++);
        ip_emit_let(e, real, v, ip_text(e->ir, "(%s != %s ? 0 : %s)", arg, arg, arg));
    }
    /* an infinite range admits NaN, which becomes 0 here */
    if (!(a->lo >= facts->minimum - 0.49 && isfinite(a->hi))) v = limited(e, real, v, '>', facts->minimum);
    if (!(a->hi <= facts->maximum + 0.49)) v = limited(e, real, v, '<', facts->maximum);
    return is_double ? ip_text(e->ir, "(%s)as_long(%s + 6755399441055744.0)", type, v)
                     : ip_text(e->ir, "(%s)as_int(%s + 12582912.0f)", type, v);
}

/* Whole numbers by min and max: convert_*_sat is a call, for ints of 32 bits. */
static const char *saturate_whole(ip_emit *e, const ip_expr *x, const char *arg)
{
    const ip_expr *a = x->arg[0];
    const ip_dtype_facts *from = ip_dtype(a->dtype), *to = ip_dtype(x->dtype);
    const char *type = ip_cl_type(a->dtype);
    if (from->size_bytes == 8 || to->size_bytes == 8)
        return ip_text(e->ir, "convert_%s_sat(%s)", ip_cl_type(x->dtype),
                       a->op == IP_X_CONST ? ip_text(e->ir, "(%s)%s", type, arg) : arg);
    if (a->lo < to->minimum) arg = ip_text(e->ir, "max((%s)%s, (%s)(%.0f))", type, arg, type, to->minimum);
    if (a->hi > to->maximum) arg = ip_text(e->ir, "min((%s)%s, (%s)(%.0f))", type, arg, type, to->maximum);
    return ip_text(e->ir, "(%s)%s", ip_cl_type(x->dtype), arg);
}

static const char *saturate(ip_emit *e, const ip_expr *x, const char *arg)
{
    return ip_x_is_float(x->arg[0]) ? saturate_float(e, x, arg) : saturate_whole(e, x, arg);
}

/* ---- windows ---------------------------------------------------------------------------- */

/* What folding starts from: the first value then comes out as it is, NaN and -0 included. */
const char *ip_emit_window_start(ip_emit *e, const ip_expr *x)
{
    const ip_dtype_facts *facts = ip_dtype(x->dtype);
    bool by_sum = x->fold == IP_FOLD_SUM || x->fold == IP_FOLD_FMA;
    double start = x->fold == IP_FOLD_PRODUCT ? 1
                   : facts->is_float          ? (by_sum ? -0.0 : NAN)
                   : by_sum                   ? 0
                   : x->fold == IP_FOLD_MIN   ? facts->maximum
                                              : facts->minimum;
    return ip_emit_value(e, ip_x_number(e->ir, x->dtype, start));
}

void ip_emit_name_tap(ip_emit *e, const ip_expr *window, int axis, const char *text)
{
    int taps = axis == 0 ? window->taps_y : window->taps_x;
    if (taps > 1) ip_emit_name(e, ip_x_tap(e->ir, window->window, axis, taps), text);
}

/* A window as nested scalar loops, in the middle of a computation. */
static const char *window_inline(ip_emit *e, const ip_expr *x)
{
    const char *acc = ip_text(e->ir, "w%d", e->n_values++);
    const char *type = ip_cl_type(x->dtype);
    ip_emit_var(e, type, acc, ip_emit_window_start(e, x));
    const char *j = ip_text(e->ir, "j%d", x->window), *i = ip_text(e->ir, "i%d", x->window);
    ip_stmt *rows = ip_emit_for(e, j, "0", ip_text(e->ir, "%d", x->taps_y));
    ip_stmt *columns = ip_s_add(e->ir, rows, IP_S_FOR, i, "0", ip_text(e->ir, "%d", x->taps_x));
    ip_mark mark = ip_emit_enter(e, columns);
    ip_emit_name_tap(e, x, 0, j);
    ip_emit_name_tap(e, x, 1, i);
    ip_expr *current = ip_x_acc(e->ir, 0, x->dtype);
    const char *old_acc = e->acc[0];
    e->acc[0] = acc;
    ip_expr *next = x->fold == IP_FOLD_FMA ? ip_x_fma(e->ir, x->arg[1], x->arg[0], current)
                                           : ip_x_binary(e->ir, ip_fold_op(x->fold), current, x->arg[0]);
    ip_emit_set(e, acc, ip_emit_value(e, next));
    e->acc[0] = old_acc;
    ip_emit_leave(e, mark);
    return acc;
}

/* ---- values --------------------------------------------------------------------------------- */

static const char *leaf_text(ip_emit *e, ip_expr *x)
{
    switch (x->op) {
    case IP_X_CONST: return number_text(e, x);
    case IP_X_COORD: return e->coord[x->axis] ? e->coord[x->axis] : "0";
    case IP_X_ACC: return e->acc[x->axis];
    case IP_X_PARAM: return ip_emit_slot_at(e, IP_SLOT_PARAM, 0, NULL, x);
    default: return ip_emit_name_of(e, x);
    }
}

static const char *operation(ip_emit *e, ip_expr *x);

static const char *declared(ip_emit *e, ip_expr *x, const char *text)
{
    const char *name = ip_text(e->ir, "v%d", e->n_values++);
    ip_emit_let(e, ip_cl_type(x->dtype), name, text);
    ip_emit_name(e, x, name);
    return name;
}

/* A load or a call within an arm of ?: would make a branch of it, and the loop would not vectorise. */
const char *ip_emit_variable(ip_emit *e, ip_expr *x)
{
    const char *leaf = leaf_text(e, x);
    return leaf ? leaf : declared(e, x, operation(e, x));
}

/* Written with ?:, or more than once. */
static bool is_chosen(const ip_expr *x)
{
    return x->op == IP_X_SELECT || ((x->op == IP_X_MIN || x->op == IP_X_MAX) && ip_x_is_float(x)) ||
           (x->op == IP_X_ABS && !ip_x_is_float(x));
}

static const char *operation(ip_emit *e, ip_expr *x)
{
    if (x->op == IP_X_LOAD) return ip_emit_load(e, x);
    if (x->op == IP_X_WINDOW) return window_inline(e, x);
    if (x->op == IP_X_RESULT) return ip_emit_result(e, x);
    const char *arg[IP_X_MAX_ARGS] = { "", "", "", "", "" };
    for (int k = 0; k < x->n_args; k++)
        arg[k] = is_chosen(x) ? ip_emit_variable(e, x->arg[k]) : ip_emit_value(e, x->arg[k]);
    if (e->far && ip_is_of_angle(e->options, x)) arg[1] = e->far;
    switch (x->op) {
    case IP_X_ADD:
        if (subtracts(x)) return ip_text(e->ir, "(%s)", ip_text_plus(e->ir, arg[0], (long long)x->arg[1]->i));
        return arithmetic(e, x, arg, '+');
    case IP_X_SUB: return arithmetic(e, x, arg, '-');
    case IP_X_MUL: return arithmetic(e, x, arg, '*');
    case IP_X_MIN:
    case IP_X_MAX: return chosen(e, x, arg);
    case IP_X_IDIV:
    case IP_X_MOD: return quotient(e, x, arg);
    case IP_X_MEAN: return mean(e, x, arg);
    case IP_X_SHL:
    case IP_X_SHR: return shifted(e, x, arg);
    case IP_X_NEG: return negated(e, x, arg);
    case IP_X_ABS: return absolute(e, x, arg);
    case IP_X_NOT:
        return x->dtype == IMGPAR_BOOL ? ip_text(e->ir, "(!%s)", arg[0])
                                       : ip_text(e->ir, "(%s)(~%s)", ip_cl_type(x->dtype), arg[0]);
    case IP_X_CAST: return cast(e, x, arg[0]);
    case IP_X_SATURATE: return saturate(e, x, arg[0]);
    case IP_X_BORDER: return ip_emit_border(e, x->border, arg[0], arg[1]);
    default: return fill(e, pattern_of(e, x), arg);
    }
}

const char *ip_emit_value(ip_emit *e, ip_expr *x)
{
    const char *leaf = leaf_text(e, x);
    if (leaf) return leaf;
    const char *text = operation(e, x);
    return used_once(e, x) && strlen(text) < 80 ? text : declared(e, x, text);
}

static bool declare_uniform(ip_expr *x, void *user)
{
    if (x->op == IP_X_LIST || x->op == IP_X_LOOP) return true;
    bool is_leaf = x->op == IP_X_CONST || x->op == IP_X_COORD || x->op == IP_X_TAP || x->op == IP_X_ACC;
    if (!is_leaf && !x->uses) ip_emit_value(user, x);
    return x->uses != 0;
}

void ip_emit_uniforms(ip_emit *e, ip_expr *root) { ip_x_descend(e->ir, root, declare_uniform, e); }
