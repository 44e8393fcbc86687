/* The kernels compiled for a host, behind functions for Rust. Each returns false after a deadlock of its
 * threads. */
#include "simt.h"

#include "../kernels/batch.h"

#include "../kernels/matrix.cu"

#include "../kernels/partitioned.cu"

#include "../kernels/hash.cu"

#include "../kernels/ordered.cu"

#include "../kernels/long.cu"

#include "../kernels/segments.cu"

#include "../kernels/kept.h"

#include "../kernels/compact.cu"

#include "../kernels/resident.cu"

#include "../kernels/divide.cu"

#include "../kernels/wild.cu"

/* Size of a launch. */
struct Launch {
    unsigned blocks, threads, shared_bytes, padding;
    unsigned long long order; /* seed of the order of threads */
};

/* Runs a kernel with `arguments`, as on a card. */
template <typename Arguments> static bool run(const Launch &launch, void (*kernel)(Arguments), const void *arguments)
{
    struct Call {
        void (*kernel)(Arguments);
        const Arguments *arguments;
    } const call{kernel, static_cast<const Arguments *>(arguments)};
    const auto body = [](const void *given) {
        const Call *const call = static_cast<const Call *>(given);
        call->kernel(*call->arguments);
    };
    return simt::launch(launch.blocks, launch.threads, launch.shared_bytes, launch.order, body, &call);
}

/* Steps of all kernels: see simt.h. */
extern "C" unsigned long long emulated_steps()
{
    return simt::steps;
}

/* Hash of an envelope. */
extern "C" unsigned long long emulated_hash(const Envelope *envelope, unsigned long long seed)
{
    return mixed(*envelope, seed);
}

#define EMULATE(kernel) \
    extern "C" bool emulate_##kernel(const Launch *launch, const void *arguments) \
    { \
        return run(*launch, kernel, arguments); \
    }

EMULATE(match_matrix)
EMULATE(match_partitioned)
EMULATE(match_hash)
EMULATE(match_ordered)
EMULATE(match_held)
EMULATE(match_resident)
EMULATE(feed_resident)
EMULATE(compact)
EMULATE(compact_by_warps)
EMULATE(count_digits)
EMULATE(sum_digits)
EMULATE(move_by_digit)
EMULATE(find_segments)
EMULATE(begin_wildcards)
EMULATE(seek_oldest)
EMULATE(settle_wildcards)
