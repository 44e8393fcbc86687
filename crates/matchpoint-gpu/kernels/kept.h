/* What comes before this thread, of those of a block that are kept; `sums` has a word for each warp. Adds all to `total`. */
static __device__ inline unsigned place_among_kept(unsigned *sums, bool is_kept, unsigned *total)
{
    const unsigned warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const unsigned kept = __ballot_sync(ALL, is_kept);
    __syncthreads(); /* the sums before are read */
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
