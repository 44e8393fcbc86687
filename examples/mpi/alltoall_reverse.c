/* All-to-all by messages in the worst order. Receives are posted for source 0, block 0 first. Messages are
 * sent to the last rank, last block first. Manual transposes look like this, and it is a standard worst case
 * for a list of posted receives.
 *
 * Matching: ranks times blocks receives are posted before the first message is sent. Of each source, the
 * receive posted last matches first. Every receive is directed and has a tag.
 *
 * The blocks are those of a matrix, which is transposed, and transposed back. */
#include "example.h"

static long blocks = 16, edge = 4, rounds = 10;

/* Block b for rank `to` of a buffer with `blocks` blocks for each rank. */
static double *block_at(double *buffer, int to, long b) { return buffer + ((long)to * blocks + b) * edge * edge; }

static void exchange(int ranks, double *out, double *in, MPI_Request *requests) {
    MPI_Request *request = requests;
    int length = (int)(edge * edge);
    for (int from = 0; from < ranks; from++)
        for (long b = 0; b < blocks; b++, request++)
            MPI_Irecv(block_at(in, from, b), length, MPI_DOUBLE, from, (int)b, MPI_COMM_WORLD, request);
    /* Without this barrier, messages could arrive before the posts. */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int to = ranks - 1; to >= 0; to--)
        for (long b = blocks - 1; b >= 0; b--, request++)
            MPI_Isend(block_at(out, to, b), length, MPI_DOUBLE, to, (int)b, MPI_COMM_WORLD, request);
    MPI_Waitall((int)(request - requests), requests, MPI_STATUSES_IGNORE);
}

static void transpose_blocks(double *buffer, long count) {
    for (double *block = buffer; block < buffer + count * edge * edge; block += edge * edge)
        for (long i = 0; i < edge; i++)
            for (long j = 0; j < i; j++) {
                double kept = block[i * edge + j];
                block[i * edge + j] = block[j * edge + i];
                block[j * edge + i] = kept;
            }
}

/* Element in row i, column j of block b from one rank to another. */
static double element(int from, int to, long b, long i, long j) {
    return (((double)from * 1000 + to) * 1000 + (double)b) * 1000 + (double)(i * edge + j);
}

static long wrong_elements(double *buffer, int ranks, int rank, bool transposed) {
    long wrong = 0;
    for (int other = 0; other < ranks; other++)
        for (long b = 0; b < blocks; b++)
            for (long i = 0; i < edge; i++)
                for (long j = 0; j < edge; j++) {
                    double wanted = transposed ? element(other, rank, b, j, i) : element(rank, other, b, i, j);
                    wrong += block_at(buffer, other, b)[i * edge + j] != wanted;
                }
    return wrong;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--blocks", &blocks, "messages to each rank", false},
        {"--edge", &edge, "rows and columns of a message", false},
        {"--rounds", &rounds, "transpositions there and back", false},
    };
    int ranks, rank;
    long wrong = 0;
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long messages = ranks * blocks;
    double *out = ALLOCATE(double, messages * edge * edge), *in = ALLOCATE(double, messages * edge * edge);
    MPI_Request *requests = ALLOCATE(MPI_Request, 2 * messages);
    for (int to = 0; to < ranks; to++)
        for (long b = 0; b < blocks; b++)
            for (long i = 0; i < edge * edge; i++)
                block_at(out, to, b)[i] = element(rank, to, b, i / edge, i % edge);
    for (long round = 0; round < rounds; round++) {
        exchange(ranks, out, in, requests);
        transpose_blocks(in, messages);
        wrong += wrong_elements(in, ranks, rank, true);
        exchange(ranks, in, out, requests);
        transpose_blocks(out, messages);
        wrong += wrong_elements(out, ranks, rank, false);
    }
    return finish(wrong == 0, "alltoall_reverse: %d ranks, %ld messages from each to each, %ld rounds", ranks, blocks,
                  rounds);
}
