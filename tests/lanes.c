/* SPDX-License-Identifier: MIT */
/*
 * A library between a program and libOpenCL (LD_PRELOAD) that runs kernels as a GPU would, lane by lane, and counts
 * what its memory would have to do. So what a kernel costs there is seen without such a device. lanes.sh uses it.
 *
 *     LD_PRELOAD="tests/.libs/limits.so tests/.libs/lanes.so" IMGPAR_TEST_LIMITS="gpu local=49152 ..."
 *     IMGPAR_TEST_LANES=FILE IMGPAR_TEST_LANES_CLANG=clang-15 IMGPAR_TEST_LANES_HELPERS=helpers.bc IMGPAR_CACHE=0 ...
 *
 * Each program is also compiled by clang for this processor, with a call before each load and store; helpers.bc is
 * PoCL's library of OpenCL's functions. Before a launch the groups run here, each work-item in a context of its own
 * that changes at barriers, on copies of the buffers; then the launch goes on to the device. One line is appended to
 * FILE for each launch:
 *
 *     kernel=NAME group=32x8 groups=40 local=1312 lines=1.08 sectors=1.02 banks=1.00 loads=7.1 private=0
 *
 *     local    bytes of local memory of a group
 *     lines    the lines of LINE bytes that each group touches, added up, by the lines that are touched at all: what is
 *              fetched twice, because several groups need it
 *     sectors  the sectors of SECTOR bytes that the lanes of a warp touch at once, by the fewest that hold their bytes
 *     banks    how often local memory must be asked for what the lanes of a warp want at once
 *     loads    accesses to local memory by accesses to global memory
 *     private  accesses to arrays of an item's own, which are memory, too
 *
 * Lanes that make the same access for the same time make it at once. Parameters, constants and buffers below SMALL
 * bytes are not counted. Launches with images, and larger ones than MOST_ITEMS, are not run here; their line says so.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT, dl_iterate_phdr */
#endif
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    WARP = 32,
    LINE = 128,
    SECTOR = 32,
    BANKS = 32,
    WORD = 4,
    SMALL = 2048,
    MOST_ITEMS = 1 << 20, /* of a launch */
    MOST_IN_GROUP = 1024,
    MOST_ARGS = 24,
    MOST_BUFFERS = 16,
    STACK = 64 << 10
};

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

static void *need(void *memory)
{
    if (!memory) abort();
    return memory;
}

/* ---- what the program made ------------------------------------------------------------ */

typedef struct program {
    cl_program id;
    char *text, *options;
    void *library; /* NULL: not compiled yet */
    struct program *next;
} program;

typedef struct argument {
    size_t size;
    const void *value; /* NULL: local memory */
    unsigned char bytes[16];
} argument;

typedef struct kernel {
    cl_kernel id;
    program *program;
    char name[256];
    argument args[MOST_ARGS];
    int n_args;
    struct kernel *next;
} kernel;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static program *programs;
static kernel *kernels;

/* The latest of that handle: handles are used again. */
static program *program_of(cl_program id)
{
    program *p = programs;
    while (p && p->id != id)
        p = p->next;
    return p;
}

static kernel *kernel_of(cl_kernel id)
{
    kernel *k = kernels;
    while (k && k->id != id)
        k = k->next;
    return k;
}

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
                                                              const size_t *lengths, cl_int *code)
{
    typedef cl_program (*function)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    cl_program id = ((function)next("clCreateProgramWithSource"))(context, n, texts, lengths, code);
    if (!id) return id;
    program *p = need(calloc(1, sizeof *p));
    size_t size;
    FILE *all = need(open_memstream(&p->text, &size));
    for (cl_uint k = 0; k < n; k++)
        fwrite(texts[k], 1, lengths && lengths[k] ? lengths[k] : strlen(texts[k]), all);
    fclose(all);
    p->id = id;
    pthread_mutex_lock(&lock);
    p->next = programs;
    programs = p;
    pthread_mutex_unlock(&lock);
    return id;
}

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program id, cl_uint n_devices, const cl_device_id *devices,
                                               const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                               void *data)
{
    typedef cl_int (*function)(cl_program, cl_uint, const cl_device_id *, const char *,
                               void(CL_CALLBACK *)(cl_program, void *), void *);
    pthread_mutex_lock(&lock);
    program *p = program_of(id);
    if (p && !p->options) p->options = need(strdup(options ? options : ""));
    pthread_mutex_unlock(&lock);
    return ((function)next("clBuildProgram"))(id, n_devices, devices, options, notify, data);
}

CL_API_ENTRY cl_kernel CL_API_CALL clCreateKernel(cl_program id, const char *name, cl_int *code)
{
    typedef cl_kernel (*function)(cl_program, const char *, cl_int *);
    cl_kernel made = ((function)next("clCreateKernel"))(id, name, code);
    if (!made) return made;
    kernel *k = need(calloc(1, sizeof *k));
    k->id = made;
    snprintf(k->name, sizeof k->name, "%s", name);
    pthread_mutex_lock(&lock);
    k->program = program_of(id);
    k->next = kernels;
    kernels = k;
    pthread_mutex_unlock(&lock);
    return made;
}

CL_API_ENTRY cl_int CL_API_CALL clSetKernelArg(cl_kernel id, cl_uint index, size_t size, const void *value)
{
    typedef cl_int (*function)(cl_kernel, cl_uint, size_t, const void *);
    pthread_mutex_lock(&lock);
    kernel *k = kernel_of(id);
    if (k && index < MOST_ARGS) {
        argument *a = &k->args[index];
        a->size = size;
        a->value = value ? a->bytes : NULL;
        if (value && size <= sizeof a->bytes) memcpy(a->bytes, value, size);
        if (k->n_args < (int)index + 1) k->n_args = (int)index + 1;
    }
    pthread_mutex_unlock(&lock);
    return ((function)next("clSetKernelArg"))(id, index, size, value);
}

/* ---- compiling for lanes ---------------------------------------------------------------- */

/* LLVM's version must be PoCL's; vectors and contraction would hide what an item does by itself. */
static const char command[] =
    "LD_PRELOAD= %s -w -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Xclang -ffake-address-space-map "
    "-Xclang -faddress-space-map-mangling=yes %s -target x86_64-pc-linux-gnu -mavx2 -mfma -mf16c -O2 -fno-vectorize "
    "-fno-slp-vectorize -ffp-contract=off -fsanitize-coverage=func,trace-pc,trace-loads,trace-stores "
    "-Xclang -mlink-builtin-bitcode -Xclang '%s' -fPIC -shared -nostdlib -o '%s' '%s' >&2";

static const char *clang(void) { return need(getenv("IMGPAR_TEST_LANES_CLANG")); }
static const char *helpers(void) { return need(getenv("IMGPAR_TEST_LANES_HELPERS")); }

static void *library_of(program *p)
{
    static int number;
    char source[512], library[512], line[4096];
    if (p->library) return p->library;
    const int length = (int)(strrchr(helpers(), '/') - helpers());
    snprintf(source, sizeof source, "%.*s/%d-%d.cl", length, helpers(), (int)getpid(), number);
    snprintf(library, sizeof library, "%.*s/%d-%d.so", length, helpers(), (int)getpid(), number++);
    FILE *f = need(fopen(source, "w"));
    fputs(p->text, f);
    fclose(f);
    snprintf(line, sizeof line, command, clang(), p->options ? p->options : "", helpers(), library, source);
    if (system(line) == 0) p->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!p->library) fprintf(stderr, "lanes: %s\n", dlerror());
    return p->library;
}

typedef struct range {
    const unsigned char *start, *end;
} range;

static bool is_in(const range *r, const void *p)
{
    return (const unsigned char *)p >= r->start && (const unsigned char *)p < r->end;
}

/* What a program has of local memory are its variables. */
typedef struct {
    const void *function;
    range found;
} search;

static int find_variables(struct dl_phdr_info *info, size_t size, void *user)
{
    search *s = user;
    bool is_it = false;
    range writable = { NULL, NULL };
    (void)size;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[k];
        const unsigned char *start = (const unsigned char *)(info->dlpi_addr + h->p_vaddr);
        const range all = { start, start + h->p_memsz };
        if (h->p_type != PT_LOAD) continue;
        if (is_in(&all, s->function)) is_it = true;
        if (h->p_flags & PF_W) writable = all;
    }
    if (is_it) s->found = writable;
    return is_it;
}

/* ---- running a group -------------------------------------------------------------------- */

typedef struct touch {
    const void *place; /* in the text */
    const unsigned char *address;
    unsigned char size;
} touch;

typedef struct item {
    ucontext_t context;
    char *stack;
    touch *touches;
    size_t n, capacity;
    uint64_t id[3];
    bool has_ended;
} item;

static struct {
    item items[MOST_IN_GROUP];
    item *running;
    ucontext_t here;
    void (*function)(void);
    uint64_t args[MOST_ARGS];
} group;

/* What PoCL's functions of work-items read. */
uint64_t _local_id_x, _local_id_y, _local_id_z, _group_id_x, _group_id_y, _group_id_z;
uint64_t _local_size_x, _local_size_y, _local_size_z, _num_groups_x, _num_groups_y, _num_groups_z;
uint64_t _global_offset_x, _global_offset_y, _global_offset_z;
uint32_t _work_dim = 3;

void barrier_of_pocl(void) __asm__("pocl.barrier");
void barrier_of_pocl(void) { swapcontext(&group.running->context, &group.here); }

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {}

static void note(const void *place, const void *address, int size)
{
    item *i = group.running;
    if (i->n == i->capacity) {
        i->capacity = i->capacity ? i->capacity * 2 : 1024;
        i->touches = need(realloc(i->touches, i->capacity * sizeof *i->touches));
    }
    i->touches[i->n++] = (touch){ place, address, (unsigned char)size };
}

#define NOTED(kind, size)                                   \
    void __sanitizer_cov_##kind##size(const void *address); \
    void __sanitizer_cov_##kind##size(const void *address) { note(__builtin_return_address(0), address, size); }
NOTED(load, 1)
NOTED(load, 2)
NOTED(load, 4)
NOTED(load, 8)
NOTED(load, 16)
NOTED(store, 1)
NOTED(store, 2)
NOTED(store, 4)
NOTED(store, 8)
NOTED(store, 16)

static void run_item(void)
{
    typedef void (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    const uint64_t *a = group.args;
    ((function)group.function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                               a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
    group.running->has_ended = true;
    swapcontext(&group.running->context, &group.here);
}

static void go_on(item *i)
{
    group.running = i;
    _local_id_x = i->id[0], _local_id_y = i->id[1], _local_id_z = i->id[2];
    swapcontext(&group.here, &i->context);
}

static void run_group(const size_t local[3])
{
    const int n = (int)(local[0] * local[1] * local[2]);
    for (int k = 0; k < n; k++) {
        item *i = &group.items[k];
        if (!i->stack) i->stack = need(malloc(STACK));
        i->n = 0;
        i->has_ended = false;
        i->id[0] = (size_t)k % local[0], i->id[1] = (size_t)k / local[0] % local[1];
        i->id[2] = (size_t)k / (local[0] * local[1]);
        getcontext(&i->context);
        i->context.uc_stack.ss_sp = i->stack;
        i->context.uc_stack.ss_size = STACK;
        i->context.uc_link = NULL;
        makecontext(&i->context, run_item, 0);
    }
    for (int left = n; left > 0;) {
        for (int k = 0; k < n; k++)
            if (!group.items[k].has_ended) {
                go_on(&group.items[k]);
                left -= group.items[k].has_ended;
            }
    }
}

/* ---- counting ----------------------------------------------------------------------------- */

typedef struct buffer {
    cl_mem mem;
    range all;
    uint32_t *touched; /* a number for each line: of the group that touched it last, from 1; 0: none did */
    bool is_counted;
} buffer;

typedef struct counts {
    buffer buffers[MOST_BUFFERS];
    int n_buffers;
    range local[MOST_ARGS + 1];
    int n_local;
    uint64_t lines, lines_of_groups;     /* touched at all; by group */
    uint64_t sectors, fewest_sectors;    /* by warps */
    uint64_t bank_rounds, bank_requests; /* by warps */
    uint64_t globals, locals, privates;  /* by items */
} counts;

/* What a warp's lanes do at once. */
typedef struct request {
    const void *place;
    uint32_t time; /* the how manieth of a lane at that place */
    int n, size;
    const unsigned char *addresses[WARP];
} request;

static struct {
    request *all;
    size_t n, capacity;
    uint32_t *table; /* of numbers in `all`, from 1 */
    size_t slots;
} warp;

static size_t hash_of(const void *place, uint32_t time)
{
    uint64_t h = (uint64_t)(uintptr_t)place * 0x9e3779b97f4a7c15u + time;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (size_t)(h ^ h >> 32);
}

static request *request_of(const void *place, uint32_t time, int size)
{
    size_t slot = hash_of(place, time) & (warp.slots - 1);
    for (; warp.table[slot]; slot = (slot + 1) & (warp.slots - 1)) {
        request *r = &warp.all[warp.table[slot] - 1];
        if (r->place == place && r->time == time) return r;
    }
    request *r = &warp.all[warp.n++];
    warp.table[slot] = (uint32_t)warp.n;
    r->place = place, r->time = time, r->n = 0, r->size = size;
    return r;
}

/* How often a lane has been at a place. */
static uint32_t time_at(const void *place, uint32_t lane)
{
    enum { PLACES = 4096 };
    static struct {
        const void *place;
        uint32_t lane, times;
    } seen[PLACES];
    size_t slot = hash_of(place, 0) % PLACES;
    for (int tries = 0; seen[slot].place != place && seen[slot].place; slot = (slot + 1) % PLACES)
        if (++tries == PLACES) abort();
    if (seen[slot].lane != lane || seen[slot].place != place) {
        seen[slot].place = place;
        seen[slot].lane = lane;
        seen[slot].times = 0;
    }
    return seen[slot].times++;
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* The distinct units of `unit` bytes that a request touches, in order: how many. */
static int units_of(const request *r, int unit, uintptr_t units[WARP * 16])
{
    int n = 0, distinct = 0;
    for (int k = 0; k < r->n; k++) {
        const uintptr_t first = (uintptr_t)r->addresses[k] / (unsigned)unit;
        const uintptr_t last = ((uintptr_t)r->addresses[k] + (unsigned)r->size - 1) / (unsigned)unit;
        for (uintptr_t u = first; u <= last; u++)
            units[n++] = u;
    }
    qsort(units, (size_t)n, sizeof *units, by_address);
    for (int k = 0; k < n; k++)
        if (k == 0 || units[k] != units[k - 1]) units[distinct++] = units[k];
    return distinct;
}

/* Words of more than four bytes are served to half a warp, or a quarter. */
static void count_banks(counts *c, const request *r)
{
    uintptr_t words[WARP * 16];
    const int lanes = r->size <= WORD ? WARP : WARP * WORD / r->size;
    for (int first = 0; first < r->n; first += lanes) {
        int used[BANKS] = { 0 }, most = 0;
        request part = *r;
        part.n = r->n - first < lanes ? r->n - first : lanes;
        memcpy(part.addresses, r->addresses + first, (size_t)part.n * sizeof *part.addresses);
        const int n = units_of(&part, WORD, words);
        for (int k = 0; k < n; k++) {
            const int ways = ++used[words[k] % BANKS];
            if (ways > most) most = ways;
        }
        c->bank_rounds += (uint64_t)most;
        c->bank_requests++;
    }
}

static void count_global(counts *c, buffer *b, const request *r, uint32_t number)
{
    uintptr_t units[WARP * 16];
    if (!b->is_counted) return;
    const int bytes = units_of(r, 1, units);
    c->fewest_sectors += (uint64_t)(bytes + SECTOR - 1) / SECTOR;
    c->sectors += (uint64_t)units_of(r, SECTOR, units);
    c->globals += (uint64_t)r->n;
    const int n = units_of(r, LINE, units);
    for (int k = 0; k < n; k++) {
        uint32_t *touched = &b->touched[units[k] - (uintptr_t)b->all.start / LINE];
        if (*touched == number) continue;
        c->lines += *touched == 0;
        c->lines_of_groups++;
        *touched = number;
    }
}

static void count_request(counts *c, const request *r, uint32_t number)
{
    for (int k = 0; k < c->n_buffers; k++)
        if (is_in(&c->buffers[k].all, r->addresses[0])) {
            count_global(c, &c->buffers[k], r, number);
            return;
        }
    for (int k = 0; k < c->n_local; k++)
        if (is_in(&c->local[k], r->addresses[0])) {
            count_banks(c, r);
            c->locals += (uint64_t)r->n;
            return;
        }
    for (int k = 0; k < MOST_IN_GROUP && group.items[k].stack; k++) {
        const unsigned char *stack = (const unsigned char *)group.items[k].stack;
        if (is_in(&(range){ stack, stack + STACK }, r->addresses[0])) c->privates += (uint64_t)r->n;
    }
}

static void count_warp(counts *c, int first, int n, uint32_t number)
{
    static uint32_t lane;
    size_t touches = 1;
    for (int k = first; k < n && k < first + WARP; k++)
        touches += group.items[k].n;
    if (touches * 2 > warp.slots) {
        while (warp.slots < touches * 2)
            warp.slots = warp.slots ? warp.slots * 2 : 1024;
        warp.table = need(realloc(warp.table, warp.slots * sizeof *warp.table));
    }
    if (touches > warp.capacity) {
        warp.capacity = touches;
        warp.all = need(realloc(warp.all, warp.capacity * sizeof *warp.all));
    }
    memset(warp.table, 0, warp.slots * sizeof *warp.table);
    warp.n = 0;
    for (int k = first; k < n && k < first + WARP; k++) {
        lane++;
        for (size_t a = 0; a < group.items[k].n; a++) {
            const touch *x = &group.items[k].touches[a];
            request *r = request_of(x->place, time_at(x->place, lane), x->size);
            r->addresses[r->n++] = x->address;
        }
    }
    for (size_t k = 0; k < warp.n; k++)
        count_request(c, &warp.all[k], number);
}

/* ---- a launch ------------------------------------------------------------------------------ */

/* The bytes of a buffer, from the start of a line on. */
static buffer *copy_of(counts *c, cl_command_queue queue, cl_mem mem)
{
    size_t bytes = 0;
    for (int k = 0; k < c->n_buffers; k++)
        if (c->buffers[k].mem == mem) return &c->buffers[k];
    if (c->n_buffers == MOST_BUFFERS || clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL)) return NULL;
    const size_t whole = (bytes + 4 * LINE - 1) / LINE * LINE;
    unsigned char *copy = need(aligned_alloc(LINE, whole));
    buffer *b = &c->buffers[c->n_buffers++];
    *b = (buffer){ .mem = mem, .all = { copy, copy + whole }, .is_counted = bytes >= SMALL };
    b->touched = need(calloc(whole / LINE, sizeof *b->touched));
    return clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, bytes, copy, 0, NULL, NULL) ? NULL : b;
}

static bool is_buffer(cl_mem mem)
{
    cl_mem_object_type type = 0;
    return clGetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL) == CL_SUCCESS && type == CL_MEM_OBJECT_BUFFER;
}

/* False: it has images, or more than is told here. The last buffer holds the parameters. */
static bool bind(const kernel *k, cl_command_queue queue, counts *c, size_t *local_bytes)
{
    buffer *last = NULL;
    for (int i = 0; i < k->n_args; i++) {
        const argument *a = &k->args[i];
        cl_mem mem;
        group.args[i] = 0;
        if (!a->value) {
            unsigned char *memory = need(aligned_alloc(LINE, (a->size + LINE - 1) / LINE * LINE));
            c->local[c->n_local++] = (range){ memory, memory + a->size };
            *local_bytes += a->size;
            group.args[i] = (uint64_t)(uintptr_t)memory;
            continue;
        }
        if (a->size > 8) return false;
        memcpy(&group.args[i], a->bytes, a->size);
        memcpy(&mem, a->bytes, sizeof mem);
        if (a->size < 8 || (uintptr_t)mem < 4096) continue;
        if (!is_buffer(mem) || !(last = copy_of(c, queue, mem))) return false;
        group.args[i] = (uint64_t)(uintptr_t)last->all.start;
    }
    if (last) last->is_counted = false;
    return true;
}

static void unbind(counts *c)
{
    for (int k = 0; k < c->n_buffers; k++) {
        free((void *)(uintptr_t)c->buffers[k].all.start);
        free(c->buffers[k].touched);
    }
    for (int k = 1; k < c->n_local; k++)
        free((void *)(uintptr_t)c->local[k].start);
}

static double share(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static void run_launch(kernel *k, cl_command_queue queue, const size_t global[3], const size_t local[3], FILE *log)
{
    counts c = { .n_local = 1 };
    const size_t n = local[0] * local[1] * local[2];
    size_t local_bytes = 0, groups[3];
    for (int d = 0; d < 3; d++)
        groups[d] = global[d] / local[d];
    fprintf(log, "kernel=%s group=%zux%zu groups=%zu ", k->name, local[0], local[1] * local[2],
            groups[0] * groups[1] * groups[2]);
    void *library = k->program ? library_of(k->program) : NULL;
    *(void **)&group.function = library ? dlsym(library, k->name) : NULL;
    search s = { .function = *(void **)&group.function };
    if (n > MOST_IN_GROUP || global[0] * global[1] * global[2] > MOST_ITEMS || !s.function ||
        !bind(k, queue, &c, &local_bytes)) {
        fprintf(log, "left out\n");
        unbind(&c);
        return;
    }
    dl_iterate_phdr(find_variables, &s);
    c.local[0] = s.found;
    cl_ulong all_local = local_bytes;
    cl_device_id device;
    if (!clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL))
        clGetKernelWorkGroupInfo(k->id, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof all_local, &all_local, NULL);
    _local_size_x = local[0], _local_size_y = local[1], _local_size_z = local[2];
    _num_groups_x = groups[0], _num_groups_y = groups[1], _num_groups_z = groups[2];
    uint32_t number = 0;
    for (_group_id_z = 0; _group_id_z < groups[2]; _group_id_z++)
        for (_group_id_y = 0; _group_id_y < groups[1]; _group_id_y++)
            for (_group_id_x = 0; _group_id_x < groups[0]; _group_id_x++) {
                run_group(local);
                number++;
                for (size_t first = 0; first < n; first += WARP)
                    count_warp(&c, (int)first, (int)n, number);
            }
    fprintf(log, "local=%llu lines=%.3f sectors=%.3f banks=%.3f loads=%.2f private=%llu\n",
            (unsigned long long)all_local, share(c.lines_of_groups, c.lines), share(c.sectors, c.fewest_sectors),
            share(c.bank_rounds, c.bank_requests), share(c.locals, c.globals), (unsigned long long)c.privates);
    unbind(&c);
}

/* A launch that leaves its groups to the device gets those of a warp. */
CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel id, cl_uint dims,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint n_waits, const cl_event *waits, cl_event *event)
{
    typedef cl_int (*function)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                               cl_uint, const cl_event *, cl_event *);
    size_t all[3] = { 1, 1, 1 }, each[3] = { 1, 1, 1 };
    const char *path = getenv("IMGPAR_TEST_LANES");
    FILE *log = path ? fopen(path, "a") : NULL;
    for (cl_uint d = 0; d < dims; d++) {
        all[d] = global[d];
        each[d] = local ? local[d] : 1;
    }
    if (!local) each[0] = all[0] < WARP ? all[0] : WARP;
    all[0] = (all[0] + each[0] - 1) / each[0] * each[0];
    if (log && n_waits > 0) clWaitForEvents(n_waits, waits);
    if (log) clFinish(queue);
    pthread_mutex_lock(&lock);
    kernel *k = kernel_of(id);
    if (log && k && !offset) run_launch(k, queue, all, each, log);
    pthread_mutex_unlock(&lock);
    if (log) fclose(log);
    return ((function)next("clEnqueueNDRangeKernel"))(queue, id, dims, offset, global, local, n_waits, waits, event);
}
