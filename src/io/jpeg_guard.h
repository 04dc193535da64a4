/* SPDX-License-Identifier: MIT */
/*
 * libjpeg's errors and memory, made ours: an error jumps to the guard's owner,
 * and every allocation asks the fault hook first. Private to the JPEG codec.
 *
 * The owner embeds the guard as the first member of its state, sets
 * client_data to it, and keeps everything that must survive a jump there.
 */
#ifndef IP_IO_JPEG_GUARD_H
#define IP_IO_JPEG_GUARD_H

#include "io/codec.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

typedef struct ip_jpeg_guard {
    struct jpeg_error_mgr errors;
    struct jpeg_memory_mgr memory; /* libjpeg's own functions */
    /* Records the failure the message and its code (of jerror.h) tell of; the guard jumps afterwards. */
    void (*on_error)(struct ip_jpeg_guard *guard, int code, const char *text);
    /* A warning; true jumps. NULL: ignored. */
    bool (*on_warning)(struct ip_jpeg_guard *guard, int code, const char *text);
    jmp_buf jump;
} ip_jpeg_guard;

/* Before jpeg_create_...: sets c->err and c->client_data. */
void ip_jpeg_guard_errors(ip_jpeg_guard *guard, j_common_ptr c);
/* After it. */
void ip_jpeg_guard_memory(ip_jpeg_guard *guard, j_common_ptr c);

#endif
