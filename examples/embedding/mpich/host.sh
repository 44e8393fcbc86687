# shellcheck shell=bash disable=SC2154
# How scripts/test-embedding builds, tests and measures MPICH. It sets `work`, `folder`, `only` and `embedding_flags`. The libfabric of the system, or of LIBFABRIC, carries messages.

build_host() {
    local prefix=$2
    [ -x configure ] || ./autogen.sh -without-ucx -without-ofi
    ./configure --prefix="$prefix" --with-device=ch4:ofi --with-libfabric="${LIBFABRIC:-/usr}" --without-ucx --disable-fortran \
        --disable-cxx --disable-romio --enable-fast=O2 "${embedding_flags[@]}"
    make -j"$(nproc)"
    make install
}

# MPICH's tests of point-to-point messages, communicators and errors.
test_host() {
    # shellcheck source=examples/embedding/mpich_tests.sh
    . "$folder/../mpich_tests.sh"
    mpich_tests "$work/stock/source/test/mpi" "$2" "$only"
}

measure_host() { MPIEXEC_OPTIONS='-bind-to core' "$folder/../measure_mpi" "$1" "$2"; }
