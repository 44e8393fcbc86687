/* Discrete ordinates transport, as in Sweep3D and SNAP: eight wavefronts, one from each corner of the domain,
 * pass through the grid of ranks block of planes by block of planes (Koch, Baker and Alcouffe), with blocking
 * calls.
 *
 * Matching: two blocking receives and two blocking sends per block of planes. An early message belongs to the
 * next block of the same neighbour and has the same tag, so queues are short and only order separates
 * messages.
 *
 * Every rank also sweeps the whole domain alone, and its part must be identical to the last bit. */
#include "example.h"

#include <math.h>

enum { OCTANTS = 8 };

static long cells = 8, planes = 16, block = 4, sweeps = 10;

/* A box of the domain: its start, cells along x, y, z, and its scalar flux. */
struct box {
    long first[3], size[3];
    double *flux;
};

/* Fluxes into a block of planes through its sides, and out of the opposite sides. */
struct sides {
    double *x, *y, *z;
};

static struct box make_box(const long *first, const long *size) {
    struct box box = {{first[0], first[1], first[2]}, {size[0], size[1], size[2]}, NULL};
    box.flux = ALLOCATE(double, size[0] * size[1] * size[2]);
    return box;
}

static struct sides make_sides(const struct box *box, long deep) {
    return (struct sides){ALLOCATE(double, box->size[1] * deep), ALLOCATE(double, box->size[0] * deep),
                          ALLOCATE(double, box->size[0] * box->size[1])};
}

static void free_sides(struct sides sides) {
    free(sides.x);
    free(sides.y);
    free(sides.z);
}

static bool goes_up(int octant, int axis) { return octant >> axis & 1; }

static double source(const struct box *box, long x, long y, long z) {
    return 1 + sin((double)(box->first[0] + x) + 2 * (double)(box->first[1] + y) + 3 * (double)(box->first[2] + z));
}

/* Sweeps planes begin … begin + deep - 1 in the direction of the octant, cell by cell: upwind differences. */
static void pass(struct box *box, int octant, long begin, long deep, struct sides in) {
    const double mu = 0.35 + 0.02 * octant, eta = 0.51 - 0.01 * octant, xi = 0.78, sigma = 1.1;
    const long *size = box->size;
    for (long k = 0; k < deep; k++)
        for (long j = 0; j < size[1]; j++)
            for (long i = 0; i < size[0]; i++) {
                long x = goes_up(octant, 0) ? i : size[0] - 1 - i, y = goes_up(octant, 1) ? j : size[1] - 1 - j;
                long z = goes_up(octant, 2) ? begin + k : size[2] - 1 - begin - k;
                double *through_x = &in.x[k * size[1] + y], *through_y = &in.y[k * size[0] + x];
                double *through_z = &in.z[y * size[0] + x];
                double entering = mu * *through_x + eta * *through_y + xi * *through_z;
                double psi = (source(box, x, y, z) + entering) / (sigma + mu + eta + xi);
                *through_x = *through_y = *through_z = psi;
                box->flux[(z * size[1] + y) * size[0] + x] += psi;
            }
}

static void clear(double *values, long length) { memset(values, 0, (size_t)length * sizeof *values); }

static void sweep_alone(struct box *box) {
    struct sides sides = make_sides(box, box->size[2]);
    for (int octant = 0; octant < OCTANTS; octant++) {
        clear(sides.x, box->size[1] * box->size[2]);
        clear(sides.y, box->size[0] * box->size[2]);
        clear(sides.z, box->size[0] * box->size[1]);
        pass(box, octant, 0, box->size[2], sides);
    }
    free_sides(sides);
}

/* `neighbour`: the ranks below and above along x, and along y; MPI_PROC_NULL at the end of the domain. */
static void sweep_together(struct box *box, const int neighbour[2][2]) {
    struct sides sides = make_sides(box, block);
    for (int octant = 0; octant < OCTANTS; octant++) {
        int from_x = neighbour[0][!goes_up(octant, 0)], to_x = neighbour[0][goes_up(octant, 0)];
        int from_y = neighbour[1][!goes_up(octant, 1)], to_y = neighbour[1][goes_up(octant, 1)];
        clear(sides.z, box->size[0] * box->size[1]);
        for (long begin = 0; begin < planes; begin += block) {
            long deep = planes - begin < block ? planes - begin : block;
            long through_x = box->size[1] * deep, through_y = box->size[0] * deep;
            clear(sides.x, through_x);
            clear(sides.y, through_y);
            if (from_x != MPI_PROC_NULL)
                MPI_Recv(sides.x, (int)through_x, MPI_DOUBLE, from_x, octant, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (from_y != MPI_PROC_NULL)
                MPI_Recv(sides.y, (int)through_y, MPI_DOUBLE, from_y, octant, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            pass(box, octant, begin, deep, sides);
            if (to_x != MPI_PROC_NULL)
                MPI_Send(sides.x, (int)through_x, MPI_DOUBLE, to_x, octant, MPI_COMM_WORLD);
            if (to_y != MPI_PROC_NULL)
                MPI_Send(sides.y, (int)through_y, MPI_DOUBLE, to_y, octant, MPI_COMM_WORLD);
        }
    }
    free_sides(sides);
}

/* Number of cells of `part` that differ from `whole`. */
static long differences(const struct box *part, const struct box *whole) {
    long wrong = 0;
    for (long z = 0; z < part->size[2]; z++)
        for (long y = 0; y < part->size[1]; y++)
            for (long x = 0; x < part->size[0]; x++) {
                long there = (z * whole->size[1] + part->first[1] + y) * whole->size[0] + part->first[0] + x;
                wrong += part->flux[(z * part->size[1] + y) * part->size[0] + x] != whole->flux[there];
            }
    return wrong;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--cells", &cells, "cells of a rank along x and along y", false},
        {"--planes", &planes, "cells along z", false},
        {"--block", &block, "planes that go on together", false},
        {"--sweeps", &sweeps, "sweeps through all octants", false},
    };
    int ranks, rank, grid[2] = {0, 0}, place[2], neighbour[2][2];
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Dims_create(ranks, 2, grid);
    place[0] = rank / grid[1], place[1] = rank % grid[1];
    neighbour[0][0] = place[0] > 0 ? rank - grid[1] : MPI_PROC_NULL;
    neighbour[0][1] = place[0] < grid[0] - 1 ? rank + grid[1] : MPI_PROC_NULL;
    neighbour[1][0] = place[1] > 0 ? rank - 1 : MPI_PROC_NULL;
    neighbour[1][1] = place[1] < grid[1] - 1 ? rank + 1 : MPI_PROC_NULL;

    struct box whole = make_box((long[]){0, 0, 0}, (long[]){cells * grid[0], cells * grid[1], planes});
    struct box part = make_box((long[]){place[0] * cells, place[1] * cells, 0}, (long[]){cells, cells, planes});
    sweep_alone(&whole);
    long wrong = 0;
    for (long sweep = 0; sweep < sweeps; sweep++) {
        clear(part.flux, cells * cells * planes);
        sweep_together(&part, neighbour);
        wrong += differences(&part, &whole);
    }
    return finish(wrong == 0, "sweep: %d ranks as %d x %d, %ld x %ld x %ld cells each, %ld sweeps of 8 octants", ranks,
                  grid[0], grid[1], cells, cells, planes, sweeps);
}
