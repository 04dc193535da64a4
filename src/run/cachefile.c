/* SPDX-License-Identifier: MIT */
/*
 * FORMAT: a head of fixed size, the identity, the binary. Numbers are in the
 * host's byte order: a file from another machine fails its checks.
 *
 * The folder is kept below MAX_FOLDER_FILES: when a new file would go beyond, the
 * files that were not written for longest go, a quarter of them.
 */
#include "run/cachefile.h"

#include "base/alloc.h"
#include "run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE_BYTES = 64 << 20, MAX_FOLDER_FILES = 4000, NAME_BYTES = 96 };

typedef struct head {
    char magic[16];
    uint64_t identity_bytes, binary_bytes;
    ip_hash128 checksum; /* of identity and binary */
} head;

static const char magic[16] = "imgpar program\n1";

static const char *const endings[IP_N_CACHEFILES] = {
    [IP_CACHEFILE_PROGRAM] = ".bin", [IP_CACHEFILE_SPENT] = ".spent", [IP_CACHEFILE_PENDING] = ".pending"
};
static const char lock_name[] = "pending.lock";

static void file_name(char name[NAME_BYTES], ip_cachefile_kind kind, ip_hash128 key)
{
    snprintf(name, NAME_BYTES, "%016llx%016llx%s", (unsigned long long)key.a, (unsigned long long)key.b, endings[kind]);
}

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n > m && strcmp(name + n - m, ending) == 0;
}

static ip_hash128 checksum_of(const void *identity, size_t identity_bytes, const void *binary, size_t n)
{
    return ip_hash128_bytes(ip_hash128_bytes((ip_hash128){ 0, 0 }, identity, identity_bytes), binary, n);
}

static bool read_all(int fd, void *to, size_t n)
{
    for (char *p = to; n > 0;) {
        ssize_t got = ip_fault(IP_FAULT_FILE) ? -1 : read(fd, p, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t n)
{
    for (const char *p = from; n > 0;) {
        ssize_t put = ip_fault(IP_FAULT_FILE) ? -1 : write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* A regular file of ours of a size that fits the head. */
static bool is_sound(int fd, const head *h, size_t identity_bytes)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & 022) == 0 &&
           s.st_size <= MAX_FILE_BYTES && memcmp(h->magic, magic, sizeof magic) == 0 &&
           h->identity_bytes == identity_bytes && h->identity_bytes <= MAX_FILE_BYTES && h->binary_bytes > 0 &&
           h->binary_bytes <= MAX_FILE_BYTES && (uint64_t)s.st_size == sizeof *h + h->identity_bytes + h->binary_bytes;
}

/* The file, open behind its sound head; -1: there is none. */
static int open_sound(ip_cachefile_kind kind, ip_hash128 key, size_t identity_bytes, head *h)
{
    char name[NAME_BYTES];
    int folder = ip_folder_open_cache();
    if (folder < 0) return -1;
    file_name(name, kind, key);
    int fd = ip_fault(IP_FAULT_FILE) ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    close(folder);
    if (fd >= 0 && (!read_all(fd, h, sizeof *h) || !is_sound(fd, h, identity_bytes))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool ip_cachefile_has(ip_cachefile_kind kind, ip_hash128 key, size_t identity_bytes)
{
    head h;
    int fd = open_sound(kind, key, identity_bytes, &h);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

void ip_cachefile_remove(ip_cachefile_kind kind, ip_hash128 key)
{
    char name[NAME_BYTES];
    int folder = ip_folder_open_cache();
    if (folder < 0) return;
    file_name(name, kind, key);
    unlinkat(folder, name, 0);
    close(folder);
}

bool ip_cachefile_load(ip_cachefile_kind kind, ip_hash128 key, const char *identity, size_t identity_bytes,
                       void **content, size_t *n)
{
    char *body = NULL;
    bool found = false;
    head h;
    int fd = open_sound(kind, key, identity_bytes, &h);
    if (fd < 0) return false;

    size_t binary_bytes = (size_t)h.binary_bytes;
    body = ip_alloc(identity_bytes + binary_bytes); /* both below MAX_FILE_BYTES */
    if (!body || !read_all(fd, body, identity_bytes + binary_bytes)) goto out;
    ip_hash128 sum = checksum_of(body, identity_bytes, body + identity_bytes, binary_bytes);
    if (sum.a != h.checksum.a || sum.b != h.checksum.b || memcmp(body, identity, identity_bytes) != 0) goto out;

    memmove(body, body + identity_bytes, binary_bytes);
    *content = body;
    *n = binary_bytes;
    body = NULL;
    found = true;
out:
    ip_free(body);
    close(fd);
    return found;
}

/* ---- keeping the folder small ------------------------------------------------------ */

typedef struct entry {
    char name[NAME_BYTES];
    struct timespec written;
} entry;

static int older_first(const void *a, const void *b)
{
    const struct timespec *p = &((const entry *)a)->written, *q = &((const entry *)b)->written;
    if (p->tv_sec != q->tv_sec) return p->tv_sec < q->tv_sec ? -1 : 1;
    return p->tv_nsec < q->tv_nsec ? -1 : p->tv_nsec > q->tv_nsec;
}

static bool is_ours(const char *name)
{
    size_t n = strlen(name);
    bool is_kept = false;
    for (int kind = 0; kind < IP_N_CACHEFILES; kind++)
        is_kept |= ends_in(name, endings[kind]);
    return n < NAME_BYTES && (is_kept || strncmp(name, ".tmp-", 5) == 0);
}

/* Removes the oldest files once there are too many. */
static void tidy(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir) {
        if (copy >= 0) close(copy);
        return;
    }
    entry *list = ip_alloc_array(2 * MAX_FOLDER_FILES, sizeof *list);
    size_t n = 0;
    struct stat s;
    for (struct dirent *d; list && n < 2 * MAX_FOLDER_FILES && (d = readdir(dir));) {
        if (!is_ours(d->d_name) || fstatat(folder, d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
        strcpy(list[n].name, d->d_name);
        list[n++].written = s.st_mtim;
    }
    if (n >= MAX_FOLDER_FILES) {
        qsort(list, n, sizeof *list, older_first);
        for (size_t i = 0; i < n - MAX_FOLDER_FILES / 4 * 3; i++)
            unlinkat(folder, list[i].name, 0);
    }
    ip_free(list);
    closedir(dir);
}

bool ip_cachefile_store(ip_cachefile_kind kind, ip_hash128 key, const char *identity, size_t identity_bytes,
                        const void *content, size_t n)
{
    char name[NAME_BYTES], temporary[NAME_BYTES];
    uint64_t unique; /* two threads, and a process that died, must not share a temporary name */
    if (n == 0 || n > MAX_FILE_BYTES || identity_bytes > MAX_FILE_BYTES - n - sizeof(head)) return false;
    int folder = ip_folder_open_cache();
    if (folder < 0) return false;
    if (getentropy(&unique, sizeof unique) != 0) unique = (uint64_t)getpid();
    tidy(folder);
    file_name(name, kind, key);
    snprintf(temporary, sizeof temporary, ".tmp-%016llx", (unsigned long long)unique);

    head h = { .identity_bytes = identity_bytes,
               .binary_bytes = n,
               .checksum = checksum_of(identity, identity_bytes, content, n) };
    memcpy(h.magic, magic, sizeof magic);
    bool written = false;
    int fd = ip_fault(IP_FAULT_FILE)
                 ? -1
                 : openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        written = write_all(fd, &h, sizeof h) && write_all(fd, identity, identity_bytes) && write_all(fd, content, n);
        written = close(fd) == 0 && written && !ip_fault(IP_FAULT_FILE);
        written = written && renameat(folder, temporary, folder, name) == 0;
        if (!written) unlinkat(folder, temporary, 0);
    }
    close(folder);
    return written;
}

/* ---- what is pending ---------------------------------------------------------------------------- */

/* The identity in an open file whose content is one byte, a 0; NULL: it is no such file. */
static char *identity_in(int fd)
{
    head h;
    char *identity = NULL;
    if (!read_all(fd, &h, sizeof h) || !is_sound(fd, &h, (size_t)h.identity_bytes)) return NULL;
    const size_t n = (size_t)h.identity_bytes;
    identity = ip_alloc(n + 1);
    if (!identity || !read_all(fd, identity, n + 1)) goto failed;
    ip_hash128 sum = checksum_of(identity, n, "", 1);
    if (h.binary_bytes != 1 || sum.a != h.checksum.a || sum.b != h.checksum.b || identity[n]) goto failed;
    return identity;
failed:
    ip_free(identity);
    return NULL;
}

/* Calls on_name for each file that is pending, until that returns true. */
static void walk_pending(bool (*on_name)(int folder, const char *name, void *user), void *user)
{
    int folder = ip_folder_open_cache(),
        copy = folder < 0 ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir && copy >= 0) close(copy);
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (ends_in(d->d_name, endings[IP_CACHEFILE_PENDING]) && on_name(folder, d->d_name, user)) break;
    if (dir) closedir(dir);
    if (folder >= 0) close(folder);
}

/* It is removed before it is looked at: whatever is wrong with it is met once. */
static bool take(int folder, const char *name, void *user)
{
    char **identity = user;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (unlinkat(folder, name, 0) == 0 && fd >= 0) *identity = identity_in(fd);
    if (fd >= 0) close(fd);
    return *identity != NULL;
}

char *ip_cachefile_take_pending(void)
{
    char *identity = NULL;
    walk_pending(take, &identity);
    return identity;
}

static bool note(int folder, const char *name, void *user)
{
    (void)folder, (void)name;
    *(bool *)user = true;
    return true;
}

bool ip_cachefile_has_pending(void)
{
    bool has = false;
    walk_pending(note, &has);
    return has;
}

int ip_cachefile_lock_pending(void)
{
    int folder = ip_folder_open_cache();
    if (folder < 0) return -1;
    int fd = openat(folder, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    close(folder);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}
