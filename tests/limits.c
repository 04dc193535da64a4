/* SPDX-License-Identifier: MIT */
/*
 * A library between a program and libOpenCL (LD_PRELOAD) that makes a device say that it is smaller than it is, and
 * refuses what such a device would refuse. So what is chosen by a device's limits is tested without such a device.
 *
 *     LD_PRELOAD=tests/.libs/limits.so IMGPAR_TEST_LIMITS="gpu local=16384 group=64 memory=33554432 no-images no-f64"
 *     ...
 *
 *     gpu         the device is a GPU with memory of its own
 *     local=N     bytes of local memory; a kernel that wants more cannot be launched
 *     group=N     work-items of a group, whatever the kernel; a launch with more is refused
 *     registers=N work-items of a group that any kernel may have, though the device says more
 *     memory=N    bytes of device memory; all buffers that live at once fit in it or clCreateBuffer fails
 *     no-images   no image support
 *     no-f64      no double precision: "double" does not compile
 *     sub-groups  sub-groups, each work-item one of its own
 *     shuffles    they have shuffles and ballots, too
 *     unoptimized programs are compiled without optimization, which takes half as long
 *     plain-vectors
 *                 programs are not told that the processor has AVX-512 VNNI and VBMI (run/launch.c)
 *     half-vectors
 *                 and they do not see AVX-512, but AVX2
 *
 * Writes nothing. What it refuses is refused with the status that OpenCL gives it.
 */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The function of that name in the library behind this one. */
static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

/* The number behind "word=" in the list of limits; 0: there is none. */
static size_t limit(const char *word)
{
    const char *list = getenv("IMGPAR_TEST_LIMITS"), *at = list ? strstr(list, word) : NULL;
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* Of a group of any kernel; 0: as many as there are. */
static size_t most_items(void)
{
    size_t of_device = limit("group="), of_kernels = limit("registers=");
    return of_kernels ? of_kernels : of_device;
}

static int has(const char *word)
{
    const char *list = getenv("IMGPAR_TEST_LIMITS");
    return list && strstr(list, word);
}

/* ---- programs ----------------------------------------------------------------------------- */

static const char sub_groups[] =
    "#define sub_group_reduce_add(x) (x)\n"
    "#define sub_group_reduce_min(x) (x)\n"
    "#define sub_group_reduce_max(x) (x)\n"
    "#define get_sub_group_local_id() 0u\n"
    "#define get_sub_group_id() \\\n"
    "    ((uint)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))))\n"
    "#define get_num_sub_groups() ((uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)))\n"
    "#define get_sub_group_size() 1u\n"
    "#define sub_group_shuffle(x, i) (x)\n"
    "#define sub_group_ballot(b) ((uint4)((b) ? 1 : 0, 0, 0, 0))\n";

static const char no_doubles[] = "#define double no_double_on_this_device\n";
static const char half_vectors[] = "#undef __AVX512BW__\n";

enum { MOST_TEXTS = 8, MOST_OPTIONS = 4096 };

CL_API_ENTRY cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
                                                              const size_t *lengths, cl_int *code)
{
    typedef cl_program (*function)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    const char *first = has("no-f64") ? no_doubles : has("half-vectors") ? half_vectors : sub_groups;
    const char *all[MOST_TEXTS + 1] = { first };
    size_t sizes[MOST_TEXTS + 1] = { 0 };
    if (!(has("sub-groups") || has("no-f64") || has("half-vectors")) || n > MOST_TEXTS)
        return ((function)next("clCreateProgramWithSource"))(context, n, texts, lengths, code);
    for (cl_uint k = 0; k < n; k++) {
        all[k + 1] = texts[k];
        sizes[k + 1] = lengths ? lengths[k] : 0; /* 0: to its end */
    }
    return ((function)next("clCreateProgramWithSource"))(context, n + 1, all, sizes, code);
}

/* Puts blanks in the place of a word, wherever it stands. */
static void blank(char *list, const char *word)
{
    for (char *at = strstr(list, word); at; at = strstr(at, word))
        memset(at, ' ', strlen(word));
}

CL_API_ENTRY cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n_devices, const cl_device_id *devices,
                                               const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                               void *data)
{
    typedef cl_int (*function)(cl_program, cl_uint, const cl_device_id *, const char *,
                               void(CL_CALLBACK *)(cl_program, void *), void *);
    char all[MOST_OPTIONS];
    const int n =
        snprintf(all, sizeof all, "%s%s", options ? options : "", has("unoptimized") ? " -cl-opt-disable" : "");
    if (n >= (int)sizeof all) return CL_OUT_OF_HOST_MEMORY;
    if (has("plain-vectors") || has("half-vectors")) {
        blank(all, "-DIP_ADDS_PRODUCTS");
        blank(all, "-DIP_PERMUTES_BYTES");
    }
    options = all;
    return ((function)next("clBuildProgram"))(program, n_devices, devices, options, notify, data);
}

/* ---- what the device says ------------------------------------------------------------- */

static void lower_to(void *value, size_t size, size_t most)
{
    cl_ulong wide = 0;
    if (!most || !value || size > sizeof wide) return;
    memcpy(&wide, value, size);
    if (wide > most) wide = most;
    memcpy(value, &wide, size);
}

/* Puts a word, or nothing, in the place of one of a list that is as long or longer. */
static void replace(char *list, const char *word, const char *by)
{
    char *at = strstr(list, word);
    if (!at) return;
    memset(at, ' ', strlen(word));
    memcpy(at, by, strlen(by));
}

CL_API_ENTRY cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value,
                                                size_t *size_ret)
{
    typedef cl_int (*function)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    cl_int code = ((function)next("clGetDeviceInfo"))(device, what, size, value, size_ret);
    if (code || !value) return code;
    switch (what) {
    case CL_DEVICE_TYPE:
        if (has("gpu")) *(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
        break;
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        if (has("gpu")) *(cl_bool *)value = CL_FALSE;
        break;
    case CL_DEVICE_LOCAL_MEM_SIZE: lower_to(value, sizeof(cl_ulong), limit("local=")); break;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: lower_to(value, sizeof(size_t), limit("group=")); break;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: lower_to(value, sizeof(cl_ulong), limit("memory=")); break;
    case CL_DEVICE_IMAGE_SUPPORT:
        if (has("no-images")) *(cl_bool *)value = CL_FALSE;
        break;
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        if (has("no-f64")) *(cl_device_fp_config *)value = 0;
        break;
    case CL_DEVICE_EXTENSIONS:
        if (has("no-f64")) replace(value, "cl_khr_fp64", "");
        if (has("sub-groups")) replace(value, "cl_khr_byte_addressable_store", "cl_khr_subgroups");
        if (has("shuffles")) replace(value, "cl_khr_global_int32_base_atomics", "cl_khr_subgroup_shuffle");
        if (has("shuffles")) replace(value, "cl_khr_local_int32_base_atomics", "cl_khr_subgroup_ballot");
        break;
    default: break;
    }
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                                         cl_kernel_work_group_info what, size_t size, void *value,
                                                         size_t *size_ret)
{
    typedef cl_int (*function)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *);
    cl_int code = ((function)next("clGetKernelWorkGroupInfo"))(kernel, device, what, size, value, size_ret);
    if (!code && what == CL_KERNEL_WORK_GROUP_SIZE) lower_to(value, sizeof(size_t), most_items());
    return code;
}

/* ---- memory ------------------------------------------------------------------------------ */

/* Buffers that live, with what they take. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct live {
    cl_mem mem;
    size_t bytes;
    struct live *next;
} * live;
static size_t live_bytes;

CL_API_ENTRY cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                                               cl_int *code)
{
    typedef cl_mem (*function)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    function make = (function)next("clCreateBuffer");
    size_t most = limit("memory=");
    cl_mem mem = NULL;
    if (!most) return make(context, flags, size, host, code);
    struct live *entry = malloc(sizeof *entry);
    pthread_mutex_lock(&lock);
    if (!entry || live_bytes + size > most) {
        if (code) *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    } else {
        mem = make(context, flags, size, host, code);
    }
    if (mem) {
        *entry = (struct live){ mem, size, live };
        live = entry;
        live_bytes += size;
    } else {
        free(entry);
    }
    pthread_mutex_unlock(&lock);
    return mem;
}

/* The library holds one reference to a buffer, so a release is its end. */
CL_API_ENTRY cl_int CL_API_CALL clReleaseMemObject(cl_mem mem)
{
    typedef cl_int (*function)(cl_mem);
    pthread_mutex_lock(&lock);
    for (struct live **at = &live; *at; at = &(*at)->next)
        if ((*at)->mem == mem) {
            struct live *entry = *at;
            live_bytes -= entry->bytes;
            *at = entry->next;
            free(entry);
            break;
        }
    pthread_mutex_unlock(&lock);
    return ((function)next("clReleaseMemObject"))(mem);
}

/* ---- launches ------------------------------------------------------------------------------ */

static cl_int refused(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *local)
{
    typedef cl_int (*queue_info)(cl_command_queue, cl_command_queue_info, size_t, void *, size_t *);
    typedef cl_int (*group_info)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *);
    size_t most = most_items(), most_bytes = limit("local="), items = 1;
    cl_device_id device = NULL;
    cl_ulong bytes = 0;
    for (cl_uint d = 0; local && d < dims; d++)
        items *= local[d];
    if (most && items > most) return CL_INVALID_WORK_GROUP_SIZE;
    cl_int code =
        ((queue_info)next("clGetCommandQueueInfo"))(queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device, NULL);
    if (!code)
        code = ((group_info)next("clGetKernelWorkGroupInfo"))(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes,
                                                              &bytes, NULL);
    return most_bytes && !code && bytes > most_bytes ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                                       const size_t *offset, const size_t *global, const size_t *local,
                                                       cl_uint n_waits, const cl_event *waits, cl_event *event)
{
    typedef cl_int (*function)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                               cl_uint, const cl_event *, cl_event *);
    cl_int code = refused(queue, kernel, dims, local);
    if (code) return code;
    return ((function)next("clEnqueueNDRangeKernel"))(queue, kernel, dims, offset, global, local, n_waits, waits,
                                                      event);
}
