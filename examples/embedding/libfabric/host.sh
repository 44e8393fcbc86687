# shellcheck shell=bash disable=SC2154
# How scripts/test-embedding builds, tests and measures libfabric. It sets `work`, `folder`, `only` and `embedding_flags`.

# See "Differences" in README.md.
# shellcheck disable=SC2034
intended='^(< Fail|> Pass) (late source|posted order|large address) over '

# A debug build into $2 for the tests, and a release into $2/release for the measurement.
build_host() {
    local provider build prefix options off=()
    for provider in verbs efa psm3 opx usnic ucx; do off+=("--disable-$provider"); done
    [ -x configure ] || ./autogen.sh
    [ -x fabtests/configure ] || (cd fabtests && ./autogen.sh)
    for build in debug release; do
        if [ "$build" = debug ]; then prefix=$2 options=(--enable-debug); else prefix=$2/release options=(); fi
        mkdir -p "$build/fabtests"
        (cd "$build" && ../configure --prefix="$prefix" "${options[@]}" "${off[@]}" "${embedding_flags[@]}" &&
            make -j"$(nproc)" install)
        (cd "$build/fabtests" && ../../fabtests/configure --prefix="$prefix" --with-libfabric="$prefix" --enable-efa=no \
            --enable-lpp=no --enable-verbs=no && make -j"$(nproc)" install)
    done
    cc -I"$2/include" "$folder/receives.c" -L"$2/lib" -Wl,-rpath,"$2/lib" -lfabric -o "$2/bin/receives"
}

# The functional tests over the providers that use the shared receive context.
test_host() {
    local prefix=$2 provider excluded threads
    for provider in ${only:-shm tcp;ofi_rxm}; do
        excluded=source/fabtests/test_configs/${provider#*;}/${provider#*;}.exclude
        [ -f "$excluded" ] || excluded=/dev/null
        bash source/fabtests/scripts/runfabtests.sh -vvv -f "$excluded" -p "$prefix/bin" -T 60 -t functional "$provider" |
            sed -nE "s/^- name: +(.*)/\1/p; s/^  result: +(.*)/\1/p" | paste -d'|' - - |
            sed -E 's/(.*)\|(.*)/\2 \1/' || true
        for threads in safe domain; do
            timeout 60 "$prefix/bin/receives" "$provider" "$threads" || true
        done
    done
}

measure_host() { "$folder/measure" "$1/release" "$2/release"; }
