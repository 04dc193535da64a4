/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* Threads poll, a handler sets them. */
static atomic_int seen; /* the number of the first signal, or 0 */
static atomic_bool is_polled;

static bool ends_by_pipe;

static void end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number); /* in the handler: comes when that returns */
}

static void note(int number)
{
    if (seen || !is_polled)
        end_by(number);
    else
        seen = number;
}

void signals_catch(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    const struct sigaction noting = { .sa_handler = note };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        struct sigaction before;
        if (sigaction(numbers[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[k], &noting, NULL);
    }
    ends_by_pipe = signal(SIGPIPE, SIG_IGN) == SIG_DFL;
}

bool signals_end_by_pipe(void) { return ends_by_pipe; }

void signals_raise_pipe(void) { end_by(SIGPIPE); }

int signals_poll(void *user, double done)
{
    (void)user;
    (void)done;
    is_polled = 1;
    return seen != 0;
}

bool signals_seen(void) { return seen != 0; }

void signals_raise(void) { end_by(seen); }
