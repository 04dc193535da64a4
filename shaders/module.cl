/* SPDX-License-Identifier: MIT */
/*
 * What stands before every user's module: extensions, random numbers, globals and constants, votes and shuffles, and
 * the words that kernels print and check with. The host's halves are src/cl/symbol.c, and src/cl/report.c, which reads
 * the records that are written here.
 *
 * A report is an array of ints:
 *     [0] ints that records take, which may be more than there is room for   [1] room   [2] 1: a check failed
 *     [3] texts that were printed and had no room   [4...] records: kind, ints of the record, global id x y z, line,
 *     arguments, chars, chars in fours, arguments of three ints
 * An argument is its type (ip_report_signed and so on; of whole numbers + 16 times their bytes) and its bits, 64 of
 * them, the lower half first. The bits of a string are the place of a record of its own, which has its chars and, for
 * the id, its address; 0: it had no room.
 */
#if IMGPAR_HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if IMGPAR_HAS_F16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

/* ---- random numbers: Philox4x32-10, Salmon, Moraes, Dror and Shaw, SC 2011 ------------------ */

/* Four random words for an index of a sequence: the words that random(seed=) has for its elements 4 index to 4 index +
 * 3. */
static inline uint4 imgpar_random(ulong seed, ulong index)
{
    uint4 x = (uint4)((uint)index, (uint)(index >> 32), 0, 0);
    uint2 key = (uint2)((uint)seed, (uint)(seed >> 32));
    for (int round = 0; round < 10; round++) {
        uint high0 = mul_hi(0xD2511F53u, x.x), high1 = mul_hi(0xCD9E8D57u, x.z);
        x = (uint4)(high1 ^ x.y ^ key.x, 0xCD9E8D57u * x.z, high0 ^ x.w ^ key.y, 0xD2511F53u * x.x);
        key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    return x;
}

/* ---- globals and constants of a module ---------------------------------------------------------------------- */

/*
 * OpenCL 1.2 has no memory that host and kernels know by a name. So a declaration is a type and a kernel, which tells
 * the host by its name that there is one, how large it is, and of which type (src/cl/symbol.c); what kernels name is a
 * parameter.
 */
#define IP_SYMBOL(T, name, n, SPACE)                                                                            \
    typedef SPACE T *imgpar_symbol_##name;                                                                      \
    kernel void imgpar_##SPACE##_##name(global ulong *imgpar_size, imgpar_symbol_##name imgpar_of_symbols_type) \
    {                                                                                                           \
        imgpar_size[0] = sizeof(T);                                                                             \
        imgpar_size[1] = (ulong)(long)(n);                                                                      \
    }                                                                                                           \
    struct imgpar_symbol_##name /* for the user's semicolon */
#define IMGPAR_GLOBAL(T, name, n) IP_SYMBOL(T, name, n, global)
#define IMGPAR_CONSTANT(T, name, n) IP_SYMBOL(T, name, n, constant)
#define IP_SYMBOL_OF(name) imgpar_symbol_##name name
#define IMGPAR_SYMBOL(name) IP_SYMBOL_OF(name) /* a name that is a macro is its value, as above */

/* ---- work-groups and sub-groups ------------------------------------------------------------------------- */

/*
 * Each work-item of a group calls these, the words of sub-groups too, none of them on a branch that others do not take
 * or behind a return: where the device has no sub-groups, and between them, values go through local memory, 8 bytes a
 * work-item, with barriers. Sub-groups are the device's if it has votes, shuffles and ballots of them, else the group
 * cut into 32 work-items by their number.
 */
#define IMGPAR_GROUP local ulong *imgpar_group

#if IMGPAR_HAS_SUB_GROUPS
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#if IMGPAR_HAS_SUB_GROUP_SHUFFLES
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
#endif

/* A work-item's number in its group, x first. */
static inline uint imgpar_work_group_local_id(void)
{
    return (uint)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)));
}
static inline uint imgpar_work_group_size(void)
{
    return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}

/* How many work-items of the group say yes. */
static inline uint ip_group_count(local ulong *s, bool yes)
{
    volatile local uint *total = (volatile local uint *)s;
    if (imgpar_work_group_local_id() == 0) *total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
#if IMGPAR_HAS_SUB_GROUPS
    uint n = sub_group_reduce_add((uint)yes);
    if (get_sub_group_local_id() == 0 && n > 0) atomic_add(total, n);
#else
    if (yes) atomic_inc(total);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    uint count = *total;
    barrier(CLK_LOCAL_MEM_FENCE);
    return count;
}

#define imgpar_work_group_count(yes) ip_group_count(imgpar_group, yes)
#define imgpar_work_group_any(yes) (ip_group_count(imgpar_group, yes) > 0)
#define imgpar_work_group_all(yes) (ip_group_count(imgpar_group, yes) == imgpar_work_group_size())

#if IMGPAR_HAS_SUB_GROUP_SHUFFLES
#define imgpar_sub_group_size() get_sub_group_size()
#define imgpar_sub_group_local_id() get_sub_group_local_id()
#define imgpar_sub_group_id() get_sub_group_id()
#define imgpar_num_sub_groups() get_num_sub_groups()
static inline uint4 ip_sub_group_ballot(local ulong *s, bool yes) { return sub_group_ballot(yes); }
static inline uint ip_sub_group_count(local ulong *s, bool yes) { return sub_group_reduce_add((uint)yes); }
#else
enum { ip_lanes = 32 };
static inline uint imgpar_sub_group_local_id(void) { return imgpar_work_group_local_id() % ip_lanes; }
static inline uint imgpar_sub_group_id(void) { return imgpar_work_group_local_id() / ip_lanes; }
static inline uint imgpar_num_sub_groups(void) { return (imgpar_work_group_size() + ip_lanes - 1) / ip_lanes; }
static inline uint imgpar_sub_group_size(void)
{
    return min((uint)ip_lanes, imgpar_work_group_size() - imgpar_sub_group_id() * ip_lanes);
}
static inline uint4 ip_sub_group_ballot(local ulong *s, bool yes)
{
    uint lane = imgpar_sub_group_local_id();
    volatile local uint *mask = (volatile local uint *)(s + (imgpar_work_group_local_id() - lane));
    if (lane == 0) *mask = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (yes) atomic_or(mask, 1u << lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint all = *mask;
    barrier(CLK_LOCAL_MEM_FENCE);
    return (uint4)(all, 0, 0, 0);
}
static inline uint ip_sub_group_count(local ulong *s, bool yes) { return popcount(ip_sub_group_ballot(s, yes).x); }
#endif
#define imgpar_sub_group_ballot(yes) ip_sub_group_ballot(imgpar_group, yes)
#define imgpar_sub_group_count(yes) ip_sub_group_count(imgpar_group, yes)
#define imgpar_sub_group_any(yes) (ip_sub_group_count(imgpar_group, yes) > 0)
#define imgpar_sub_group_all(yes) (ip_sub_group_count(imgpar_group, yes) == imgpar_sub_group_size())

/* The value that work-item `from` of those that begin at `first` gives; the caller's own v if it does not
 * exist. */
#define IP_SHUFFLES(T)                                                                                              \
    static inline T __attribute__((overloadable)) ip_group_take(local ulong *s, T v, uint first, uint n, uint from) \
    {                                                                                                               \
        volatile local T *at = (volatile local T *)s;                                                               \
        at[imgpar_work_group_local_id()] = v;                                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
        T taken = from < n ? at[first + from] : v;                                                                  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
        return taken;                                                                                               \
    }                                                                                                               \
    IP_SUB_SHUFFLES(T)

#if IMGPAR_HAS_SUB_GROUP_SHUFFLES
#define IP_SUB_SHUFFLES(T)                                                                          \
    static inline T __attribute__((overloadable)) ip_sub_group_take(local ulong *s, T v, uint from) \
    {                                                                                               \
        bool is_there = from < get_sub_group_size();                                                \
        T taken = sub_group_shuffle(v, is_there ? from : get_sub_group_local_id());                 \
        return is_there ? taken : v;                                                                \
    }
#else
#define IP_SUB_SHUFFLES(T)                                                                           \
    static inline T __attribute__((overloadable)) ip_sub_group_take(local ulong *s, T v, uint from)  \
    {                                                                                                \
        return ip_group_take(s, v, imgpar_sub_group_id() * ip_lanes, imgpar_sub_group_size(), from); \
    }
#endif

/*
 * All values combined by pairs, of any number of work-items: those behind the middle meet those before it. (Drivers
 * have macros min and max, so these words cannot be handed on to make a name.)
 */
#define IP_REDUCE(T, NAME, OF_SUB_GROUP, COMBINED)                                                           \
    static inline T __attribute__((overloadable)) ip_group_reduce_##NAME(local ulong *s, T v)                \
    {                                                                                                        \
        volatile local T *at = (volatile local T *)s;                                                        \
        IP_REDUCE_SUB(v, OF_SUB_GROUP, at)                                                                   \
        for (uint middle; n > 1; n = middle) {                                                               \
            middle = (n + 1) / 2;                                                                            \
            if (imgpar_work_group_local_id() < n - middle) {                                                 \
                const T a = at[imgpar_work_group_local_id()], b = at[imgpar_work_group_local_id() + middle]; \
                at[imgpar_work_group_local_id()] = COMBINED;                                                 \
            }                                                                                                \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                    \
        }                                                                                                    \
        T all = at[0];                                                                                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                        \
        return all;                                                                                          \
    }                                                                                                        \
    IP_SUB_REDUCE(T, NAME, OF_SUB_GROUP, COMBINED)

#if IMGPAR_HAS_SUB_GROUPS /* they combine theirs without memory, their first work-items put down what came of it */
#define IP_REDUCE_SUB(v, OF_SUB_GROUP, at)                         \
    v = OF_SUB_GROUP(v);                                           \
    if (get_sub_group_local_id() == 0) at[get_sub_group_id()] = v; \
    barrier(CLK_LOCAL_MEM_FENCE);                                  \
    uint n = get_num_sub_groups();
#else
#define IP_REDUCE_SUB(v, OF_SUB_GROUP, at) \
    at[imgpar_work_group_local_id()] = v;  \
    barrier(CLK_LOCAL_MEM_FENCE);          \
    uint n = imgpar_work_group_size();
#endif

#if IMGPAR_HAS_SUB_GROUP_SHUFFLES
#define IP_SUB_REDUCE(T, NAME, OF_SUB_GROUP, COMBINED)                                            \
    static inline T __attribute__((overloadable)) ip_sub_group_reduce_##NAME(local ulong *s, T v) \
    {                                                                                             \
        return OF_SUB_GROUP(v);                                                                   \
    }
#else
#define IP_SUB_REDUCE(T, NAME, OF_SUB_GROUP, COMBINED)                                            \
    static inline T __attribute__((overloadable)) ip_sub_group_reduce_##NAME(local ulong *s, T v) \
    {                                                                                             \
        const uint lane = imgpar_sub_group_local_id(), size = imgpar_sub_group_size();            \
        volatile local T *at = (volatile local T *)s + (imgpar_work_group_local_id() - lane);     \
        at[lane] = v;                                                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                             \
        for (uint n = ip_lanes / 2; n > 0; n /= 2) {                                              \
            if (lane < n && lane + n < size) {                                                    \
                const T a = at[lane], b = at[lane + n];                                           \
                at[lane] = COMBINED;                                                              \
            }                                                                                     \
            barrier(CLK_LOCAL_MEM_FENCE);                                                         \
        }                                                                                         \
        T all = at[0];                                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                                             \
        return all;                                                                               \
    }
#endif

#define IP_GROUP_TYPE(T)                                 \
    IP_SHUFFLES(T)                                       \
    IP_REDUCE(T, sum, sub_group_reduce_add, a + b)       \
    IP_REDUCE(T, least, sub_group_reduce_min, min(a, b)) \
    IP_REDUCE(T, most, sub_group_reduce_max, max(a, b))
IP_GROUP_TYPE(int)
IP_GROUP_TYPE(uint)
IP_GROUP_TYPE(long)
IP_GROUP_TYPE(ulong)
IP_GROUP_TYPE(float)
#if IMGPAR_HAS_F64
IP_GROUP_TYPE(double)
#endif

#define imgpar_work_group_reduce_add(v) ip_group_reduce_sum(imgpar_group, v)
#define imgpar_work_group_reduce_min(v) ip_group_reduce_least(imgpar_group, v)
#define imgpar_work_group_reduce_max(v) ip_group_reduce_most(imgpar_group, v)
#define imgpar_work_group_broadcast(v, from) ip_group_take(imgpar_group, v, 0, imgpar_work_group_size(), from)
#define imgpar_work_group_shuffle(v, from) ip_group_take(imgpar_group, v, 0, imgpar_work_group_size(), from)
#define imgpar_work_group_shuffle_up(v, by) imgpar_work_group_shuffle(v, imgpar_work_group_local_id() - (uint)(by))
#define imgpar_work_group_shuffle_down(v, by) imgpar_work_group_shuffle(v, imgpar_work_group_local_id() + (uint)(by))
#define imgpar_work_group_shuffle_xor(v, mask) imgpar_work_group_shuffle(v, imgpar_work_group_local_id() ^ (uint)(mask))
#define imgpar_sub_group_reduce_add(v) ip_sub_group_reduce_sum(imgpar_group, v)
#define imgpar_sub_group_reduce_min(v) ip_sub_group_reduce_least(imgpar_group, v)
#define imgpar_sub_group_reduce_max(v) ip_sub_group_reduce_most(imgpar_group, v)
#define imgpar_sub_group_broadcast(v, from) ip_sub_group_take(imgpar_group, v, from)
#define imgpar_sub_group_shuffle(v, from) ip_sub_group_take(imgpar_group, v, from)
#define imgpar_sub_group_shuffle_up(v, by) imgpar_sub_group_shuffle(v, imgpar_sub_group_local_id() - (uint)(by))
#define imgpar_sub_group_shuffle_down(v, by) imgpar_sub_group_shuffle(v, imgpar_sub_group_local_id() + (uint)(by))
#define imgpar_sub_group_shuffle_xor(v, mask) imgpar_sub_group_shuffle(v, imgpar_sub_group_local_id() ^ (uint)(mask))

/* ---- reports ------------------------------------------------------------------------------------ */

#define IMGPAR_REPORT volatile global int *imgpar_report

enum { ip_report_print, ip_report_assert, ip_report_index, ip_report_finite, ip_report_text };
enum {
    ip_report_signed,
    ip_report_unsigned,
    ip_report_float,
    ip_report_double,
    ip_report_bool,
    ip_report_pointer,
    ip_report_string
};

/* The chars before the 0, of so many at most. */
static inline int ip_report_length(constant const char *text, int most)
{
    int n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

/* Takes n ints for a record; their place, 0: there is no room. Nobody adds once it is full, so that the sum stays far
 * from where an int ends. */
static inline int ip_report_take(volatile global int *r, int n)
{
    if (r[0] > r[1] - 4) return 0;
    int at = atomic_add(&r[0], n) + 4;
    if (at + n <= r[1]) return at;
    if (at < r[1]) r[at] = -1; /* memory is used again: an old record may lie here */
    return 0;
}

static inline int ip_report_chars(volatile global int *r, int at, int chars, constant const char *text)
{
    for (int k = 0; k < chars; k += 4) {
        int four = 0;
        for (int i = 0; i < 4 && k + i < chars; i++)
            four |= (int)(uchar)text[k + i] << 8 * i;
        r[at++] = four;
    }
    return at;
}

/* Begins a record; the place of its first argument, or 0 where there is no room. */
static inline int ip_report_begin(volatile global int *r, int kind, int line, constant const char *text, int n_args)
{
    int chars = ip_report_length(text, INT_MAX), n = 8 + (chars + 3) / 4 + 3 * n_args, at = ip_report_take(r, n);
    if (at == 0) {
        if (kind == ip_report_print && r[3] < INT_MAX) atomic_inc(&r[3]);
        return 0;
    }
    r[at] = kind;
    r[at + 1] = n;
    for (int d = 0; d < 3; d++)
        r[at + 2 + d] = (int)get_global_id(d);
    r[at + 5] = line;
    r[at + 6] = n_args;
    r[at + 7] = chars;
    int args = ip_report_chars(r, at + 8, chars, text);
    if (n_args > 0) r[args] = at; /* where the next argument comes lies the place of its record */
    return args;
}

static inline int ip_report_char(volatile global int *r, int record, int k)
{
    return k < r[record + 7] ? r[record + 8 + k / 4] >> 8 * (k % 4) & 255 : 0;
}

/* Reads digits or '*' of a format at char *k; `none` where there is neither. */
static inline int ip_report_width(volatile global int *r, int record, int *k, int *arg, int none)
{
    int value = none, c = ip_report_char(r, record, *k);
    if (c == '*') {
        if (*arg < r[record + 6]) value = r[record + r[record + 1] - 3 * (r[record + 6] - *arg) + 1];
        ++*arg;
        ++*k;
        return value;
    }
    for (bool first = true; c >= '0' && c <= '9'; c = ip_report_char(r, record, ++*k), first = false)
        value = (first ? 0 : min(value, 99999)) * 10 + (c - '0');
    return value;
}

/* How many chars the format of a record shows of its argument `asked`, as report.c reads formats: the precision. */
static inline int ip_report_shown(volatile global int *r, int record, int asked)
{
    int arg = 0;
    for (int k = 0; k < r[record + 7] && arg <= asked; k++) {
        if (ip_report_char(r, record, k) != '%') continue;
        int before = k++, precision = -1, c = ip_report_char(r, record, k);
        if (c == '%') continue;
        while (c == '-' || c == '+' || c == ' ' || c == '#' || c == '0')
            c = ip_report_char(r, record, ++k);
        int next = arg;
        ip_report_width(r, record, &k, &next, 0);
        if (ip_report_char(r, record, k) == '.') {
            k++;
            precision = ip_report_width(r, record, &k, &next, 0);
        }
        c = ip_report_char(r, record, k);
        while (c == 'h' || c == 'l' || c == 'z' || c == 'j' || c == 't' || c == 'L')
            c = ip_report_char(r, record, ++k);
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) {
            k = before;
            continue;
        }
        if (next == asked) return c == 's' && precision >= 0 ? precision : INT_MAX;
        arg = next + 1;
    }
    return INT_MAX;
}

/* A string, which is the argument at arg, as a record of its own; its place, 0 where there is no room. No more is read
 * than is shown or has room: it may have no end. */
static inline int ip_report_put_text(volatile global int *r, int arg, constant const char *text)
{
    int record = r[arg], shown = ip_report_shown(r, record, r[record + 6] - (record + r[record + 1] - arg) / 3);
    int room = 4 * (min(r[1], INT_MAX / 8) - 4 - 8) + 1;
    int chars = ip_report_length(text, min(shown, room)), n = 8 + (chars + 3) / 4, at = ip_report_take(r, n);
    if (at == 0) return 0;
    ulong address = (ulong)(uintptr_t)text;
    r[at] = ip_report_text;
    r[at + 1] = n;
    r[at + 2] = (int)(uint)address;
    r[at + 3] = (int)(uint)(address >> 32);
    r[at + 4] = r[at + 5] = r[at + 6] = 0;
    r[at + 7] = chars;
    ip_report_chars(r, at + 8, chars, text);
    return at;
}

static inline int ip_report_word(volatile global int *r, int at, int type, ulong bits)
{
    if (at == 0) return 0;
    int record = r[at];
    if (at + 3 < record + r[record + 1]) r[at + 3] = record;
    r[at] = type;
    r[at + 1] = (int)(uint)bits;
    r[at + 2] = (int)(uint)(bits >> 32);
    return at + 3;
}

#define IP_REPORT_TYPE(T, TYPE, BITS)                                                                  \
    static inline int __attribute__((overloadable)) ip_report_arg(volatile global int *r, int at, T v) \
    {                                                                                                  \
        return ip_report_word(r, at, TYPE, BITS);                                                      \
    }
IP_REPORT_TYPE(bool, ip_report_bool + 16 * 1, v)
IP_REPORT_TYPE(char, ip_report_signed + 16 * 1, (ulong)(long)v)
IP_REPORT_TYPE(short, ip_report_signed + 16 * 2, (ulong)(long)v)
IP_REPORT_TYPE(int, ip_report_signed + 16 * 4, (ulong)(long)v)
IP_REPORT_TYPE(long, ip_report_signed + 16 * 8, (ulong)v)
IP_REPORT_TYPE(uchar, ip_report_unsigned + 16 * 1, v)
IP_REPORT_TYPE(ushort, ip_report_unsigned + 16 * 2, v)
IP_REPORT_TYPE(uint, ip_report_unsigned + 16 * 4, v)
IP_REPORT_TYPE(ulong, ip_report_unsigned + 16 * 8, v)
IP_REPORT_TYPE(float, ip_report_float, as_uint(v))
#if IMGPAR_HAS_F16
IP_REPORT_TYPE(half, ip_report_float, as_uint((float)v))
#endif
#if IMGPAR_HAS_F64
IP_REPORT_TYPE(double, ip_report_double, as_ulong(v))
#endif
/* Chars in constant memory are a string; what lies elsewhere may have no end, and is a pointer. */
IP_REPORT_TYPE(constant const char *, ip_report_string, at == 0 ? 0ul : (ulong)ip_report_put_text(r, at, v))
IP_REPORT_TYPE(constant const void *, ip_report_pointer, (ulong)(uintptr_t)v)
IP_REPORT_TYPE(const volatile global void *, ip_report_pointer, (ulong)(uintptr_t)v)
IP_REPORT_TYPE(const volatile local void *, ip_report_pointer, (ulong)(uintptr_t)v)
IP_REPORT_TYPE(const volatile private void *, ip_report_pointer, (ulong)(uintptr_t)v)

/*
 * The preprocessor counts arguments, tens and ones, and then puts ones and tens into calls that stand in each other, so
 * that what is printed is one expression. 119 arguments and the format: C lets a macro have 127.
 */
#define IP_NINE_TO_0 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#define IP_TEN(t) t, t, t, t, t, t, t, t, t, t
#define IP_ONES_LEFT                                                                                                \
    IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, \
        IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0, IP_NINE_TO_0
#define IP_TENS_LEFT                                                                                                \
    IP_TEN(11), IP_TEN(10), IP_TEN(9), IP_TEN(8), IP_TEN(7), IP_TEN(6), IP_TEN(5), IP_TEN(4), IP_TEN(3), IP_TEN(2), \
        IP_TEN(1), IP_TEN(0)
#define IP_CHOSEN(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, \
                  p22, p23, p24, p25, p26, p27, p28, p29, p30, p31, p32, p33, p34, p35, p36, p37, p38, p39, p40, p41, \
                  p42, p43, p44, p45, p46, p47, p48, p49, p50, p51, p52, p53, p54, p55, p56, p57, p58, p59, p60, p61, \
                  p62, p63, p64, p65, p66, p67, p68, p69, p70, p71, p72, p73, p74, p75, p76, p77, p78, p79, p80, p81, \
                  p82, p83, p84, p85, p86, p87, p88, p89, p90, p91, p92, p93, p94, p95, p96, p97, p98, p99, p100,     \
                  p101, p102, p103, p104, p105, p106, p107, p108, p109, p110, p111, p112, p113, p114, p115, p116,     \
                  p117, p118, p119, chosen, ...)                                                                      \
    chosen
#define IP_CHOSEN_OF(...) IP_CHOSEN(__VA_ARGS__)
#define IP_ONES(...) IP_CHOSEN_OF(__VA_ARGS__, IP_ONES_LEFT, 0)
#define IP_TENS(...) IP_CHOSEN_OF(__VA_ARGS__, IP_TENS_LEFT, 0)

#define IP_ARG(at, a) ip_report_arg(imgpar_report, at, a)
#define IP_PASTED(a, b) a##b
#define IP_PASTE(a, b) IP_PASTED(a, b)
#define IP_ONES_0(tens, at, ...) IP_PASTE(IP_TENS_, tens)(at, __VA_ARGS__)
#define IP_ONES_1(tens, at, a, ...) IP_ONES_0(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_2(tens, at, a, ...) IP_ONES_1(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_3(tens, at, a, ...) IP_ONES_2(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_4(tens, at, a, ...) IP_ONES_3(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_5(tens, at, a, ...) IP_ONES_4(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_6(tens, at, a, ...) IP_ONES_5(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_7(tens, at, a, ...) IP_ONES_6(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_8(tens, at, a, ...) IP_ONES_7(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_ONES_9(tens, at, a, ...) IP_ONES_8(tens, IP_ARG(at, a), __VA_ARGS__)
#define IP_TENS_0(at, end) at
#define IP_TENS_1(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_0(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_2(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_1(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_3(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_2(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_4(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_3(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_5(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_4(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_6(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_5(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_7(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_6(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_8(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_7(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_9(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_8(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_10(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_9(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_TENS_11(at, a, b, c, d, e, f, g, h, i, j, ...) \
    IP_TENS_10(IP_TENTH(at, a, b, c, d, e, f, g, h, i, j), __VA_ARGS__)
#define IP_FIFTH(at, a, b, c, d, e) IP_ARG(IP_ARG(IP_ARG(IP_ARG(IP_ARG(at, a), b), c), d), e)
#define IP_TENTH(at, a, b, c, d, e, f, g, h, i, j) IP_FIFTH(IP_FIFTH(at, a, b, c, d, e), f, g, h, i, j)
#define IP_PRINT(tens, ones, format, ...) \
    ((void)IP_PASTE(IP_ONES_, ones)(      \
        tens, ip_report_begin(imgpar_report, ip_report_print, __LINE__, format, 10 * tens + ones), __VA_ARGS__))
#define imgpar_printf(...) IP_PRINT(IP_TENS(__VA_ARGS__), IP_ONES(__VA_ARGS__), __VA_ARGS__, 0)

/* ---- checks: the first that fails is told ---------------------------------------------------------- */

#if IMGPAR_CHECKED
static inline void ip_check_assert(volatile global int *r, bool holds, int line, constant const char *text)
{
    if (!holds && atomic_cmpxchg(&r[2], 0, 1) == 0) ip_report_begin(r, ip_report_assert, line, text, 0);
}

static inline long ip_check_index(volatile global int *r, long i, long n, int line, constant const char *text)
{
    if (i >= 0 && i < n) return i;
    if (atomic_cmpxchg(&r[2], 0, 1) == 0)
        ip_report_arg(r, ip_report_arg(r, ip_report_begin(r, ip_report_index, line, text, 2), i), n);
    return clamp(i, (long)0, max(n - 1, (long)0));
}

#define IP_CHECK_FINITE(T)                                                            \
    static inline T __attribute__((overloadable))                                     \
    ip_check_finite(volatile global int *r, T v, int line, constant const char *text) \
    {                                                                                 \
        if (!isfinite(v) && atomic_cmpxchg(&r[2], 0, 1) == 0)                         \
            ip_report_arg(r, ip_report_begin(r, ip_report_finite, line, text, 1), v); \
        return v;                                                                     \
    }
IP_CHECK_FINITE(float)
#if IMGPAR_HAS_F64
IP_CHECK_FINITE(double)
#endif

#define imgpar_assert(condition) ip_check_assert(imgpar_report, condition, __LINE__, __FILE__ "\n" #condition)
#define imgpar_check_index(i, n) ip_check_index(imgpar_report, i, n, __LINE__, __FILE__ "\n" #i)
#define imgpar_check_finite(x) ip_check_finite(imgpar_report, x, __LINE__, __FILE__ "\n" #x)
#else
#define imgpar_assert(condition) ((void)0)
#define imgpar_check_index(i, n) (i)
#define imgpar_check_finite(x) (x)
#endif
