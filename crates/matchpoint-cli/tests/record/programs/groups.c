/* Creates communicators with members in several orders. The tag is the index of the order in tests/record/groups.rs. */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ORDERS = 6 };

/* Returns whether the communicator has a member at this index, and stores the rank of the member. */
static bool member(int order, int place, int ranks, int *rank)
{
    const int of[ORDERS] = {place, ranks - 1 - place, 2 * place, 7 * place % ranks, place ^ 1, place / 3 * 5 + place % 3};
    *rank = of[order];
    return place < ranks && *rank >= 0 && *rank < ranks;
}

int main(int argc, char **argv)
{
    int own, ranks;
    MPI_Group world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int *members = malloc((size_t)ranks * sizeof *members);
    for (int order = 0; order < ORDERS; order++) {
        int count = 0;
        bool among = false;
        MPI_Group group;
        MPI_Comm comm;
        for (int rank; member(order, count, ranks, &rank); count++) {
            members[count] = rank;
            among |= rank == own;
        }
        if (!among)
            continue;
        MPI_Group_incl(world, count, members, &group);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, order, &comm);
        MPI_Comm_free(&comm);
        MPI_Group_free(&group);
    }
    free(members);
    MPI_Group_free(&world);
    return MPI_Finalize();
}
