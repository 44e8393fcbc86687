# shellcheck shell=bash
# MPICH's test suite, which tests any MPI library.

# mpich_tests SUITE PREFIX: runs the tests of point-to-point messages, communicators and threads of the suite in SUITE with the MPI in
# PREFIX, and prints a line `ok NAME` or `not_ok NAME` for each.
mpich_tests() {
    local suite=$1 prefix=$2 part build=$PWD/suite
    export MPITEST_TIMEOUT=${MPITEST_TIMEOUT:-90}
    mkdir -p "$build"
    (cd "$build" && "$suite/configure" --with-mpi="$prefix" --disable-fortran --disable-cxx --disable-spawn) >&2
    make -C "$build/util" >&2
    make -C "$build/dtpools" >&2
    for part in pt2pt comm errors/pt2pt errors/comm threads/pt2pt; do
        make -k -C "$build/$part" all >&2 || true
        (cd "$build/$part" && perl "$suite/runtests" -srcdir="$suite/$part" -tests=testlist -mpiexec="$prefix/bin/mpiexec" \
            -tapfile="$build/results.tap" >&2) || true
        sed -nE "s/^(not )?ok [0-9]+ - \.?\/?([^#]*[^# ]).*/\1ok $(printf %s "$part" | sed 's/\//\\\//g')\/\2/p" "$build/results.tap" |
            sed -E 's/^not ok/not_ok/' | tr -s ' ' | sed 's/ /_/2g'
        rm -f "$build/results.tap"
    done
}
