/* SPDX-License-Identifier: MIT */
/*
 * Image files. Reading: a header now, the pixels later, and a check that both
 * came from the same file. Writing: into a temporary file in the target's
 * folder, renamed when complete, so that nobody ever sees half a picture.
 *
 * What cannot be read twice (standard input, a FIFO, a device) is read whole
 * when opened; what cannot be replaced (the same, written) is written in place.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strerror_l, euidaccess */
#endif

#include "io/codec.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 65536, /* most headers fit; else the whole file is read */
    BYTES_A_PIXEL = 32, /* of a file, at most: PPM as text takes 18 */
    SLACK_BYTES = 64 << 20
};

/* ---- the file calls, each of which a test can make fail ------------------------------ */

static bool is_faulty(void)
{
    if (!ip_fault(IP_FAULT_FILE)) return false;
    errno = EIO;
    return true;
}

static int open_file(const char *path, int flags, mode_t mode)
{
    int fd;
    if (is_faulty()) return -1;
    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int stat_file(int fd, struct stat *st) { return is_faulty() ? -1 : fstat(fd, st); }

static imgpar_status fail_errno(ip_error *err, const char *name)
{
    const int code = errno;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    imgpar_status st = ip_fail(err, code == ENOMEM ? IMGPAR_E_HOST_MEMORY : IMGPAR_E_IO, "%s: %s", name,
                               c ? strerror_l(code, c) : "input or output failed");
    if (c) freelocale(c);
    return st;
}

/* A call would block on a descriptor somebody else made non-blocking: wait. */
static void wait_for(int fd, short events)
{
    struct pollfd p = { .fd = fd, .events = events };
    poll(&p, 1, -1);
}

/* As read(): at most n bytes, 0 at the end. */
static ssize_t read_some(int fd, void *dst, size_t n)
{
    for (;;) {
        ssize_t got = is_faulty() ? -1 : read(fd, dst, n);
        if (got >= 0) return got;
        if (errno == EAGAIN)
            wait_for(fd, POLLIN);
        else if (errno != EINTR)
            return -1;
    }
}

static imgpar_status write_all(int fd, const char *name, const void *bytes, size_t n, const ip_poll *poll,
                               ip_error *err)
{
    for (const char *p = bytes; n > 0;) {
        ssize_t put = is_faulty() ? -1 : write(fd, p, n < IP_PIECE_BYTES ? n : IP_PIECE_BYTES);
        if (put > 0) {
            p += put;
            n -= (size_t)put;
        } else if (put < 0 && errno == EAGAIN) {
            wait_for(fd, POLLOUT);
        } else if (put == 0 || errno != EINTR) {
            if (put == 0) errno = EIO;
            return fail_errno(err, name);
        }
        if (poll && poll->stop && poll->stop(poll->user, 1))
            return ip_fail(err, IMGPAR_E_INTERRUPTED, "%s: interrupted while writing", name);
    }
    return IMGPAR_OK;
}

static int close_file(int fd)
{
    if (close(fd) != 0 && errno != EINTR) return -1;
    return is_faulty() ? -1 : 0;
}

/* ---- reading -------------------------------------------------------------------------- */

static bool is_stdin(const char *path) { return strcmp(path, "-") == 0; }

static const char *name_of(const ip_file *file) { return is_stdin(file->path) ? "standard input" : file->path; }

static imgpar_status fail_too_big(const ip_source *s, ip_error *err)
{
    return ip_fail(err, IMGPAR_E_LIMIT, "%s: the file is larger than %llu pixels can be " IP_MAX_PIXELS_HINT, s->name,
                   (unsigned long long)s->max_pixels);
}

static uint64_t most_bytes(const ip_source *s)
{
    uint64_t n;
    if (__builtin_mul_overflow(s->max_pixels, (uint64_t)BYTES_A_PIXEL, &n)) return INT64_MAX;
    return n < INT64_MAX - SLACK_BYTES ? n + SLACK_BYTES : INT64_MAX;
}

/* Reads size_bytes from the start of fd; *bytes is new. */
static imgpar_status read_sized(const ip_source *s, int fd, size_t size_bytes, void **bytes, ip_error *err)
{
    unsigned char *p = size_bytes > most_bytes(s) ? NULL : ip_alloc(size_bytes);
    imgpar_status st = IMGPAR_OK;
    if (size_bytes > most_bytes(s)) return fail_too_big(s, err);
    if (!p) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
    for (size_t at = 0; at < size_bytes && !st;) {
        const size_t left = size_bytes - at;
        const ssize_t got = read_some(fd, p + at, left < IP_PIECE_BYTES ? left : IP_PIECE_BYTES);
        if (got < 0)
            st = fail_errno(err, s->name);
        else if (got == 0)
            st = ip_fail(err, IMGPAR_E_IO, "%s: became shorter while it was read", s->name);
        else
            at += (size_t)got;
        if (!st) st = ip_source_poll(s, 0, err);
    }
    if (st) {
        ip_free(p);
        return st;
    }
    *bytes = p;
    return IMGPAR_OK;
}

/*
 * Reads a stream to its end; *bytes is new. Looks at the start before taking
 * much memory: /dev/zero has no end.
 */
static imgpar_status read_stream(ip_source *s, int fd, void **bytes, ip_error *err)
{
    unsigned char *p = NULL;
    size_t n = 0, room = 0;
    bool is_known = false;
    const ip_codec *codec;
    imgpar_status st = IMGPAR_OK;
    for (ssize_t got = 1; got > 0 && !st;) {
        if (n == room) {
            const size_t more = room ? room * 2 : HEAD_BYTES;
            unsigned char *q = ip_realloc(p, more);
            if (!q) {
                st = ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while reading it", s->name);
                break;
            }
            p = q;
            room = more;
        }
        got = read_some(fd, p + n, room - n < IP_PIECE_BYTES ? room - n : IP_PIECE_BYTES);
        if (got < 0)
            st = fail_errno(err, s->name);
        else
            n += (size_t)got;
        s->bytes = p;
        s->n = s->total = n;
        if (!st && !is_known && (n >= 16 || got == 0)) {
            st = ip_codec_sniff(s, &codec, err);
            is_known = !st;
        }
        if (!st && n > most_bytes(s)) st = fail_too_big(s, err);
        if (!st) st = ip_source_poll(s, 0, err);
    }
    if (st) {
        ip_free(p);
        return st;
    }
    *bytes = p;
    return IMGPAR_OK;
}

/* The header from the file's first bytes, or from all of it where they do not suffice. */
static imgpar_status probe_regular(ip_source *s, int fd, size_t size_bytes, ip_header *header, ip_error *err)
{
    ip_error first = { 0 };
    void *bytes;
    const size_t head = size_bytes < HEAD_BYTES ? size_bytes : HEAD_BYTES;
    imgpar_status st = read_sized(s, fd, head, &bytes, err);
    if (st) return st;
    s->bytes = bytes;
    s->n = head;
    s->total = size_bytes;
    s->fd = fd;
    const ip_codec *codec;
    st = ip_codec_sniff(s, &codec, &first);
    const bool is_known = !st;
    if (is_known) st = ip_source_probe(s, header, &first);
    ip_free(bytes);
    if (st != IMGPAR_E_CORRUPT || !is_known || head == size_bytes)
        return st ? ip_fail(err, st, "%s", first.message) : IMGPAR_OK;

    if (is_faulty() || lseek(fd, 0, SEEK_SET) != 0) return fail_errno(err, s->name);
    st = read_sized(s, fd, size_bytes, &bytes, err);
    if (st) return st;
    s->bytes = bytes;
    s->n = size_bytes;
    st = ip_source_probe(s, header, err);
    if (size_bytes > IP_MAX_HEAD_BYTES) header->has_rows = false; /* its header may be longer than a reader looks at */
    ip_free(bytes);
    return st;
}

static void remember(ip_file *file, const struct stat *st)
{
    file->size_bytes = st->st_size;
    file->mtime_sec = st->st_mtim.tv_sec;
    file->mtime_nsec = st->st_mtim.tv_nsec;
    file->device = (uint64_t)st->st_dev;
    file->inode = (uint64_t)st->st_ino;
}

static bool is_same(const ip_file *file, const struct stat *st)
{
    ip_file now = { 0 };
    remember(&now, st);
    return now.size_bytes == file->size_bytes && now.mtime_sec == file->mtime_sec &&
           now.mtime_nsec == file->mtime_nsec && now.device == file->device && now.inode == file->inode;
}

static imgpar_status open_descriptor(int fd, ip_source *s, ip_file *file, ip_header *header, ip_error *err)
{
    struct stat info;
    if (stat_file(fd, &info) != 0) return fail_errno(err, s->name);
    if (S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return fail_errno(err, s->name);
    }
    remember(file, &info);
    if (S_ISREG(info.st_mode) && !is_stdin(file->path)) return probe_regular(s, fd, (size_t)info.st_size, header, err);
    imgpar_status st = read_stream(s, fd, &file->stdin_bytes, err);
    if (st) return st;
    if (ip_png_is_followed(s->bytes, s->n))
        return ip_fail(err, IMGPAR_E_CORRUPT, "%s: more PNGs follow the first one; PNM and Y4M may have several frames",
                       s->name);
    file->size_bytes = (int64_t)s->n;
    return ip_source_probe(s, header, err);
}

imgpar_status ip_file_open(const char *path, const ip_read_options *options, ip_file *file, ip_header *header,
                           ip_error *err)
{
    memset(file, 0, sizeof *file);
    memset(header, 0, sizeof *header);
    file->path = ip_strdup(path);
    if (!file->path) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while opening it", path);
    ip_source s = ip_source_of("", 0, name_of(file), options);

    const int fd = is_stdin(path) ? STDIN_FILENO : open_file(path, O_RDONLY, 0);
    imgpar_status st = fd < 0 ? fail_errno(err, s.name) : open_descriptor(fd, &s, file, header, err);
    if (fd >= 0 && !is_stdin(path)) close(fd);
    if (st) ip_file_release(file);
    return st;
}

/* Opens the file of a header again; *fd is to be closed. */
imgpar_status ip_file_reopen(const ip_file *file, int *fd, ip_error *err)
{
    *fd = open_file(file->path, O_RDONLY, 0);
    if (*fd < 0) return fail_errno(err, name_of(file));
    return ip_file_check_open(file, *fd, "since it was opened", err);
}

imgpar_status ip_file_check_open(const ip_file *file, int fd, const char *when, ip_error *err)
{
    struct stat info;
    if (stat_file(fd, &info) != 0) return fail_errno(err, name_of(file));
    return is_same(file, &info) ? IMGPAR_OK : ip_fail(err, IMGPAR_E_IO, "%s changed %s", name_of(file), when);
}

/* Reads the whole file and checks before and after that it is the one that was opened. */
static imgpar_status read_again(const ip_file *file, const ip_source *s, void **bytes, ip_error *err)
{
    void *p = NULL;
    int fd;
    imgpar_status st = ip_file_reopen(file, &fd, err);
    if (!st) st = read_sized(s, fd, (size_t)file->size_bytes, &p, err);
    if (!st) st = ip_file_check_open(file, fd, "while it was read", err);
    if (fd >= 0) close(fd);
    if (st)
        ip_free(p);
    else
        *bytes = p;
    return st;
}

imgpar_status ip_file_check(const ip_file *file, ip_error *err)
{
    struct stat info;
    if (file->stdin_bytes) return IMGPAR_OK;
    if (is_faulty() || stat(file->path, &info) != 0) return fail_errno(err, name_of(file));
    return is_same(file, &info) ? IMGPAR_OK
                                : ip_fail(err, IMGPAR_E_IO, "%s changed since it was opened", name_of(file));
}

imgpar_status ip_file_read(const ip_file *file, const ip_read_options *options, const void **bytes, void **owned,
                           ip_error *err)
{
    const ip_source s = ip_source_of(NULL, 0, name_of(file), options);
    *bytes = file->stdin_bytes;
    *owned = NULL;
    if (file->stdin_bytes) return IMGPAR_OK;
    imgpar_status st = read_again(file, &s, owned, err);
    *bytes = *owned;
    return st;
}

imgpar_status ip_file_decode(const ip_file *file, const ip_read_options *options, ip_image *image, ip_error *err)
{
    const void *bytes;
    void *owned;
    memset(image, 0, sizeof *image);
    imgpar_status st = ip_file_read(file, options, &bytes, &owned, err);
    if (!st) st = ip_io_decode(bytes, (size_t)file->size_bytes, name_of(file), options, image, err);
    ip_free(owned);
    return st;
}

const char *ip_file_name(const ip_file *file) { return name_of(file); }

imgpar_status ip_file_copy(const ip_file *file, ip_file *copy, ip_error *err)
{
    *copy = *file;
    copy->path = ip_strdup(file->path);
    copy->stdin_bytes = file->stdin_bytes ? ip_alloc((size_t)file->size_bytes) : NULL;
    if (!copy->path || (file->stdin_bytes && !copy->stdin_bytes)) {
        ip_file_release(copy);
        return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while copying it", name_of(file));
    }
    if (file->stdin_bytes) memcpy(copy->stdin_bytes, file->stdin_bytes, (size_t)file->size_bytes);
    return IMGPAR_OK;
}

void ip_file_release(ip_file *file)
{
    ip_free(file->path);
    ip_free(file->stdin_bytes);
    memset(file, 0, sizeof *file);
}

/* ---- writing -------------------------------------------------------------------------- */

static imgpar_status write_in_place(const char *path, const void *bytes, size_t n, const ip_poll *poll, ip_error *err)
{
    const int fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return fail_errno(err, path);
    imgpar_status st = write_all(fd, path, bytes, n, poll, err);
    if (close_file(fd) != 0 && !st) st = fail_errno(err, path);
    return st;
}

/*
 * Note [Temporary files]
 * What is written appears under its name complete or not at all. Where the system has files without names, only the
 * moment between link() and rename() could leave something behind, however the process ends; elsewhere a file
 * ".imgpar-XXXX" beside the target is written, and removed after a failure. open() rather than mkstemp(), because it
 * applies the umask, which a thread cannot read without changing it.
 */
typedef struct temporary {
    int fd;
    char *name; /* room for one in the target's folder */
    size_t room;
    int folder;    /* the characters of the folder in it */
    bool is_named; /* there is a file of that name */
} temporary;

/* A name in the target's folder that is free in all likelihood; the i-th that is tried. */
static void name_temporary(temporary *t, int i)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t h = ip_hash_u64((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30, (uint64_t)getpid());
    h = ip_hash_u64(h ^ (uint64_t)i, (uint64_t)(uintptr_t)t->name); /* differs between threads */
    snprintf(t->name + t->folder, t->room - (size_t)t->folder, ".imgpar-%016llx", (unsigned long long)h);
}

enum { N_NAMES_TRIED = 100 };

/* A file without a name in the target's folder; false where there is no such thing. */
static bool open_unnamed(temporary *t, mode_t mode)
{
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) != 0) return false; /* it will be named by way of that */
    t->name[t->folder] = '\0';
    t->fd = open(t->folder ? t->name : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    return t->fd >= 0;
#else
    (void)t;
    (void)mode;
    return false;
#endif
}

static bool link_unnamed(temporary *t)
{
    char descriptor[40];
    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", t->fd);
    for (int i = 0; i < N_NAMES_TRIED && !t->is_named && (i == 0 || errno == EEXIST); i++) {
        name_temporary(t, i);
        t->is_named = !is_faulty() && linkat(AT_FDCWD, descriptor, AT_FDCWD, t->name, AT_SYMLINK_FOLLOW) == 0;
    }
    return t->is_named;
}

static bool open_named(temporary *t, mode_t mode)
{
    for (int i = 0; i < N_NAMES_TRIED && t->fd < 0 && (i == 0 || errno == EEXIST); i++) {
        name_temporary(t, i);
        t->fd = open_file(t->name, O_WRONLY | O_CREAT | O_EXCL, mode);
    }
    t->is_named = t->fd >= 0;
    return t->is_named;
}

/* Beside path, or false with errno. *t is closed and freed by whoever has it, also then. */
static bool open_temporary(const char *path, mode_t mode, temporary *t)
{
    const char *slash = strrchr(path, '/');
    *t = (temporary){ .fd = -1, .folder = slash ? (int)(slash + 1 - path) : 0 };
    t->room = (size_t)t->folder + sizeof ".imgpar-0123456789abcdef";
    t->name = ip_alloc(t->room);
    if (!t->name) {
        errno = ENOMEM;
        return false;
    }
    memcpy(t->name, path, (size_t)t->folder);
    return open_unnamed(t, mode) || open_named(t, mode);
}

struct ip_file_writer {
    const char *path; /* borrowed */
    char *real;       /* what a link points to; from realpath() */
    bool exists, is_replaced;
    struct stat target;
    temporary t;     /* where it is replaced */
    ip_str gathered; /* where it is not */
};

static const char *target_of(const ip_file_writer *w) { return w->real ? w->real : w->path; }

/* What is written to: standard output, and what is no regular file, is written in place. */
static imgpar_status find_target(ip_file_writer *w, ip_error *err)
{
    struct stat link;
    if (strcmp(w->path, "-") == 0) return IMGPAR_OK;
    if (is_faulty()) return fail_errno(err, w->path);
    w->exists = stat(w->path, &w->target) == 0;
    if (!w->exists && errno != ENOENT) return fail_errno(err, w->path);
    if (w->exists && !S_ISREG(w->target.st_mode)) return IMGPAR_OK;
    if (w->exists && euidaccess(w->path, W_OK) != 0) return fail_errno(err, w->path); /* rename() would not ask */

    /* A link stays one: what it points to is replaced. A dangling one creates its target. */
    const bool is_link = lstat(w->path, &link) == 0 && S_ISLNK(link.st_mode);
    w->is_replaced = !is_link || w->exists;
    if (is_link && w->exists && (is_faulty() || !(w->real = realpath(w->path, NULL)))) return fail_errno(err, w->path);
    return IMGPAR_OK;
}

/* The folder that path stands in, or will; new. NULL: without memory, or path is a link to what is not there. */
static char *folder_of(const char *path)
{
    struct stat link;
    const char *slash = strrchr(path, '/');
    if (lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) return NULL;
    char *folder = ip_strdup(slash ? path : ".");
    if (folder && slash) folder[slash + 1 - path] = '\0';
    return folder;
}

/* errno says why no file can be made beside path. */
static imgpar_status fail_making(ip_error *err, const char *path)
{
    const int code = errno;
    struct stat info;
    char *folder = code == ENOENT ? folder_of(path) : NULL;
    const bool is_missing = folder && stat(folder, &info) != 0 && errno == ENOENT;
    if (is_missing) ip_fail(err, IMGPAR_E_IO, "%s: there is no folder %.*s", path, (int)strlen(folder) - 1, folder);
    ip_free(folder);
    errno = code;
    return is_missing ? IMGPAR_E_IO : fail_errno(err, path);
}

imgpar_status ip_file_writer_new(const char *path, ip_file_writer **out, ip_error *err)
{
    ip_file_writer *w = *out = ip_zalloc(sizeof *w);
    if (!w) return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while writing it", path);
    w->path = path;
    w->t.fd = -1;
    imgpar_status st = find_target(w, err);
    /* the target's mode is kept, and never exceeded meanwhile */
    if (!st && w->is_replaced && !open_temporary(target_of(w), w->exists ? w->target.st_mode & 0777 : 0666, &w->t))
        st = fail_making(err, target_of(w));
    if (!st) return IMGPAR_OK;
    ip_file_writer_free(w);
    *out = NULL;
    return st;
}

bool ip_file_writer_gathers(const ip_file_writer *w) { return !w->is_replaced; }

imgpar_status ip_file_writer_put(ip_file_writer *w, const void *bytes, size_t n, ip_error *err)
{
    if (w->is_replaced) return write_all(w->t.fd, target_of(w), bytes, n, NULL, err);
    ip_str_append_n(&w->gathered, bytes, n);
    if (!w->gathered.failed) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_HOST_MEMORY, "%s: out of host memory while writing it", w->path);
}

static imgpar_status name_it(ip_file_writer *w, ip_error *err)
{
    const char *path = target_of(w);
    temporary *t = &w->t;
    imgpar_status st = IMGPAR_OK;
    if (w->exists && (is_faulty() || fchmod(t->fd, w->target.st_mode & 0777) != 0)) st = fail_errno(err, path);
    if (!st && !t->is_named && !link_unnamed(t)) st = fail_errno(err, path);
    if (close_file(t->fd) != 0 && !st) st = fail_errno(err, path);
    t->fd = -1;
    if (!st && (is_faulty() || rename(t->name, path) != 0)) st = fail_errno(err, path);
    if (!st) t->is_named = false; /* it is the target now */
    return st;
}

static imgpar_status end_with(ip_file_writer *w, const void *bytes, size_t n, const ip_poll *poll, ip_error *err)
{
    if (strcmp(w->path, "-") == 0) return write_all(STDOUT_FILENO, "standard output", bytes, n, poll, err);
    if (!w->is_replaced) return write_in_place(w->path, bytes, n, poll, err);
    imgpar_status st = write_all(w->t.fd, target_of(w), bytes, n, poll, err);
    return st ? st : name_it(w, err);
}

imgpar_status ip_file_writer_end(ip_file_writer *w, const ip_poll *poll, ip_error *err)
{
    return end_with(w, ip_str_text(&w->gathered), w->gathered.length, poll, err);
}

void ip_file_writer_free(ip_file_writer *w)
{
    if (!w) return;
    if (w->t.fd >= 0) close(w->t.fd);
    if (w->t.is_named) unlink(w->t.name);
    ip_free(w->t.name);
    ip_str_free(&w->gathered);
    free(w->real);
    ip_free(w);
}

enum { LITTLE = 1 << 20 }; /* bytes for which no disk is asked */

imgpar_status ip_io_check_room(const char *path, double bytes, ip_error *err)
{
    struct stat target;
    struct statvfs disk;
    if (bytes < LITTLE || strcmp(path, "-") == 0) return IMGPAR_OK;
    const bool exists = stat(path, &target) == 0;
    if (exists && !S_ISREG(target.st_mode)) return IMGPAR_OK;
    char *folder = exists ? ip_strdup(path) : folder_of(path);
    const bool is_told = folder && statvfs(folder, &disk) == 0 && disk.f_blocks > 0;
    ip_free(folder);
    const double room = is_told ? (double)disk.f_bavail * (double)disk.f_frsize : INFINITY;
    if (bytes <= room) return IMGPAR_OK;
    return ip_fail(err, IMGPAR_E_IO, "%s: it will have %.0f MB or more, and there is room for %.0f", path,
                   ceil(bytes / 1e6), floor(room / 1e6));
}

imgpar_status ip_io_write(const char *path, const void *bytes, size_t n, const ip_poll *poll, ip_error *err)
{
    ip_file_writer *w;
    imgpar_status st = ip_file_writer_new(path, &w, err);
    if (!st) st = end_with(w, bytes, n, poll, err);
    ip_file_writer_free(w);
    return st;
}
