#!/bin/sh
# SPDX-License-Identifier: MIT
#
# autogen.sh - from a fresh checkout to a configured tree, a picture, or a tested build.
#
# Works from a minimal Debian root: nothing is assumed but a POSIX shell and apt-get, not
# even HOME, a locale or a PATH. See usage() for what it does.
set -eu

usage() {
    cat <<'EOF'
Usage: ./autogen.sh [demo | check | packages | ci | --help]

  (nothing)  bootstrap: generate configure with autoconf, automake and libtool
  demo       set everything up, build, draw the sample pictures, say where they lie
  check      set everything up, build, run the test suite
  packages   print the Debian packages that are missing here, install nothing
  ci         install what .ci/run needs beside check: valgrind, Oclgrind, rusticl, CLBlast, FreeType, ccache, clang-format

demo and check install missing Debian packages with apt-get (as root or through sudo),
configure in build/, and build there; what is already done is not done again.

Environment: CONFIGURE_FLAGS is given to configure the first time, JOBS is the number of
parallel jobs, IMGPAR_TEST_TIER=full runs the whole test matrix.
EOF
}

say() { printf '%s\n' "$*"; }
die() { printf 'autogen.sh: %s\n' "$*" >&2; exit 1; }

# ---- packages ------------------------------------------------------------------------

# needed WORD: one line for each thing needed: "PACKAGE HOW WHAT". HOW is a way to see
# whether it is there, which works on systems with other package names too:
#   command NAME, module PKG-CONFIG-NAME, header FILE, driver PART-OF-ICD-FILE-NAME.
needed() {
    cat <<'EOF'
autoconf command autoreconf
automake command automake
libtool command libtoolize
gcc command gcc
libc6-dev header stdio.h
make command make
pkg-config command pkg-config
ocl-icd-opencl-dev module OpenCL
opencl-c-headers header CL/cl.h
libpng-dev module libpng
libdeflate-dev module libdeflate
libjpeg62-turbo-dev module libjpeg
libsqlite3-dev module sqlite3
check module check
pocl-opencl-icd driver pocl
EOF
    # The tests use the sqlite3 shell, and compile the public headers as C++.
    [ "$1" != check ] || cat <<'EOF'
sqlite3 command sqlite3
g++ command g++
EOF
    [ "$1" != ci ] || cat <<'EOF'
valgrind command valgrind
oclgrind command oclgrind
mesa-opencl-icd driver rusticl
libclblast-dev module clblast
libsdl2-dev module sdl2
libfreetype-dev module freetype2
ccache command ccache
clang-format command clang-format
EOF
}

# is_there HOW WHAT
is_there() {
    case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    module) pkg-config --exists "$2" 2>/dev/null ;;
    header) printf '#include <%s>\n' "$2" | gcc -E -DCL_TARGET_OPENCL_VERSION=120 -o /dev/null -xc - 2>/dev/null ;;
    # Who names the drivers to use has chosen them.
    driver) [ -n "${OCL_ICD_VENDORS:-}" ] || ls /etc/OpenCL/vendors/*"$2"*.icd >/dev/null 2>&1 ;;
    esac
}

# missing WORD: the packages of needed() that are not there, in one line.
missing() {
    needed "$1" | while read -r package how what; do
        is_there "$how" "$what" </dev/null || printf '%s ' "$package"
    done
}

# install_packages PACKAGE...: with apt-get, or says what a person has to do.
install_packages() {
    if ! command -v apt-get >/dev/null 2>&1; then
        die "there is no apt-get here. Please install what these Debian packages hold: $*"
    fi
    if [ "$(id -u)" -eq 0 ]; then
        as_root=
    elif ! command -v sudo >/dev/null 2>&1; then
        die "not root, and no sudo. Please run as root: apt-get install $*"
    elif [ -t 0 ]; then
        as_root=sudo
    else
        as_root='sudo -n'
    fi
    say "Installing Debian packages: $*"
    mkdir -p build
    # shellcheck disable=SC2086  # $as_root is empty or words
    {
        $as_root apt-get -qq update ||
            say "apt-get update failed; trying with the package lists that are here"
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
            -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null > build/packages.log 2>&1 || {
            tail -n 20 build/packages.log >&2
            die "apt-get could not install them (build/packages.log)"
        }
    }
}

set_up_packages() {
    packages=$(missing "$1")
    [ -n "$packages" ] || return 0
    # shellcheck disable=SC2086  # one word a package
    install_packages $packages
    packages=$(missing "$1")
    [ -z "$packages" ] || die "still missing after the installation: $packages"
}

# ---- building ------------------------------------------------------------------------

bootstrap() {
    { command -v autoreconf && command -v libtoolize; } >/dev/null 2>&1 ||
        die "autoconf, automake and libtool are needed (Debian packages: autoconf automake libtool pkg-config)"
    say "Generating configure"
    mkdir -p .aux .m4
    # libtoolize tells what it copies; only its complaints matter.
    autoreconf -fi > .aux/autoreconf.log 2>&1 || { cat .aux/autoreconf.log >&2; die "autoreconf failed"; }
}

# is_older FILE THAN...: FILE is missing or older than one of the others.
is_older() {
    [ -f "$1" ] || return 0
    [ -z "$(find "$@" -newer "$1" 2>/dev/null)" ] || return 0
    return 1
}

build() {
    if is_older configure configure.ac || [ ! -f Makefile.in ]; then
        bootstrap
    fi
    # A tree that was copied here with its build folder still points to where it was.
    if [ -f build/Makefile ] && ! grep -qxF "abs_builddir = $PWD/build" build/Makefile; then
        say "build/ belongs to another folder; starting it afresh"
        rm -rf build
    fi
    mkdir -p build
    if [ ! -f build/Makefile ] || [ ! -f build/config.status ]; then
        say "Configuring in build/"
        # shellcheck disable=SC2086  # options, word by word
        (cd build && ../configure ${CONFIGURE_FLAGS:-}) > build/configure.log 2>&1 ||
            { tail -n 20 build/configure.log >&2; die "configure failed (build/configure.log, build/config.log)"; }
    fi
    say "Building in build/"
    make -C build -j "$jobs" --no-print-directory
}

# The samples name their files relative to themselves, so they are run as copies in build/demo.
demo() {
    mkdir -p build/demo
    cp samples/*.conf build/demo/
    (cd build/demo && ../imgpar-run scenes.conf && ../imgpar-run sunset.conf) || die "the demo failed"
    [ -f build/demo/out.png ] || die "the demo wrote no build/demo/out.png"
    say ""
    say "Three scenes were drawn from coordinates, then blurred, blended and overlaid by samples/sunset.conf."
    say "The picture: $PWD/build/demo/out.png"
}

# ---- main ----------------------------------------------------------------------------

cd "$(dirname "$0")"

# A bare chroot may have no PATH that reaches ld or dpkg's tools, and no locale that exists.
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL

jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}

[ $# -le 1 ] || { usage >&2; exit 2; }
case ${1-} in
'')
    bootstrap
    say "Next: mkdir -p build && cd build && ../configure && make"
    say "Or all at once: ./autogen.sh demo, ./autogen.sh check"
    ;;
demo)
    set_up_packages demo
    build
    demo
    ;;
check)
    set_up_packages check
    build
    rm -f build/test-suite.summary
    make -C build -j "$jobs" --no-print-directory check VERBOSE=1 || {
        # Once more, after make's own words about the failure.
        [ ! -f build/test-suite.summary ] || cat build/test-suite.summary
        exit 1
    }
    ;;
packages)
    missing check
    say
    ;;
ci)
    set_up_packages ci
    ;;
-h | --help | help)
    usage
    ;;
*)
    printf 'autogen.sh: unknown word: %s\n' "$1" >&2
    usage >&2
    exit 2
    ;;
esac
