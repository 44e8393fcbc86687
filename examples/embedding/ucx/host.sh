# shellcheck shell=bash disable=SC2154
# How scripts/test-embedding builds, tests and measures UCX. It sets `work`, `folder`, `only` and `embedding_flags`.

ucx_options=(--without-java --without-go --without-cuda --without-rocm --disable-doxygen-doc)

# A release into $2. Stock also gets the test program, in a build with assertions and several threads. ours gets such a libucp.
build_host() {
    local variant=$1 prefix=$2
    [ -x configure ] || ./autogen.sh
    # UCX's test program skips three quarters of these tests, because of a fault of network cards. Run them all.
    sed -i '/^bool skip_hw_tm_offload/,/^}/s/return true;/return false;/' test/gtest/common/test_helpers.cc
    mkdir -p release checked
    (cd release && ../contrib/configure-release --prefix="$prefix" "${ucx_options[@]}" "${embedding_flags[@]}" &&
        make -j"$(nproc)" && make install)
    local part parts=(.)
    if [ "$variant" = ours ]; then parts=(src/ucm src/ucs src/uct src/ucp); fi
    (cd checked && ../contrib/configure-devel --enable-mt --enable-gtest "${ucx_options[@]}" "${embedding_flags[@]}" &&
        for part in "${parts[@]}"; do make -j"$(nproc)" -C "$part"; done)
}

# The tests of tag matching, of requests and of threads. The embedding changes no struct, so one test program serves both. A test
# that starts and does not end is CRASHED; tests after it do not run.
test_host() {
    local filter gtest=$work/stock/source/checked/test/gtest/gtest
    filter=${only:-$(sed '/^#/d' "$folder/tests" | paste -sd:)}
    LD_PRELOAD=$work/$1/source/checked/src/ucp/.libs/libucp.so "$gtest" --gtest_filter="$filter" | awk '
        /^\[ RUN / { running = $4 }
        /^\[ +(OK|FAILED|SKIP|SKIPPED) +\]/ && running != "" { print $2, running; running = "" }
        END { if (running != "") print "CRASHED", running }'
}

measure_host() { "$folder/measure" "$1" "$2" 3; }
