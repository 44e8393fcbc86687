# shellcheck shell=bash disable=SC2154
# How scripts/test-embedding builds, tests and measures Open MPI. It sets `work`, `folder`, `only` and `embedding_flags`. Open MPI has no public tests of matching: MPICH_TESTS names the
# folder test/mpi of an MPICH source tree, whose tests run with pml/ob1.

export OMPI_MCA_pml=ob1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

build_host() {
    local variant=$1 prefix=$2 matching=none
    if [ "$variant" = ours ]; then
        matching=matchpoint
        ./autogen.pl --force
    fi
    # The libraries of the host may be too old for this Open MPI.
    ./configure --prefix="$prefix" --with-pml-ob1-matching="$matching" --with-ft=no --disable-mpi-fortran --disable-oshmem \
        --disable-sphinx --with-libevent=internal --with-hwloc=internal --with-pmix=internal --with-prrte=internal \
        "${embedding_flags[@]}"
    make -j"$(nproc)"
    make install
}

test_host() {
    # shellcheck source=examples/embedding/mpich_tests.sh
    . "$folder/../mpich_tests.sh"
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    mpich_tests "${MPICH_TESTS:?name the folder test/mpi of an MPICH source tree}" "$2" "$only"
}

measure_host() { MPIEXEC_OPTIONS='--map-by core --bind-to core' "$folder/../measure_mpi" "$1" "$2"; }
