/* SPDX-License-Identifier: MIT */
/*
 * The inside of the device layer (imgpar_cl.h): what its files share.
 *
 * It stands on the same ip_device as the evaluations of arrays: buffers come from its pool, programs from its cache,
 * and commands are ordered by the buffers they share (run/order.c), so that both can use one buffer. Queues are its
 * own.
 *
 * Locks: a queue's two, and below them the device's order lock, which also guards the state of buffers.
 */
#ifndef IP_CL_CL_H
#define IP_CL_CL_H

#include "base/structs.h"
#include "graph/array.h"
#include "run/context.h"
#include "run/device_impl.h"

#include <imgpar_cl.h>

/* ---- objects (object.c) ------------------------------------------------------------ */

/* Keeps what err says for imgpar_cl_message(); returns its status. Every public function that failed ends so. */
imgpar_status ip_cl_say(const ip_error *err);
/* "NAME is NULL". */
imgpar_status ip_cl_null(ip_error *err, const char *function, const char *name);
/* Fails where a context has no OpenCL device. function names the caller in messages. */
imgpar_status ip_cl_device(imgpar_context *ctx, const char *function, ip_device **out, ip_error *err);
/* A live object more (or, n -1, less) of the context. */
void ip_cl_alive(imgpar_context *ctx, ip_live_kind kind, int n);

/* ---- events, queues ------------------------------------------------------------------ */

typedef struct ip_cl_report ip_cl_report;

struct imgpar_cl_event {
    atomic_int refs, handles; /* of all, of the user */
    imgpar_context *ctx;
    cl_event event;
    char name[64];
    uint64_t bytes;
    /* of a launch that may print or check; NULL; taken by who delivers it, under the queue's lock */
    ip_cl_report *report;
    bool is_task;
    atomic_int task_status;                        /* tasks: what it returned */
    atomic_ullong queued_ns, started_ns, ended_ns; /* tasks */
};

struct imgpar_cl_queue {
    atomic_int refs;
    imgpar_context *ctx;
    ip_device *device; /* the context's */
    cl_command_queue queue;
    bool blocks, in_order;
    void (*on_print)(void *user, const char *text);
    void *user;
    size_t print_buffer_bytes; /* 0: IP_CL_REPORT_BYTES */
    /* held by who waits for the records, so that others wait with it, and by who delivers a report; above lock */
    pthread_mutex_t settling;
    pthread_mutex_t lock;      /* guards what follows */
    imgpar_cl_event **records; /* commands whose times are not in the profile yet */
    size_t n_records, records_capacity;
    size_t report_bytes, most_report_bytes; /* device memory of reports in records, and when to look which are over */
    imgpar_cl_profile_row *rows;
    size_t n_rows;
    ip_error first; /* failure since the last finish */
};

/* One use of memory by a command. */
typedef struct ip_cl_use {
    ip_buffer *memory;
    imgpar_cl_buffer *buffer; /* whose state is checked; NULL: memory of the graph */
    bool writes;
} ip_cl_use;

/* A command to be enqueued: what it is, what it uses, and the call that enqueues it. */
typedef struct ip_cl_command {
    imgpar_cl_queue *queue;
    const char *name; /* in the profile */
    const char *call; /* the OpenCL function, for messages */
    const imgpar_cl_order *order;
    const ip_cl_use *uses;
    int n_uses;
    uint64_t bytes;
    bool unmaps; /* wants the buffer mapped; every other command wants it not to be */
    ip_cl_report *takes_report;
    /* Enqueues to run after waits; what it needs is behind argument. */
    cl_int (*enqueue)(cl_command_queue queue, void *argument, const ip_waits *waits, cl_event *event);
    void *argument;
} ip_cl_command;

/* Enqueues on a queue of the device after what waits holds and what the uses ask for; *event is new. */
imgpar_status ip_cl_enqueue(ip_device *device, cl_command_queue queue, const ip_cl_command *command, ip_waits *waits,
                            cl_event *event, ip_error *err);
/* Enqueues the command after those it has to wait for; where the queue blocks, waits for it. */
imgpar_status ip_cl_submit(const ip_cl_command *command, ip_error *err);
/* What every public function with an order does first: a call that fails, wherever it does, leaves no event behind. */
void ip_cl_order_begin(const imgpar_cl_order *given);
/* Reads and checks what the caller says of the order (NULL is legal); the events it names go into waits. */
imgpar_status ip_cl_order_read(imgpar_cl_queue *queue, const char *name, const imgpar_cl_order *given,
                               imgpar_cl_order *out, ip_waits *waits, ip_error *err);
/* Notes a command that was enqueued, waits for it where the queue blocks, and gives the user's reference to *handle
 * (handle NULL: none). Takes event. */
imgpar_status ip_cl_record(imgpar_cl_queue *queue, imgpar_cl_event *takes_event, imgpar_cl_event **handle,
                           ip_error *err);
/* A new event for event, which is retained; NULL without memory. */
imgpar_cl_event *ip_cl_event_new(imgpar_context *ctx, cl_event event, const char *name, uint64_t bytes);
void ip_cl_event_drop(imgpar_cl_event *event);
/* Waits for the command; its failure is returned. */
imgpar_status ip_cl_event_finish(const imgpar_cl_event *event, ip_error *err);
/* Of a command that is over. */
imgpar_status ip_cl_event_clock(const imgpar_cl_event *event, imgpar_cl_times *out, ip_error *err);
/* Waits for all commands of the queue, delivers their reports and adds them to the profile; failures go to
 * queue->first. */
void ip_cl_queue_settle(imgpar_cl_queue *queue);

/* ---- buffers ---------------------------------------------------------------------------- */

struct imgpar_cl_buffer {
    atomic_int refs;
    imgpar_context *ctx;
    imgpar_cl_buffer *whole; /* of a part: the buffer it is a part of, retained; else NULL */
    ip_buffer *memory;       /* a reference */
    cl_mem mem;              /* memory's, or a sub-buffer of its own */
    size_t offset_bytes;     /* in memory */
    imgpar_cl_layout layout; /* pitches set */
    size_t size_bytes;
    imgpar_cl_access access;
    bool is_wrapped;
    bool is_image;         /* memory is one */
    imgpar_cl_image image; /* its texels */
    /* Of whole buffers; guarded by the device's order lock. */
    void *mapped; /* NULL: it is not */
    bool mapped_writes;
    bool is_constant;
};

/* The buffer that has the state. */
static inline imgpar_cl_buffer *ip_cl_whole(imgpar_cl_buffer *buffer) { return buffer->whole ? buffer->whole : buffer; }
/* Fails where access is none. */
imgpar_status ip_cl_check_access(const char *function, imgpar_cl_access access, ip_error *err);
/* The memory that the size of a layout takes, its pitches filled in. */
imgpar_status ip_cl_layout(const char *function, const imgpar_cl_layout *given, imgpar_cl_layout *out,
                           size_t *size_bytes, ip_error *err);
/* A buffer of the pool as one of the user; takes memory, also where it fails. */
imgpar_status ip_cl_buffer_of_memory(imgpar_context *ctx, imgpar_cl_access access, const imgpar_cl_layout *layout,
                                     size_t size_bytes, ip_buffer *memory, imgpar_cl_buffer **out, ip_error *err);

/* A region of a buffer in bytes, x first, as the rectangular copies of OpenCL want it. */
typedef struct ip_cl_box {
    size_t offset[3], extent[3]; /* bytes, rows, slices */
    size_t host_row_pitch, host_slice_pitch;
    size_t bytes;     /* of its elements */
    bool is_straight; /* its bytes lie one after the other in the buffer */
} ip_cl_box;
imgpar_status ip_cl_box_of(const char *function, const imgpar_cl_buffer *buffer, const imgpar_cl_region *region,
                           ip_cl_box *out, ip_error *err);

/* ---- modules, kernels ------------------------------------------------------------------- */

/* Who gives a parameter its argument: the user, or launches by themselves. */
typedef enum ip_cl_filler { IP_CL_BY_USER, IP_CL_BY_REPORT, IP_CL_BY_GROUP, IP_CL_BY_SYMBOL } ip_cl_filler;

/* A global or a constant of a module: memory that kernels name and the host copies from and to. */
typedef struct ip_cl_symbol {
    char *name;
    char type[48]; /* "int*", as parameters have it */
    bool is_constant;
    imgpar_cl_buffer *buffer; /* a reference */
} ip_cl_symbol;

typedef enum ip_cl_param_kind {
    IP_CL_GLOBAL,
    IP_CL_CONSTANT,
    IP_CL_LOCAL,
    IP_CL_VALUE,
    IP_CL_IMAGE, /* image2d_t */
    IP_CL_SAMPLER,
    IP_CL_OTHER_IMAGE
} ip_cl_param_kind;

/* A parameter of a kernel as the compiler tells it. */
typedef struct ip_cl_param {
    ip_cl_param_kind kind;
    bool is_const;            /* only read */
    char name[202], type[48]; /* "by", "float*" */
    ip_cl_filler filler;
    const ip_cl_symbol *symbol; /* BY_SYMBOL; the module's */
    imgpar_dtype dtype;         /* VALUE: of a number; IMGPAR_N_DTYPES: another type */
    size_t size_bytes;          /* VALUE: 0 where it is not known */
} ip_cl_param;

struct imgpar_cl_module {
    atomic_int refs;
    imgpar_context *ctx;
    ip_program *program;
    char *kernels;      /* "scale;sum" */
    char *text;         /* the user's constants, files and texts */
    char *symbol_names; /* "hits;weights" */
    ip_cl_symbol *symbols;
    size_t n_symbols;
    pthread_mutex_t lock;       /* guards what follows */
    imgpar_cl_kernel **entries; /* kernels that imgpar_cl_module_launch() has launched */
    size_t n_entries;
};

struct imgpar_cl_kernel {
    atomic_int refs;
    imgpar_cl_module *module; /* a reference; of an entry none, since the module holds it */
    bool is_entry;
    char *name;
    ip_cl_param *params; /* NULL: the driver does not tell */
    unsigned n_params;   /* as a launch gives them */
    unsigned n_filled;   /* behind them, filled in by launches */
    bool reports;        /* has IMGPAR_REPORT */
    bool has_group;      /* has IMGPAR_GROUP */
    size_t max_group, multiple, required[3], max_items[3];
    uint64_t local_bytes, private_bytes, max_constant_bytes;
};

/* Takes the kernels that declare globals and constants out of m->kernels, and makes these. */
imgpar_status ip_cl_symbols_read(imgpar_cl_module *m, ip_error *err);
void ip_cl_symbols_free(imgpar_cl_module *m);
/* NULL: there is none of that name. */
const ip_cl_symbol *ip_cl_symbol_find(const imgpar_cl_module *m, const char *name);
/* Whether a name is one that the library keeps to itself, and the failure of a user's kernel that has one. */
bool ip_cl_is_own_name(const char *name);
imgpar_status ip_cl_fail_name(ip_error *err, const char *function, const char *name);
/* What the compiler tells of parameter k. */
cl_int ip_cl_param_read(cl_kernel kernel, cl_uint k, ip_cl_param *out);
/* Sorts names that stand between ';'; false without memory. */
bool ip_cl_sort_names(char *names);
/* The module's own kernel of a name, made at the first call; borrowed from the module. */
imgpar_status ip_cl_entry(imgpar_cl_module *m, const char *name, imgpar_cl_kernel **out, ip_error *err);
void ip_cl_kernel_free(imgpar_cl_kernel *k);

/* ---- launching --------------------------------------------------------------------------- */

/* A launch that was checked. */
typedef struct ip_cl_launch {
    const imgpar_cl_kernel *kernel;
    const imgpar_cl_arg *args;
    imgpar_cl_work work;               /* groups chosen */
    ip_buffer *result, *const *inputs; /* of nodes; NULL: there are none */
} ip_cl_launch;

/* Checks arguments; n_inputs: of a node, -1: none is meant. */
imgpar_status ip_cl_check_args(const imgpar_cl_kernel *kernel, const imgpar_cl_arg *args, size_t n_args, int n_inputs,
                               ip_error *err);
/* Local memory that a group takes besides what IMGPAR_GROUP does; args NULL: without theirs. */
uint64_t ip_cl_local_bytes(const imgpar_cl_kernel *kernel, const imgpar_cl_arg *args);
enum { IP_CL_GROUP_BYTES = 8 }; /* of IMGPAR_GROUP for each work-item */
/* Checks sizes and chooses groups, for arguments that were checked. */
imgpar_status ip_cl_check_work(const imgpar_cl_kernel *kernel, const imgpar_cl_work *given, const imgpar_cl_arg *args,
                               imgpar_cl_work *out, ip_error *err);
/* Checks that all local memory of a group is there. */
imgpar_status ip_cl_check_local(const imgpar_cl_kernel *kernel, const imgpar_cl_arg *args, const imgpar_cl_work *work,
                                ip_error *err);
/* A kernel object with its arguments; uses gets what memory it uses (n_params + n_filled entries at most). */
imgpar_status ip_cl_bind(const ip_cl_launch *launch, const ip_cl_report *report, cl_kernel *kernel, ip_cl_use *uses,
                         int *n_uses, ip_error *err);
/* Where a launch goes: to a queue of the user, or (queue NULL) to the device as a part of an evaluation. */
typedef struct ip_cl_target {
    imgpar_cl_queue *queue;
    const imgpar_cl_order *order;
    double *busy_ms; /* evaluations: gets what the device took; NULL: not asked for */
} ip_cl_target;
imgpar_status ip_cl_launch_run(const ip_cl_launch *launch, const ip_cl_target *target, ip_error *err);
/* Enqueues a command with the evaluations of arrays. Waits for it where it has a report or the time is asked for. Takes
 * the report. */
imgpar_status ip_cl_run_alone(ip_device *device, const ip_cl_command *command, double *busy_ms, ip_error *err);

/* ---- what kernels print and check (report.c) ------------------------------------------------ */

enum { IP_CL_REPORT_BYTES = 65536, IP_CL_LEAST_REPORT_BYTES = 256 };
/* A new report for one launch of the kernel; size_bytes 0: IP_CL_REPORT_BYTES. */
imgpar_status ip_cl_report_new(ip_device *device, const imgpar_cl_kernel *kernel, size_t size_bytes, ip_cl_report **out,
                               ip_error *err);
/* The argument. */
ip_buffer *ip_cl_report_memory(const ip_cl_report *report);
/* The device's memory that it holds; NULL is legal. */
size_t ip_cl_report_bytes(const ip_cl_report *report);
/* Once the launch is over: what it tells goes to the host, and the device's memory back to the pool. */
imgpar_status ip_cl_report_fetch(ip_cl_report *report, ip_error *err);
/* Whether delivering it does anything, as far as is known; prints: texts are wanted. */
bool ip_cl_report_tells(const ip_cl_report *report, bool prints);
/* Once the launch is over: reads it, hands texts to print (NULL: dropped) and returns the failure of a check. Takes
 * report. */
imgpar_status ip_cl_report_deliver(ip_cl_report *takes_report, void (*print)(void *user, const char *text), void *user,
                                   ip_error *err);
void ip_cl_report_free(ip_cl_report *report);

#endif
