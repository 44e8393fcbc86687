/* Algebraic multigrid by hypre (BoomerAMG): the Poisson equation in three dimensions, set up and solved by
 * the library that codes at Livermore and many others use.
 *
 * Matching: all messages are hypre's. The setup finds unknown neighbours by probes. Coarser levels have more
 * neighbours and smaller messages. This program cannot count them: there is no --count.
 *
 * The right side comes from a known solution, which must be found. amg_hypre [CELLS along each edge of the
 * cube] */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static HYPRE_BigInt cells = 24;

static double solution(HYPRE_BigInt row) { return 1 + (double)(row % 11); }

/* The seven points of a row; returns their number. */
static HYPRE_Int stencil(HYPRE_BigInt row, HYPRE_BigInt *columns, double *values) {
    const HYPRE_BigInt stride[3] = {1, cells, cells * cells};
    HYPRE_Int length = 0;
    columns[length] = row;
    values[length++] = 6;
    for (int axis = 0; axis < 3; axis++) {
        HYPRE_BigInt place = row / stride[axis] % cells;
        if (place > 0) columns[length] = row - stride[axis], values[length++] = -1;
        if (place < cells - 1) columns[length] = row + stride[axis], values[length++] = -1;
    }
    return length;
}

/* The matrix and right side of this rank's rows. */
static void fill(HYPRE_IJMatrix matrix, HYPRE_IJVector right, HYPRE_BigInt first, HYPRE_BigInt last) {
    for (HYPRE_BigInt row = first; row <= last; row++) {
        HYPRE_BigInt columns[7];
        double values[7], sum = 0;
        HYPRE_Int length = stencil(row, columns, values);
        for (HYPRE_Int i = 0; i < length; i++) sum += values[i] * solution(columns[i]);
        HYPRE_IJMatrixSetValues(matrix, 1, &length, &row, columns, values);
        HYPRE_IJVectorSetValues(right, 1, &row, &sum);
    }
}

static HYPRE_IJVector make_vector(HYPRE_BigInt first, HYPRE_BigInt last, HYPRE_ParVector *object) {
    HYPRE_IJVector vector;
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &vector);
    HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(vector);
    HYPRE_IJVectorGetObject(vector, (void **)object);
    return vector;
}

int main(int argc, char **argv) {
    int ranks, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) cells = strtol(argv[1], NULL, 10);
    if (argc > 2 || cells < 2 || cells > 1000) {
        if (rank == 0) fprintf(stderr, "Usage: amg_hypre [CELLS along each edge, 2 to 1000]\n");
        MPI_Finalize();
        return 2;
    }
    HYPRE_Init();
    HYPRE_BigInt rows = cells * cells * cells, first = rows * rank / ranks, last = rows * (rank + 1) / ranks - 1;
    HYPRE_IJMatrix matrix;
    HYPRE_ParCSRMatrix operator;
    HYPRE_ParVector b, x;
    HYPRE_IJVector right = make_vector(first, last, &b), found = make_vector(first, last, &x);
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &matrix);
    HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
    HYPRE_IJMatrixInitialize(matrix);
    fill(matrix, right, first, last);
    HYPRE_IJMatrixAssemble(matrix);
    HYPRE_IJVectorAssemble(right);
    HYPRE_IJVectorAssemble(found);
    HYPRE_IJMatrixGetObject(matrix, (void **)&operator);

    HYPRE_Solver solver;
    HYPRE_Int cycles;
    HYPRE_BoomerAMGCreate(&solver);
    HYPRE_BoomerAMGSetTol(solver, 1e-10);
    HYPRE_BoomerAMGSetMaxIter(solver, 100);
    HYPRE_BoomerAMGSetup(solver, operator, b, x);
    HYPRE_BoomerAMGSolve(solver, operator, b, x);
    HYPRE_BoomerAMGGetNumIterations(solver, &cycles);
    HYPRE_BoomerAMGDestroy(solver);

    double worst = 0, error;
    for (HYPRE_BigInt row = first; row <= last; row++) {
        double value;
        HYPRE_IJVectorGetValues(found, 1, &row, &value);
        worst = fmax(worst, fabs(value - solution(row)));
    }
    MPI_Allreduce(&worst, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    HYPRE_IJMatrixDestroy(matrix);
    HYPRE_IJVectorDestroy(right);
    HYPRE_IJVectorDestroy(found);
    HYPRE_Finalize();
    if (rank == 0)
        printf("amg_hypre: %d ranks, %lld^3 cells, %lld cycles, error %.1e: %s\n", ranks, (long long)cells,
               (long long)cycles, error, error < 1e-6 ? "right" : "WRONG");
    MPI_Finalize();
    return error < 1e-6 ? 0 : 1;
}
