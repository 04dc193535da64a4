# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# common.sh - the environment of every test, and helpers for the test scripts.
#
# `make check` reads it before each test, programs included, so all of them share one
# kernel cache. A script reads it for the functions, and can be run by hand from the
# top folder or from build/:
#
#     . "${srcdir:-.}/tests/common.sh"
#     need_module
#     scratch
#     got=$(sql "SELECT img_width(x'00')" 2>&1)
#     expect "a message is pinned" "$got" "Error: ..."
#     finish
#
# Exit status: 0 passed, 1 failed, 77 skipped (automake's number).

# ---- where things are: absolute paths, whoever calls -------------------------------

if [ -z "${top_srcdir:-}" ]; then
    if [ -n "${srcdir:-}" ]; then top_srcdir=$srcdir
    elif [ -f include/imgpar.h ]; then top_srcdir=.
    else top_srcdir=..
    fi
fi
top_srcdir=$(cd "$top_srcdir" && pwd) || exit 99
if [ -z "${builddir:-}" ]; then
    if [ -f config.status ]; then builddir=.; else builddir=$top_srcdir/build; fi
fi
[ ! -d "$builddir" ] || builddir=$(cd "$builddir" && pwd)

# Test material that is not part of the checkout lies beside it. Unset: skip what needs it.
if [ -z "${IMGPAR_SHARED:-}" ] && [ -d "$top_srcdir/../shared/pngsuite" ]; then
    IMGPAR_SHARED=$(cd "$top_srcdir/../shared" && pwd)
fi
IMGPAR_SHARED=${IMGPAR_SHARED:-}

# quick: minutes. full: the whole matrix, by make check-full.
IMGPAR_TEST_TIER=${IMGPAR_TEST_TIER:-quick}
IMGPAR_SANITIZED=${IMGPAR_SANITIZED:-}

# Compiling kernels is what takes time, so one cache serves all tests of all builds.
if [ -z "${POCL_CACHE_DIR:-}" ]; then
    POCL_CACHE_DIR=${XDG_CACHE_HOME:-${HOME:-}/.cache}/imgpar-test-pocl
    mkdir -p "$POCL_CACHE_DIR" 2>/dev/null && [ -w "$POCL_CACHE_DIR" ] ||
        POCL_CACHE_DIR=$builddir/.pocl-cache
fi
mkdir -p "$POCL_CACHE_DIR" || exit 99

# What somebody had tuned on this machine is not what is tested.
IMGPAR_CACHE_DIR=${IMGPAR_CACHE_DIR:-$POCL_CACHE_DIR/imgpar}
mkdir -p "$IMGPAR_CACHE_DIR" || exit 99
export IMGPAR_CACHE_DIR

# As the library does where nothing else runs in the process yet (src/run/drivers.h); sanitizers have threads.
POCL_WORK_GROUP_SPECIALIZATION=${POCL_WORK_GROUP_SPECIALIZATION:-0}
export POCL_WORK_GROUP_SPECIALIZATION

# What is tested are kernels, and how many there are, whatever was compiled before; check_tier tells what it wants.
IMGPAR_TIER=kernels
export IMGPAR_TIER

# A program that calls a built-in function which shaders/builtins.cl does not declare fails (src/run/cache.c).
IMGPAR_BUILTINS=declared
export IMGPAR_BUILTINS

# Check gives a test 4 seconds, and a cold kernel cache alone can take longer.
CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-120}
export CK_DEFAULT_TIMEOUT

# Leak reports are about us only with PoCL alone: other drivers have leaks of their own.
if [ -n "$IMGPAR_SANITIZED" ]; then
    if [ -z "${OCL_ICD_VENDORS:-}" ] && [ -f /etc/OpenCL/vendors/pocl.icd ]; then
        OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd
        export OCL_ICD_VENDORS
    fi
    # ASan guesses where a loaded library (the OpenCL driver) keeps thread-local memory, and the leak search then
    # crashes where the guess was wrong. A thread in which the driver's compiler ran has that one's signal stack, and
    # ASan would free it as its own. The driver's compiler allocates much, and memory that is soon
    # used again is quicker.
    ASAN_OPTIONS=intercept_tls_get_addr=0:use_sigaltstack=0:quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}
    export ASAN_OPTIONS
    LSAN_OPTIONS=suppressions=$top_srcdir/tests/lsan.supp:print_suppressions=0:use_tls=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}
    UBSAN_OPTIONS=print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
    export LSAN_OPTIONS UBSAN_OPTIONS
fi

# What a user has set up for the library must not steer its tests.
unset IMGPAR_BLAS IMGPAR_PLACEMENT IMGPAR_SCHEDULE IMGPAR_FUSE IMGPAR_CHECK IMGPAR_DUMP IMGPAR_MEM_LIMIT IMGPAR_MAX_PIXELS
LC_ALL=C
export top_srcdir builddir IMGPAR_SHARED IMGPAR_TEST_TIER IMGPAR_SANITIZED POCL_CACHE_DIR LC_ALL

# shellcheck disable=SC2034  # for the scripts
imgpar_run=$builddir/imgpar-run

# ---- ending a script ----------------------------------------------------------------

n_failed=0

# skip WHY: ends the script as skipped.
skip() {
    echo "skipped: $*"
    exit 77
}

# fail WHAT: notes a failure and goes on, so that one run shows all of them.
fail() {
    echo "FAILED: $*"
    n_failed=$((n_failed + 1))
}

# finish: the last line of a script.
finish() {
    [ "$n_failed" -eq 0 ] || { echo "$n_failed failed"; exit 1; }
    exit 0
}

# ---- what a script may need -----------------------------------------------------------

# need_shared: skips where the test material beside the checkout is missing.
need_shared() {
    [ -n "$IMGPAR_SHARED" ] || skip "no test material (set IMGPAR_SHARED)"
}

# need_module: skips where the module cannot be loaded into the sqlite3 shell.
need_module() {
    command -v sqlite3 >/dev/null || skip "no sqlite3 shell"
    [ -z "$IMGPAR_SANITIZED" ] || skip "sanitized code cannot be loaded into the sqlite3 shell"
}

# need_full: skips a long script in the quick tier.
need_full() {
    [ "$IMGPAR_TEST_TIER" = full ] || skip "only in the full tier (IMGPAR_TEST_TIER=full)"
}

# scratch: makes a private folder, enters it, and removes it when the script ends. $tmp is its path.
scratch() {
    tmp=$(mktemp -d "${TMPDIR:-/tmp}/imgpar-test.XXXXXX") || exit 99
    trap 'cd / && rm -rf "$tmp"' 0
    trap 'exit 99' 1 2 15
    cd "$tmp" || exit 99
}

# ---- running and comparing ---------------------------------------------------------------

# sql ARGUMENT...: the sqlite3 shell on a database in memory with the module loaded.
sql() {
    sqlite3 -batch -bail -cmd ".load $builddir/imgpar" :memory: "$@"
}

# expect CLAIM GOT WANTED: compares two texts.
expect() {
    [ "$2" = "$3" ] || fail "$1
  wanted: $3
  got:    $2"
}

# expect_status CLAIM WANTED COMMAND...: runs a command; its output goes to $output.
expect_status() {
    claim=$1 wanted=$2
    shift 2
    status=0
    output=$("$@" 2>&1) || status=$?
    [ "$status" -eq "$wanted" ] || fail "$claim
  wanted exit status $wanted, got $status from: $*
  $output"
}

# expect_same CLAIM FILE FILE: compares two files byte by byte.
expect_same() {
    cmp -s "$2" "$3" || fail "$1: $2 and $3 differ"
}
