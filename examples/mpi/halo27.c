/* Halo exchange of a 27-point stencil in three dimensions, as in miniFE, HPCG and every structured-grid code
 * with corners. Each rank has a cube of cells, posts a receive from each of 26 neighbours, sends to each, and
 * waits for all.
 *
 * Matching: many receives at once, all with source and tag; the tag is the direction. In a grid of ranks that
 * is two or one wide, several messages are from the same rank, or from the rank itself. With --persistent the
 * requests are created once and started together.
 *
 * The stencil is the product of (1/4, 1/2, 1/4) in each direction. A plane wave is its eigenvector, so after
 * S steps each cell must hold its initial value times the eigenvalue to the power of S. One wrong corner is
 * visible. */
#include "example.h"

#include <math.h>

enum { DIRECTIONS = 27, CENTRE = 13 };

static long cells = 16, steps = 20, persistent = 0;
static int grid[3], place[3], neighbour[DIRECTIONS];
static double *out[DIRECTIONS], *in[DIRECTIONS];
static MPI_Request requests[2 * (DIRECTIONS - 1)];

/* The part of a direction along an axis: -1, 0 or 1. */
static int along(int direction, int axis) {
    static const int step[3] = {9, 3, 1};
    return direction / step[axis] % 3 - 1;
}

/* A layer of halo on each side. */
static size_t at(long x, long y, long z) { return (size_t)((x * (cells + 2) + y) * (cells + 2) + z); }

static long face(int direction) {
    long length = 1;
    for (int axis = 0; axis < 3; axis++) length *= along(direction, axis) ? 1 : cells;
    return length;
}

/* Copies the border cells of a direction to a buffer, or a buffer to the halo. */
static void copy(double *u, int direction, double *buffer, bool to_halo) {
    long low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        int way = along(direction, axis);
        low[axis] = way == 1 ? cells + to_halo : way == -1 ? 1 - to_halo : 1;
        high[axis] = way == 0 ? cells : low[axis];
    }
    for (long x = low[0]; x <= high[0]; x++)
        for (long y = low[1]; y <= high[1]; y++)
            for (long z = low[2]; z <= high[2]; z++, buffer++) {
                if (to_halo) u[at(x, y, z)] = *buffer;
                else *buffer = u[at(x, y, z)];
            }
}

static void find_neighbours(MPI_Comm comm) {
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        int there[3];
        for (int axis = 0; axis < 3; axis++) there[axis] = place[axis] + along(direction, axis);
        MPI_Cart_rank(comm, there, &neighbour[direction]);
        out[direction] = ALLOCATE(double, face(direction));
        in[direction] = ALLOCATE(double, face(direction));
    }
}

/* A message from a direction was sent in the opposite one, with its number as the tag. */
static void begin(MPI_Comm comm, bool init) {
    MPI_Request *request = requests;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        if (direction == CENTRE) continue;
        int length = (int)face(direction), from = neighbour[direction], tag = DIRECTIONS - 1 - direction;
        if (init) MPI_Recv_init(in[direction], length, MPI_DOUBLE, from, tag, comm, request++);
        else MPI_Irecv(in[direction], length, MPI_DOUBLE, from, tag, comm, request++);
    }
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        if (direction == CENTRE) continue;
        int length = (int)face(direction), to = neighbour[direction];
        if (init) MPI_Send_init(out[direction], length, MPI_DOUBLE, to, direction, comm, request++);
        else MPI_Isend(out[direction], length, MPI_DOUBLE, to, direction, comm, request++);
    }
}

static void exchange(MPI_Comm comm, double *u) {
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (direction != CENTRE) copy(u, direction, out[direction], false);
    if (persistent) MPI_Startall(2 * (DIRECTIONS - 1), requests);
    else begin(comm, false);
    MPI_Waitall(2 * (DIRECTIONS - 1), requests, MPI_STATUSES_IGNORE);
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (direction != CENTRE) copy(u, direction, in[direction], true);
}

static void smooth(const double *u, double *next) {
    for (long x = 1; x <= cells; x++)
        for (long y = 1; y <= cells; y++)
            for (long z = 1; z <= cells; z++) {
                double sum = 0;
                for (int direction = 0; direction < DIRECTIONS; direction++) {
                    int dx = along(direction, 0), dy = along(direction, 1), dz = along(direction, 2);
                    double weight = 1.0 / (8 << (abs(dx) + abs(dy) + abs(dz)));
                    sum += weight * u[at(x + dx, y + dy, z + dz)];
                }
                next[at(x, y, z)] = sum;
            }
}

/* The plane wave with 1, 2 and 3 periods along the axes. */
static double wave(long x, long y, long z) {
    long cell[3] = {x, y, z};
    double phase = 0;
    for (int axis = 0; axis < 3; axis++)
        phase += (axis + 1) * (double)(place[axis] * cells + cell[axis]) / (double)(grid[axis] * cells);
    return cos(2 * M_PI * phase);
}

static double eigenvalue(void) {
    double product = 1;
    for (int axis = 0; axis < 3; axis++)
        product *= 0.5 + 0.5 * cos(2 * M_PI * (axis + 1) / (double)(grid[axis] * cells));
    return product;
}

/* The maximum difference from `factor` times the wave. With `set`, sets the values instead. */
static double compare(double *u, double factor, bool set) {
    double worst = 0;
    for (long x = 1; x <= cells; x++)
        for (long y = 1; y <= cells; y++)
            for (long z = 1; z <= cells; z++) {
                double wanted = factor * wave(x, y, z);
                if (set) u[at(x, y, z)] = wanted;
                worst = fmax(worst, fabs(u[at(x, y, z)] - wanted));
            }
    return worst;
}

int main(int argc, char **argv) {
    static const struct setting settings[] = {
        {"--cells", &cells, "cells along each edge of a rank's cube", false},
        {"--steps", &steps, "applications of the stencil", false},
        {"--persistent", &persistent, "persistent requests, started together", true},
    };
    int ranks, rank;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    READ_SETTINGS(argc, argv, settings);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, grid);
    MPI_Cart_create(MPI_COMM_WORLD, 3, grid, (int[]){1, 1, 1}, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Cart_coords(comm, rank, 3, place);
    find_neighbours(comm);
    if (persistent) begin(comm, true);

    size_t length = at(cells + 1, cells + 1, cells + 1) + 1;
    double *u = ALLOCATE(double, length), *next = ALLOCATE(double, length);
    compare(u, 1, true);
    for (long step = 0; step < steps; step++) {
        exchange(comm, u);
        smooth(u, next);
        double *old = u;
        u = next;
        next = old;
    }
    double error = compare(u, pow(eigenvalue(), (double)steps), false);

    if (persistent)
        for (int i = 0; i < 2 * (DIRECTIONS - 1); i++) MPI_Request_free(&requests[i]);
    MPI_Comm_free(&comm);
    return finish(error < 1e-12, "halo27: %d ranks as %d x %d x %d, %ld^3 cells each, %ld steps, error %.1e", ranks,
                  grid[0], grid[1], grid[2], cells, steps, error);
}
