/* SPDX-License-Identifier: MIT */
/* imgpar-run: runs pipelines of image operations. See imgpar-run(1). */
#include "help.h"
#include "options.h"
#include "output.h"
#include "run.h"
#include "signals.h"

#include <imgpar.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    options o;
    int status = options_parse(argc, argv, &o);
    if (status) return status;
    signals_catch();
    switch (o.action) {
    case ACTION_RUN: status = run(&o); break;
    case ACTION_HELP: status = o.help_op ? print_op(o.help_op) : print_usage(); break;
    case ACTION_LIST_OPS: status = print_ops(); break;
    case ACTION_LIST_DEVICES: status = print_devices(); break;
    case ACTION_COMPILE_PENDING: status = compile_pending(); break;
    case ACTION_VERSION: printf("imgpar-run %s\n", imgpar_version()); break;
    }
    status = close_stdout(status);
    if (status == EXIT_FAILED && signals_seen()) signals_raise();
    if (status == EXIT_FAILED && stdout_has_no_reader()) signals_raise_pipe();
    return status;
}
