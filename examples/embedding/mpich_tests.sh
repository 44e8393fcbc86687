# shellcheck shell=bash
# MPICH's test suite, which tests any MPI library.

# mpich_tests SUITE PREFIX [PARTS]: runs the tests of the suite in SUITE with the MPI in PREFIX, and prints a line `ok NAME` or
# `not_ok NAME` for each. PARTS are folders of the suite. The default is point-to-point messages, communicators and threads.
mpich_tests() {
    local suite=$1 prefix=$2 parts=${3:-pt2pt comm errors/pt2pt errors/comm threads/pt2pt} part build=$PWD/suite
    export MPITEST_TIMEOUT=${MPITEST_TIMEOUT:-90}
    mkdir -p "$build"
    (cd "$build" && "$suite/configure" --with-mpi="$prefix" --disable-fortran --disable-cxx --disable-spawn) >&2
    make -C "$build/util" >&2
    make -C "$build/dtpools" >&2
    for part in $parts; do
        make -k -C "$build/$part" all >&2 || true
        (cd "$build/$part" && perl "$suite/runtests" -srcdir="$suite/$part" -tests=testlist -mpiexec="$prefix/bin/mpiexec" \
            -tapfile="$build/results.tap" >&2) || true
        sed -nE "s/^(not )?ok [0-9]+ - \.?\/?([^#]*[^# ]).*/\1ok $(printf %s "$part" | sed 's/\//\\\//g')\/\2/p" "$build/results.tap" |
            sed -E 's/^not ok/not_ok/' | tr -s ' ' | sed 's/ /_/2g'
        rm -f "$build/results.tap"
    done
}
