#!/bin/sh
# SPDX-License-Identifier: MIT
#
# in_one_process.sh PROGRAM - runs all tests of a Check program in one process, since opening a device takes longer than most tests.
# If one fails, they run again, each in a process of its own, so that the log tells which; the program has failed all the same. A
# program whose tests need processes of their own says so by srunner_set_fork_status(). CK_FORK, where it is set, holds.
#
# A segmentation fault in one process is not held against a program whose tests pass by themselves: where contexts come and go, a
# thread of PoCL 3.1 can release an event of one that is gone (POclReleaseEvent). What a sanitizer finds is no such signal.

# PoCL's optimizer is half of what a program's first run costs. The Check programs compare numbers, which it must not change: the
# quick tier has them compile without it, in a cache of their own, since PoCL's does not know the flag. With it every kind of kernel
# runs in check_schedules, the scripts run as users do, and all programs run in the full tier. Those that try caches have it, and those
# that compute more than they compile, or count on how long that takes.
case ${POCL_CACHE_DIR:+${IMGPAR_TEST_TIER:-}}:${1##*/} in
*:check_blas | *:check_branches | *:check_device | *:check_loop | *:check_rank | *:check_schedules | *:check_stream | *:check_stress | \
    *:check_tier) ;;
quick:check_*)
    POCL_EXTRA_BUILD_FLAGS="${POCL_EXTRA_BUILD_FLAGS:-} -cl-opt-disable"
    POCL_CACHE_DIR=$POCL_CACHE_DIR/unoptimized
    IMGPAR_CACHE_DIR=$POCL_CACHE_DIR/imgpar
    mkdir -p "$IMGPAR_CACHE_DIR" || exit 99
    export POCL_EXTRA_BUILD_FLAGS POCL_CACHE_DIR IMGPAR_CACHE_DIR
    ;;
esac

if [ -n "${CK_FORK:-}" ]; then exec "$@"; fi

CK_FORK=no timeout --foreground -k 10 "${IMGPAR_TEST_TIMEOUT:-1200}" "$@"
status=$?
case $status in 0 | 77) exit "$status" ;; esac # passed, or all of it skipped
echo "exit status $status in one process; again, each test in a process of its own:"
CK_FORK=yes "$@"
alone=$?
[ "$status" -ne 139 ] || exit "$alone"
exit 1
