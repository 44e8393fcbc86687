/* Exclusive prefix sum of `is_kept` over a block, plus `total`. Adds the block's sum to `total`. `sums` has a
 * word per warp. */
static __device__ inline unsigned place_among_kept(unsigned *sums, bool is_kept, unsigned *total)
{
    const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const unsigned kept = __ballot_sync(ALL, is_kept);
    __syncthreads(); /* all threads have read the earlier sums */
    if (lane == 0)
        sums[warp] = __popc(kept);
    __syncthreads();
    unsigned before = *total + __popc(kept & ((1u << lane) - 1));
    for (unsigned other = 0; other < warps; other++) {
        if (other < warp)
            before += sums[other];
        *total += sums[other];
    }
    return before;
}
