/* SPDX-License-Identifier: MIT */
/*
 * Plain numbers. Division is real, div and % floor and give 0 for a divisor of
 * 0, as for arrays; bit operators take whole numbers of 64 bits. A result is
 * fractional when an operand is, or when / or a function such as sqrt made it.
 */
#include "lang/scalar.h"

#include <math.h>
#include <string.h>

static bool is_whole(double v) { return v == floor(v) && v >= -9223372036854775808.0 && v < 9223372036854775808.0; }

static double floor_divide(double a, double b) { return b == 0 ? 0 : floor(a / b); }

static double floor_modulo(double a, double b)
{
    if (b == 0) return 0;
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static const char *bits(ip_operator op, double a, double b, double *out)
{
    if (!is_whole(a) || !is_whole(b)) return "takes whole numbers from -2^63 to 2^63 - 1";
    const int64_t m = (int64_t)a, n = (int64_t)b;
    int64_t r;
    switch (op) {
    case IP_O_AND: r = m & n; break;
    case IP_O_OR: r = m | n; break;
    case IP_O_XOR: r = m ^ n; break;
    case IP_O_COMPLEMENT: r = ~m; break;
    default:
        if (n < 0 || n > 63) return "shifts by 0 to 63";
        r = op == IP_O_SHIFT_LEFT ? (int64_t)((uint64_t)m << n) : m >> n;
    }
    *out = (double)r;
    return *out >= 0x1p63 || (int64_t)*out != r ? "gives a whole number that no double is" : NULL;
}

static bool bits_of_bools(ip_operator op, bool a, bool b)
{
    return op == IP_O_AND ? a && b : op == IP_O_OR ? a || b : op == IP_O_XOR ? a != b : !a;
}

static double arithmetic(ip_operator op, double a, double b)
{
    switch (op) {
    case IP_O_ADD: return a + b;
    case IP_O_SUBTRACT: return a - b;
    case IP_O_MULTIPLY: return a * b;
    case IP_O_DIVIDE: return a / b;
    case IP_O_MODULO: return floor_modulo(a, b);
    case IP_O_DIV: return floor_divide(a, b);
    case IP_O_POWER: return pow(a, b);
    case IP_O_NEGATE: return -a;
    default: return NAN;
    }
}

static bool truth(ip_operator op, double a, double b)
{
    switch (op) {
    case IP_O_OR_OR: return a != 0 || b != 0;
    case IP_O_AND_AND: return a != 0 && b != 0;
    case IP_O_EQUAL: return a == b;
    case IP_O_UNEQUAL: return a != b;
    case IP_O_LESS: return a < b;
    case IP_O_LESS_EQUAL: return a <= b;
    case IP_O_GREATER: return a > b;
    case IP_O_GREATER_EQUAL: return a >= b;
    default: return a == 0; /* ! */
    }
}

bool ip_operator_is_logical(ip_operator op) { return op <= IP_O_GREATER_EQUAL || op == IP_O_NOT; }

const char *ip_scalar_operator(ip_operator op, const ip_val *operands, ip_val *out)
{
    int n = ip_operators[op].n_operands;
    bool logical = ip_operator_is_logical(op);
    bool bitwise = (op >= IP_O_OR && op <= IP_O_SHIFT_RIGHT) || op == IP_O_COMPLEMENT;
    const ip_val *a = &operands[0], *b = &operands[n - 1];
    const bool shifts = op == IP_O_SHIFT_LEFT || op == IP_O_SHIFT_RIGHT,
               of_bools = bitwise && !shifts && a->kind == IP_V_BOOL && b->kind == IP_V_BOOL;
    if (a->unknown || b->unknown) {
        *out = ip_val_unknown(logical || of_bools ? IP_V_BOOL : IP_V_NUMBER);
        return NULL;
    }
    if (logical) {
        *out = ip_val_bool(truth(op, a->number, b->number));
        return NULL;
    }
    *out = ip_val_number(0, false);
    if (of_bools) {
        *out = ip_val_bool(bits_of_bools(op, a->number != 0, b->number != 0));
        return NULL;
    }
    if (bitwise) return bits(op, a->number, b->number, &out->number);
    out->number = arithmetic(op, a->number, b->number);
    out->fractional = a->fractional || b->fractional || op == IP_O_DIVIDE || !is_whole(out->number);
    return NULL;
}

/* ---- functions --------------------------------------------------------------------- */

/* Whether a function's result counts as written with a fraction. */
typedef enum fraction { KEEPS, ALWAYS, NEVER } fraction;

#define half_exp(x) exp(x)
#define fifth_root(x) copysign(pow(fabs(x), 0.2), x)
#undef rsqrt
#define rsqrt(x) (1 / sqrt(x)) /* C has it since C23 */
#define FUNCTION(OP, NAME, F64) \
    static double f_##NAME(const double *a) { return NAME(a[0]); }
#include "ir/functions.def"
#undef FUNCTION
#undef rsqrt
#undef fifth_root
#undef half_exp
static double f_sqrt(const double *a) { return sqrt(a[0]); }
static double f_atan2(const double *a) { return atan2(a[0], a[1]); }
static double f_nextafter(const double *a) { return nextafter(a[0], a[1]); }
static double f_fma(const double *a) { return fma(a[0], a[1], a[2]); }
static double f_pow(const double *a) { return pow(a[0], a[1]); }
static double f_floor(const double *a) { return floor(a[0]); }
static double f_ceil(const double *a) { return ceil(a[0]); }
static double f_round(const double *a) { return rint(a[0]); } /* ties to even */
static double f_trunc(const double *a) { return trunc(a[0]); }
static double f_abs(const double *a) { return fabs(a[0]); }
static double f_min(const double *a) { return fmin(a[0], a[1]); }
static double f_max(const double *a) { return fmax(a[0], a[1]); }
static double f_sign(const double *a) { return isnan(a[0]) ? a[0] : (a[0] > 0) - (a[0] < 0); }
static double f_isnan(const double *a) { return isnan(a[0]) ? 1 : 0; }
static double f_isinf(const double *a) { return isinf(a[0]) ? 1 : 0; }
static double f_isfinite(const double *a) { return isfinite(a[0]) ? 1 : 0; }
static double f_hypot(const double *a) { return hypot(a[0], a[1]); }
static const double pi_ = 3.14159265358979323846;
static double f_sigmoid(const double *a) { return a[0] >= 0 ? 1 / (1 + exp(-a[0])) : exp(a[0]) / (1 + exp(a[0])); }
static double f_softplus(const double *a) { return fmax(a[0], 0) + log1p(exp(-fabs(a[0]))); }
static double f_sinc(const double *a)
{
    if (a[0] == 0 || isinf(a[0])) return a[0] == 0;
    return sin((a[0] - 2 * rint(a[0] / 2)) * pi_) / (a[0] * pi_);
}
static double f_radians(const double *a) { return a[0] * (pi_ / 180); }
static double f_degrees(const double *a) { return a[0] * (180 / pi_); }
static double f_select(const double *a) { return a[0] != 0 ? a[1] : a[2]; }
static double f_clamp(const double *a) { return fmin(fmax(a[0], a[1]), a[2]); }

static const struct {
    const char *name;
    int n;
    fraction fraction;
    double (*call)(const double *args);
} functions[] = {
    { "sqrt", 1, ALWAYS, f_sqrt },
    { "atan2", 2, ALWAYS, f_atan2 },
    { "nextafter", 2, ALWAYS, f_nextafter },
    { "fma", 3, ALWAYS, f_fma },
    { "pow", 2, KEEPS, f_pow },
    { "floor", 1, NEVER, f_floor },
    { "ceil", 1, NEVER, f_ceil },
    { "round", 1, NEVER, f_round },
    { "trunc", 1, NEVER, f_trunc },
    { "abs", 1, KEEPS, f_abs },
    { "min", 2, KEEPS, f_min },
    { "max", 2, KEEPS, f_max },
    { "sign", 1, KEEPS, f_sign },
    { "isnan", 1, NEVER, f_isnan },
    { "isinf", 1, NEVER, f_isinf },
    { "isfinite", 1, NEVER, f_isfinite },
    { "hypot", 2, ALWAYS, f_hypot },
    { "sigmoid", 1, ALWAYS, f_sigmoid },
    { "softplus", 1, ALWAYS, f_softplus },
    { "sinc", 1, ALWAYS, f_sinc },
    { "radians", 1, ALWAYS, f_radians },
    { "degrees", 1, ALWAYS, f_degrees },
    { "clamp", 3, KEEPS, f_clamp },
    { "select", 3, KEEPS, f_select },
#define FUNCTION(OP, NAME, F64) { #NAME, 1, ALWAYS, f_##NAME },
#include "ir/functions.def"
#undef FUNCTION
};

static int find(const char *name, int n)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].n == n && strcmp(functions[i].name, name) == 0) return (int)i;
    return -1;
}

bool ip_scalar_function_exists(const char *name, int n) { return find(name, n) >= 0; }

bool ip_scalar_function(const char *name, const ip_val *args, int n, ip_val *out)
{
    int i = find(name, n);
    double numbers[3];
    bool fractional = false, unknown = false;
    if (i < 0) return false;
    for (int k = 0; k < n; k++) {
        numbers[k] = args[k].number;
        fractional = fractional || args[k].fractional;
        unknown = unknown || args[k].unknown;
    }
    if (unknown) {
        *out = ip_val_unknown(IP_V_NUMBER);
        return true;
    }
    double number = functions[i].call(numbers);
    fraction f = functions[i].fraction;
    *out = ip_val_number(number, f == ALWAYS || !is_whole(number) || (f == KEEPS && fractional));
    return true;
}
