/* `gpu_hash`: no wildcards and no order (Klenk et al. 2017, §VI-C), for programs that tell all messages under way apart.
 *
 * Two tables, the first five times the second. Receives are put into the first, or if their place there is taken into the
 * second; messages look in both. What found no place waits for the next turn. A receive that is left in a table after a
 * turn has no message: one of its key would have found it. So each turn is done with all receives that it placed. */

#define TAKEN 0xfffffffeu

/* Takes the receive of the message's key at `slot`, if that is what is there. */
static __device__ inline unsigned claim(unsigned *slot, const Receive *receives, const Message &message)
{
    const unsigned found = *(volatile unsigned *)slot;
    if (found >= TAKEN || !accepts(receives[found], message) || atomicCAS(slot, found, TAKEN) != found)
        return NONE;
    return found;
}

/* One block. `table` has 6 × `secondary` slots; `placed` a word for each receive; `done` one for each message. Words of
 * shared memory: one. */
extern "C" __global__ void match_hash(const Message *messages, unsigned message_count, const Receive *receives,
                                      unsigned receive_count, unsigned seed, unsigned *table, unsigned secondary,
                                      unsigned *placed, unsigned *done, unsigned *matched)
{
    SHARED(unsigned, left_over);
    const unsigned primary = 5 * secondary;
    for (unsigned at = threadIdx.x; at < receive_count; at += blockDim.x) {
        matched[at] = NONE;
        placed[at] = 0;
    }
    for (unsigned at = threadIdx.x; at < message_count; at += blockDim.x)
        done[at] = 0;
    for (bool again = true; again;) {
        for (unsigned at = threadIdx.x; at < primary + secondary; at += blockDim.x)
            table[at] = NONE;
        if (threadIdx.x == 0)
            *left_over = 0;
        __syncthreads();
        for (unsigned at = threadIdx.x; at < receive_count; at += blockDim.x) {
            if (placed[at])
                continue;
            const Receive &receive = receives[at];
            const unsigned key = hash(receive.context, receive.source, receive.tag, seed);
            if (atomicCAS(table + key % primary, NONE, at) == NONE ||
                atomicCAS(table + primary + jenkins(key) % secondary, NONE, at) == NONE)
                placed[at] = 1;
            else
                *left_over = 1;
        }
        __syncthreads();
        for (unsigned at = threadIdx.x; at < message_count; at += blockDim.x) {
            if (done[at])
                continue;
            const Message &message = messages[at];
            const unsigned key = hash(message.context, message.source, message.tag, seed);
            unsigned receive = claim(table + key % primary, receives, message);
            if (receive == NONE)
                receive = claim(table + primary + jenkins(key) % secondary, receives, message);
            if (receive != NONE) {
                matched[receive] = at;
                done[at] = 1;
            }
        }
        again = *left_over != 0;
        __syncthreads();
    }
}
