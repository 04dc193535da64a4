/* SPDX-License-Identifier: MIT */
/*
 * Programs: found in memory, found on disk, or built. In memory the cache keeps the MAX_PROGRAMS used last; a program
 * that somebody holds outlives its place.
 *
 * Note [One build]
 * A program is listed before it is built, in the state RUNNING, so that whoever wants the same one finds it and waits
 * for its state to change instead of building it again. A failed one leaves the list, so that the next request tries
 * again; those who waited get its error.
 */
#include "run/cachefile.h"
#include "run/device_impl.h"
#include "run/needed.h"
#include "run/pocl_files.h"
#include "run/shaders.h"

#include "base/str.h"

#include <string.h>
#include <unistd.h>

enum { MAX_PROGRAMS = 256, MAX_LOG = 600 };

imgpar_status ip_cache_start(ip_cache *cache, ip_error *err)
{
    *cache = (ip_cache){ .programs = NULL };
    if (pthread_mutex_init(&cache->lock, NULL) != 0) return ip_fail_memory(err, "opening a device");
    if (pthread_cond_init(&cache->built, NULL) == 0) return IMGPAR_OK;
    pthread_mutex_destroy(&cache->lock);
    return ip_fail_memory(err, "opening a device");
}

static void destroy(ip_program *program)
{
    if (program->program) clReleaseProgram(program->program);
    ip_free(program->identity);
    ip_free(program);
}

void ip_cache_end(ip_cache *cache)
{
    for (ip_program *p = cache->programs, *next; p; p = next) {
        next = p->next;
        destroy(p);
    }
    pthread_cond_destroy(&cache->built);
    pthread_mutex_destroy(&cache->lock);
}

/* ---- building ------------------------------------------------------------------------ */

/* "clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11): the log's beginning". */
static imgpar_status fail_build(const ip_device *device, cl_program program, cl_int code, ip_error *err)
{
    size_t n = 0;
    char *log = NULL;
    if (!IP_CL(clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n))) log = ip_zalloc(n + 1);
    if (log && IP_CL(clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, n, log, NULL))) *log = '\0';
    if (log && strlen(log) > MAX_LOG) strcpy(log + MAX_LOG - 4, " ...");
    for (size_t end = log ? strlen(log) : 0; end > 0 && strchr(" \n\r\t", log[end - 1]); end--)
        log[end - 1] = '\0';
    imgpar_status st = ip_cl_fail(err, code, "clBuildProgram", log && *log ? log : NULL);
    ip_free(log);
    return st;
}

/* Out of memory and a lost device are no faults of the source. */
static bool is_compile_error(cl_int code)
{
    imgpar_status st = ip_cl_status(code);
    return st == IMGPAR_E_COMPILE || st == IMGPAR_E_INTERNAL;
}

/*
 * Note [Declarations]
 * PoCL 3 begins each program with clang's opencl-c.h, 14,505 declarations, which it preprocesses and parses each time:
 * 80 ms of the 210 that building a program takes on C, its kernels' machine code apart. A program calls a few dozen
 * functions. So its include guard, _OPENCL_H_, is defined, and shaders/builtins.cl declares what our texts call, each
 * function with all of its overloads, so that a call means what it means with the header. Of these declarations, of the
 * overloads for vectors and of the helpers only those stand in a program that it names (run/needed.c): building takes
 * half the time then, 110 ms instead of 225 on a busy machine. What is missing can only make a build fail. The
 * identity of a program is its whole text. One that does not compile so is built with the header: it calls another
 * function, or its log is what a person will read. Where it then compiles, so are all later ones of the device: clang
 * tells the process's standard error of each failure.
 * The tests set IMGPAR_BUILTINS=declared, with which such a program fails: what our texts call is to be declared.
 */
static const char no_header[] = " -D_OPENCL_H_";

/* Texts of ours begin with the helpers. In others, which people wrote, and for images any function may be called, and
 * what clang tells on standard error of a build that failed is not to be told twice. */
static bool declares(const ip_device *device, const char *source, const char *options)
{
    const char *helpers = ip_shader_text("helpers");
    return device->facts.declares_builtins && !atomic_load(&device->needs_header) &&
           strstr(options, "-cl-std=CL1.2 ") && strncmp(source, helpers, strlen(helpers)) == 0 &&
           !strstr(source, "image2d_t");
}

/* *code: what clBuildProgram() said, if it was called. */
static imgpar_status build_text(ip_device *device, const char *text, const char *options, cl_program *out, cl_int *code,
                                ip_error *err)
{
    cl_int made;
    *code = CL_SUCCESS;
    cl_program program = ip_cl_may(&made) ? clCreateProgramWithSource(device->context, 1, &text, NULL, &made) : NULL;
    if (made) return ip_cl_fail(err, made, "clCreateProgramWithSource", NULL);
    *code = IP_CL(clBuildProgram(program, 1, &device->id, options, NULL, NULL));
    if (*code == CL_SUCCESS) {
        *out = program;
        return IMGPAR_OK;
    }
    imgpar_status st = is_compile_error(*code) ? fail_build(device, program, *code, err)
                                               : ip_cl_fail(err, *code, "clBuildProgram", NULL);
    clReleaseProgram(program);
    return st;
}

static imgpar_status build_source(ip_device *device, const char *source, const char *options, cl_program *out,
                                  ip_error *err)
{
    cl_int code = CL_BUILD_PROGRAM_FAILURE;
    imgpar_status st = IMGPAR_E_COMPILE;
    const bool is_declared = declares(device, source, options);
    if (is_declared) {
        ip_error ignored = { IMGPAR_OK, "" };
        char *needed = ip_needed_text(source);
        ip_str all = IP_STR_INIT;
        ip_str_printf(&all, "%s%s", options, no_header);
        char *with = ip_str_take(&all);
        const bool is_whole = needed && with;
        if (is_whole) st = build_text(device, needed, with, out, &code, &ignored);
        ip_free(needed);
        ip_free(with);
        if (!is_whole) return ip_fail_memory(err, "building a program");
        const char *only = ip_env("IMGPAR_BUILTINS");
        if (st && (code != CL_BUILD_PROGRAM_FAILURE || (only && strcmp(only, "declared") == 0)))
            return ip_fail(err, st, "%s", ignored.message);
    }
    if (!st) return IMGPAR_OK;
    st = build_text(device, source, options, out, &code, err);
    if (!st && is_declared) atomic_store(&device->needs_header, true);
    return st;
}

/* From the disk; NULL when it is not there or the driver does not want it. */
static cl_program build_stored(ip_device *device, const ip_program *p, const char *options)
{
    void *binary;
    size_t n;
    cl_int code;
    if (!ip_cachefile_load(IP_CACHEFILE_PROGRAM, p->key, p->identity, p->identity_bytes, &binary, &n)) return NULL;
    const unsigned char *bytes = binary;
    if (device->facts.is_pocl) ip_pocl_files_mend(binary, n);
    cl_program program =
        ip_cl_may(&code) ? clCreateProgramWithBinary(device->context, 1, &device->id, &n, &bytes, NULL, &code) : NULL;
    if (!code) code = IP_CL(clBuildProgram(program, 1, &device->id, options, NULL, NULL));
    ip_free(binary);
    if (!code) return program;
    if (program) clReleaseProgram(program);
    return NULL;
}

/* Whether asking for its binary compiles nothing that is not launched anyway. */
static bool is_cheap_to_keep(const ip_program *p)
{
    size_t n_kernels = 0;
    if (!p->device->keeps_few_kernels) return true;
    return !IP_CL(clGetProgramInfo(p->program, CL_PROGRAM_NUM_KERNELS, sizeof n_kernels, &n_kernels, NULL)) &&
           n_kernels <= 2;
}

/* With the program, what was spent without it is of no use. False: it cannot be kept. */
static bool store(const ip_program *p)
{
    size_t n = 0;
    bool stored = false;
    if (IP_CL(clGetProgramInfo(p->program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL)) || n == 0) return false;
    unsigned char *binary = ip_alloc(n);
    if (binary && !IP_CL(clGetProgramInfo(p->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL)))
        stored = ip_cachefile_store(IP_CACHEFILE_PROGRAM, p->key, p->identity, p->identity_bytes, binary, n);
    if (stored) ip_cachefile_remove(IP_CACHEFILE_SPENT, p->key);
    ip_free(binary);
    return stored;
}

/* Everything between the two changes of state; needs no lock. */
static imgpar_status build(ip_program *p, const char *source, const char *options, bool *compiled, ip_error *err)
{
    ip_device *device = p->device;
    if (device->keeps_programs_on_disk) p->program = build_stored(device, p, options);
    if (p->program) {
        atomic_fetch_add_explicit(&device->loads, 1, memory_order_relaxed);
        return IMGPAR_OK;
    }

    *compiled = true;
    atomic_fetch_add_explicit(&device->builds, 1, memory_order_relaxed);
    imgpar_status st = build_source(device, source, options, &p->program, err);
    if (!st && device->keeps_programs_on_disk && is_cheap_to_keep(p)) store(p);
    return st;
}

/* ---- the list ------------------------------------------------------------------------- */

/* What the device is given besides the caller's options. */
static char *full_options(const ip_device *device, const char *options)
{
    ip_str s = IP_STR_INIT;
    ip_str_append(&s, options && strstr(options, "-cl-std=") ? "-w" : "-cl-std=CL1.2 -w");
    if (device->facts.reports_exact_division) ip_str_append(&s, " -cl-fp32-correctly-rounded-divide-sqrt");
    if (options && *options) ip_str_printf(&s, " %s", options);
    return ip_str_take(&s);
}

static ip_program *new_program(ip_device *device, const char *source, const char *options)
{
    const imgpar_device *info = &device->facts.info;
    ip_program *p = ip_zalloc(sizeof *p);
    ip_str s = IP_STR_INIT;
    ip_str_printf(&s, "%s\n%s\n%s\n%s\n%s\n", info->platform, info->name, info->version, info->driver, options);
    ip_str_append(&s, source);
    size_t n = s.length;
    char *identity = ip_str_take(&s);
    if (!p || !identity) {
        ip_free(p);
        ip_free(identity);
        return NULL;
    }
    p->device = device;
    p->identity = identity;
    p->identity_bytes = n;
    p->key = ip_hash128_bytes((ip_hash128){ 0, 0 }, identity, n);
    p->refs = 1;
    return p;
}

static bool is_same(const ip_program *a, const ip_program *b)
{
    return a->key.a == b->key.a && a->key.b == b->key.b && a->identity_bytes == b->identity_bytes &&
           memcmp(a->identity, b->identity, a->identity_bytes) == 0;
}

static void list_first(ip_cache *cache, ip_program *p)
{
    p->next = cache->programs;
    p->is_listed = true;
    cache->programs = p;
    cache->n++;
}

static void unlist(ip_cache *cache, ip_program *p)
{
    ip_program **link = &cache->programs;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    p->is_listed = false;
    cache->n--;
}

/* The listed program equal to like, moved to the front; NULL: there is none. */
static ip_program *find(ip_cache *cache, const ip_program *like)
{
    for (ip_program *p = cache->programs; p; p = p->next) {
        if (!is_same(p, like)) continue;
        unlist(cache, p);
        list_first(cache, p);
        return p;
    }
    return NULL;
}

/* Frees the program that was not used for longest and that nobody holds, if there are too many. */
static void evict(ip_cache *cache)
{
    ip_program *last = NULL;
    if (cache->n <= MAX_PROGRAMS) return;
    for (ip_program *p = cache->programs; p; p = p->next)
        if (p->refs == 0) last = p;
    if (!last) return;
    unlist(cache, last);
    destroy(last);
}

/* Gives a reference back. The cache is locked. */
static void unref(ip_program *p)
{
    if (--p->refs == 0 && !p->is_listed) destroy(p);
}

/* Waits until somebody else's build of p is over. The cache is locked. */
static imgpar_status wait_for(ip_cache *cache, ip_program *p, ip_error *err)
{
    while (p->state == IP_BUILD_RUNNING)
        pthread_cond_wait(&cache->built, &cache->lock);
    if (p->state == IP_BUILD_DONE) return IMGPAR_OK;
    imgpar_status st = ip_fail(err, p->error.status, "%s", p->error.message);
    unref(p);
    return st;
}

/* Builds the listed program p, which nobody else builds. */
static imgpar_status build_listed(ip_cache *cache, ip_program *p, const char *source, const char *options,
                                  bool *compiled, ip_error *err)
{
    ip_error why = { .status = IMGPAR_OK };
    imgpar_status st = build(p, source, options, compiled, &why);
    pthread_mutex_lock(&cache->lock);
    p->state = st ? IP_BUILD_FAILED : IP_BUILD_DONE;
    if (st) {
        ip_fail(err, st, "%s", why.message);
        p->error = why;
        unlist(cache, p);
        unref(p);
    }
    pthread_cond_broadcast(&cache->built);
    pthread_mutex_unlock(&cache->lock);
    return st;
}

imgpar_status ip_program_get(ip_device *device, const char *source, const char *options, ip_program **out, bool *built,
                             ip_error *err)
{
    ip_cache *cache = &device->cache;
    bool compiled = false;
    imgpar_status st = IMGPAR_OK;
    *out = NULL;
    char *all_options = full_options(device, options);
    ip_program *fresh = all_options ? new_program(device, source, all_options) : NULL;
    if (!fresh) {
        st = ip_fail_memory(err, "building a program");
        goto out;
    }
    pthread_mutex_lock(&cache->lock);
    ip_program *p = find(cache, fresh);
    if (p) {
        p->refs++;
        st = wait_for(cache, p, err);
    } else {
        list_first(cache, fresh);
        evict(cache);
    }
    pthread_mutex_unlock(&cache->lock);
    if (p) {
        destroy(fresh);
    } else {
        p = fresh;
        st = build_listed(cache, p, source, all_options, &compiled, err);
    }
    if (!st) {
        ip_device_hold(device);
        *out = p;
    }
out:
    if (built) *built = compiled;
    ip_free(all_options);
    return st;
}

/*
 * Note [Work spent without a program]
 * What evaluations do without a program, because compiling it would take longer, is summed up on disk beside programs.
 * A sum is read again after it was written: where nothing can be kept, nobody would ever learn that compiling pays by
 * now. Two processes at once may lose one of two additions.
 */
static double spent_without(const ip_program *p)
{
    void *found;
    size_t n;
    double spent = 0;
    if (!ip_cachefile_load(IP_CACHEFILE_SPENT, p->key, p->identity, p->identity_bytes, &found, &n)) return 0;
    if (n == sizeof spent) memcpy(&spent, found, sizeof spent);
    ip_free(found);
    return spent;
}

/* Whether the program is in memory, or is being built. */
static bool is_listed(ip_cache *cache, const ip_program *like)
{
    pthread_mutex_lock(&cache->lock);
    bool found = false;
    for (const ip_program *p = cache->programs; p && !found; p = p->next)
        found = is_same(p, like);
    pthread_mutex_unlock(&cache->lock);
    return found;
}

/* The program as it is named, not built; NULL without memory. */
static ip_program *named(ip_device *device, const char *source, const char *options)
{
    char *all_options = full_options(device, options);
    ip_program *p = all_options ? new_program(device, source, all_options) : NULL;
    ip_free(all_options);
    return p;
}

ip_absence ip_program_absence(ip_device *device, const char *source, const char *options, double *spent)
{
    ip_program *p = device->keeps_programs_on_disk ? named(device, source, options) : NULL;
    ip_absence absence = IP_PROGRAM_UNKNOWN;
    if (p) {
        bool is_there =
            is_listed(&device->cache, p) || ip_cachefile_has(IP_CACHEFILE_PROGRAM, p->key, p->identity_bytes);
        absence = is_there ? IP_PROGRAM_PRESENT : IP_PROGRAM_MISSING;
        *spent = is_there ? 0 : spent_without(p);
        destroy(p);
    }
    return absence;
}

bool ip_program_charge(ip_device *device, const char *source, const char *options, double work)
{
    ip_program *p = named(device, source, options);
    bool charged = false;
    if (p) {
        const double spent = spent_without(p) + work;
        charged =
            ip_cachefile_store(IP_CACHEFILE_SPENT, p->key, p->identity, p->identity_bytes, &spent, sizeof spent) &&
            spent_without(p) >= work;
        destroy(p);
    }
    return charged;
}

bool ip_program_leave_pending(ip_device *device, const char *source, const char *options)
{
    ip_program *p = named(device, source, options);
    bool left = false;
    if (p) {
        if (ip_cachefile_has(IP_CACHEFILE_PENDING, p->key, p->identity_bytes)) {
            const int lock = ip_cachefile_lock_pending(); /* who holds it comes to it */
            left = lock >= 0;
            if (left) close(lock);
        } else {
            left = ip_cachefile_store(IP_CACHEFILE_PENDING, p->key, p->identity, p->identity_bytes, "", 1);
        }
        destroy(p);
    }
    return left;
}

/* What follows the device in an identity; NULL: it is another device. */
static const char *after_device(const imgpar_device *info, const char *identity)
{
    const char *const lines[] = { info->platform, info->name, info->version, info->driver };
    for (size_t k = 0; identity && k < sizeof lines / sizeof *lines; k++) {
        size_t n = strlen(lines[k]);
        identity = strncmp(identity, lines[k], n) == 0 && identity[n] == '\n' ? identity + n + 1 : NULL;
    }
    return identity;
}

bool ip_program_is_for(const imgpar_device *info, const char *identity) { return after_device(info, identity) != NULL; }

bool ip_program_compile_pending(ip_device *device, const char *identity)
{
    const char *options = after_device(&device->facts.info, identity), *end = options ? strchr(options, '\n') : NULL;
    if (!end || !device->keeps_programs_on_disk) return false;
    ip_str s = IP_STR_INIT;
    ip_str_append_n(&s, options, (size_t)(end - options));
    char *all_options = ip_str_take(&s);
    ip_program *p = all_options ? new_program(device, end + 1, all_options) : NULL;
    bool compiled = false;
    ip_error ignored = { IMGPAR_OK, "" };
    if (p) {
        compiled = !ip_cachefile_has(IP_CACHEFILE_PROGRAM, p->key, p->identity_bytes) &&
                   !build_source(device, end + 1, all_options, &p->program, &ignored) && store(p);
        destroy(p);
    }
    ip_free(all_options);
    return compiled;
}

void ip_program_release(ip_program *program)
{
    if (!program) return;
    ip_device *device = program->device;
    if (ip_device_is_of_the_parent(device)) return;
    pthread_mutex_lock(&device->cache.lock);
    unref(program);
    pthread_mutex_unlock(&device->cache.lock);
    ip_device_drop(device);
}
