/* Output by one rank, as in the Fire Dynamics Simulator. At every step each rank sends, by blocking calls,
 * one small message per mesh to rank 0, which receives them rank by rank and mesh by mesh.
 *
 * Matching: while rank 0 handles one rank's messages, those of all others arrive unexpectedly. Its unexpected
 * queue grows with ranks times meshes, and each receive searches it for one source. Every receive is directed
 * and has a tag.
 *
 * Each mesh is a bar that cools from a known temperature; rank 0 checks each message. */
#include "example.h"

static long meshes = 100, points = 16, steps = 10;

/* Temperature at a point of a mesh after a number of steps. Each step removes an eighth. */
static double temperature(int rank, long mesh, long point, long step) {
    double value = 300 + rank + 0.5 * (double)mesh + 0.25 * (double)point;
    for (long i = 0; i < step; i++) value -= value / 8;
    return value;
}

static void report(int rank, long step, double *values) {
    for (long mesh = 0; mesh < meshes; mesh++) {
        for (long point = 0; point < points; point++) values[point] = temperature(rank, mesh, point, step);
        MPI_Send(values, (int)points, MPI_DOUBLE, 0, (int)mesh, MPI_COMM_WORLD);
    }
}

/* Number of wrong values. */
static long collect(int ranks, long step, double *values) {
    long wrong = 0;
    for (int from = 1; from < ranks; from++)
        for (long mesh = 0; mesh < meshes; mesh++) {
            MPI_Recv(values, (int)points, MPI_DOUBLE, from, (int)mesh, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (long point = 0; point < points; point++)
                wrong += values[point] != temperature(from, mesh, point, step);
        }
    return wrong;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--meshes", &meshes, "meshes of each rank", false},
        {"--points", &points, "numbers in a message", false},
        {"--steps", &steps, "steps", false},
    };
    int ranks, rank;
    long wrong = 0;
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *values = ALLOCATE(double, points);
    for (long step = 0; step < steps; step++) {
        if (rank == 0) wrong += collect(ranks, step, values);
        else report(rank, step, values);
    }
    free(values);
    return finish(wrong == 0, "gather_fds: %d ranks, %ld meshes each, %ld steps", ranks, meshes, steps);
}
