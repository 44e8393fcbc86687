# shellcheck shell=bash disable=SC2154
# How scripts/test-embedding builds, tests and measures libfabric. It sets `work`, `folder`, `only` and `embedding_flags`.

# See "Differences" in README.md.
# shellcheck disable=SC2034
intended='^(< Fail|> Pass) (late source|posted order|large address) over '

build_host() {
    local prefix=$2 provider off=()
    for provider in verbs efa psm3 opx usnic ucx; do off+=("--disable-$provider"); done
    [ -x configure ] || ./autogen.sh
    ./configure --prefix="$prefix" --enable-debug "${off[@]}" "${embedding_flags[@]}"
    make -j"$(nproc)" install
    (cd fabtests && ./autogen.sh &&
        ./configure --prefix="$prefix" --with-libfabric="$prefix" --enable-efa=no --enable-lpp=no --enable-verbs=no &&
        make -j"$(nproc)" install)
    cc -I"$prefix/include" "$folder/receives.c" -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lfabric -o "$prefix/bin/receives"
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

measure_host() { echo 'libfabric: nothing is measured'; }
