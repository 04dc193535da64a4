/* SPDX-License-Identifier: MIT */
#include "run/progress.h"

static int poll_caller(void *user, double done)
{
    ip_progress *p = user;
    const double here = p->done + p->current * (done < 0 ? 0 : done > 1 ? 1 : done), all = p->done + p->current;
    const double total = p->expected > all ? p->expected : all; /* more than was expected: nobody knows how much more */
    const double fraction = total > 0 ? here / total : 0;
    if (fraction > p->told) p->told = fraction;
    return p->caller.poll(p->caller.user, p->told);
}

static void pass_event(void *user, const imgpar_event *event)
{
    const ip_progress *p = user;
    p->caller.on_event(p->caller.user, event);
}

static void pass_warning(void *user, const char *text)
{
    const ip_progress *p = user;
    p->caller.on_warning(p->caller.user, text);
}

void ip_progress_begin(ip_progress *p)
{
    const imgpar_options caller = p->own;
    *p = (ip_progress){ .own = caller, .caller = caller };
    if (!caller.poll) return;
    p->own.poll = poll_caller;
    p->own.user = p;
    if (caller.on_event) p->own.on_event = pass_event;
    if (caller.on_warning) p->own.on_warning = pass_warning;
}

static ip_progress *progress_of(const imgpar_options *options)
{
    return options && options->poll == poll_caller ? options->user : NULL;
}

void ip_progress_expect(const imgpar_options *options, double work)
{
    ip_progress *p = progress_of(options);
    if (p) p->expected += work;
}

void ip_progress_step(const imgpar_options *options, double work)
{
    ip_progress *p = progress_of(options);
    if (!p) return;
    p->done += p->current;
    p->current = work;
}
