/* SPDX-License-Identifier: MIT */
#include "behind.h"

#include "signals.h"

#include <errno.h>
#include <stdlib.h>

enum { TICK_MS = 50 };

/* Whoever reads may take any time, so that behind_end() cancels what is being written; nowhere else. */
static int write_piece(behind *b, uint64_t number)
{
    const size_t k = (size_t)(number % BEHIND_PIECES);
    int unused;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &unused);
    errno = 0;
    const bool ok = fwrite(b->pieces[k].bytes, 1, b->pieces[k].n, b->file) == b->pieces[k].n && fflush(b->file) == 0;
    const int why = errno ? errno : EIO;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &unused);
    return ok ? 0 : why;
}

static void *write_all(void *user)
{
    behind *b = user;
    int unused;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &unused);
    pthread_mutex_lock(&b->io.lock);
    for (;;) {
        while (!b->ends && b->n_done == b->n_put)
            pthread_cond_wait(&b->io.changed, &b->io.lock);
        if (b->n_done == b->n_put) break;
        const uint64_t number = b->n_done;
        const bool writes = b->error == 0;
        pthread_mutex_unlock(&b->io.lock);
        const int why = writes ? write_piece(b, number) : 0;
        pthread_mutex_lock(&b->io.lock);
        if (why) b->error = why;
        if (!b->error) b->n_written++;
        b->n_done++;
        pthread_cond_broadcast(&b->io.changed);
    }
    pthread_mutex_unlock(&b->io.lock);
    return NULL;
}

bool behind_begin(behind *b, FILE *file)
{
    *b = (behind){ .file = file };
    return io_thread_begin(&b->io, write_all, b);
}

unsigned char *behind_room(behind *b, size_t n)
{
    pthread_mutex_lock(&b->io.lock);
    while (!b->error && b->n_put - b->n_done == BEHIND_PIECES && !signals_poll(NULL, 0))
        threads_wait(&b->io.changed, &b->io.lock, TICK_MS);
    const bool has_room = !b->error && b->n_put - b->n_done < BEHIND_PIECES;
    const size_t k = (size_t)(b->n_put % BEHIND_PIECES);
    pthread_mutex_unlock(&b->io.lock);
    if (!has_room) return NULL;
    if (n > b->pieces[k].capacity) {
        unsigned char *bytes = realloc(b->pieces[k].bytes, n);
        if (!bytes) return NULL;
        b->pieces[k].bytes = bytes;
        b->pieces[k].capacity = n;
    }
    b->pieces[k].n = n;
    return b->pieces[k].bytes;
}

void behind_put(behind *b)
{
    pthread_mutex_lock(&b->io.lock);
    b->n_put++;
    pthread_cond_broadcast(&b->io.changed);
    pthread_mutex_unlock(&b->io.lock);
}

int behind_why(behind *b, uint64_t *piece)
{
    if (b->io.is_there) pthread_mutex_lock(&b->io.lock);
    const int why = b->error;
    *piece = b->n_written;
    if (b->io.is_there) pthread_mutex_unlock(&b->io.lock);
    return why;
}

bool behind_end(behind *b, bool is_whole)
{
    if (!b->io.is_there) return true;
    pthread_mutex_lock(&b->io.lock);
    while (is_whole && !b->error && b->n_done < b->n_put && !signals_poll(NULL, 0))
        threads_wait(&b->io.changed, &b->io.lock, TICK_MS);
    const bool is_done = !b->error && b->n_done == b->n_put;
    b->ends = true;
    pthread_cond_broadcast(&b->io.changed);
    pthread_mutex_unlock(&b->io.lock);
    io_thread_end(&b->io, !is_done);
    for (int k = 0; k < BEHIND_PIECES; k++)
        free(b->pieces[k].bytes);
    return is_done;
}
