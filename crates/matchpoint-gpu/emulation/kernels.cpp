/* The kernels, compiled for a host, behind functions that Rust calls. Each gives false if threads waited for each other in
 * vain. */
#include "simt.h"

#include "../kernels/batch.h"

#include "../kernels/matrix.cu"

#include "../kernels/hash.cu"

#include "../kernels/ordered.cu"

/* How a kernel is run, and what all are given. */
struct Launch {
    unsigned blocks, threads, shared_bytes;
    unsigned seed;            /* of the hash function */
    unsigned long long order; /* in which threads run is drawn from this */
    const Message *messages;
    const Receive *receives;
    unsigned message_count, receive_count;
    unsigned *matched;
};

/* Runs a kernel: its arguments travel through a closure. */
template <typename Kernel> static bool run(const Launch &launch, Kernel kernel)
{
    const auto body = [](const void *arguments) { (*static_cast<const Kernel *>(arguments))(); };
    return simt::launch(launch.blocks, launch.threads, launch.shared_bytes, launch.order, body, &kernel);
}

extern "C" bool emulate_matrix(const Launch *launch, const unsigned *message_order, const unsigned *receive_order,
                               const Segment *segments)
{
    return run(*launch, [=] {
        match_matrix(launch->messages, message_order, launch->receives, receive_order, segments, launch->matched);
    });
}

extern "C" bool emulate_hash(const Launch *launch, unsigned *table, unsigned secondary, unsigned *placed, unsigned *done)
{
    return run(*launch, [=] {
        match_hash(launch->messages, launch->message_count, launch->receives, launch->receive_count, launch->seed, table,
                   secondary, placed, done, launch->matched);
    });
}

extern "C" bool emulate_ordered(const Launch *launch, Slot *table, unsigned slots, unsigned *slot_of, unsigned *number,
                                unsigned *queued)
{
    return run(*launch, [=] {
        match_ordered(launch->messages, launch->message_count, launch->receives, launch->receive_count, launch->seed, table,
                      slots, slot_of, number, queued, launch->matched);
    });
}
