/* This process among the others, and what it asks the library without recording it. */

USED(Comm_group);
USED(Comm_rank);
USED(Comm_remote_group);
USED(Comm_remote_size);
USED(Comm_size);
USED(Comm_test_inter);
USED(Error_class);
USED(Get_count);
USED(Get_elements_x);
USED(Get_library_version);
USED(Get_version);
USED(Group_free);
USED(Group_rank);
USED(Group_size);
USED(Group_translate_ranks);
USED(Query_thread);
USED(Test_cancelled);
USED(Type_size);

static struct {
    int rank, size;
    MPI_Group group;
    bool group_known;
    bool all_record; /* every process of the world is recorded */
    char host[256];
} world = {.rank = -1, .size = 0};

#ifdef MPI_4
USED(Group_from_session_pset);

/* A program that uses sessions alone has no MPI_COMM_WORLD, but a process set of that meaning (MPI-4.1 §11.3.2). */
static bool world_find_by_session(MPI_Session session)
{
    if (REAL(Group_from_session_pset)(session, "mpi://WORLD", &world.group) != MPI_SUCCESS)
        return false;
    REAL(Group_rank)(world.group, &world.rank);
    REAL(Group_size)(world.group, &world.size);
    world.group_known = true;
    return true;
}
#endif

static void world_find(void)
{
    REAL(Comm_rank)(library.comm_world, &world.rank);
    REAL(Comm_size)(library.comm_world, &world.size);
    world.group_known = REAL(Comm_group)(library.comm_world, &world.group) == MPI_SUCCESS;
}

static void host_find(void)
{
    if (gethostname(world.host, sizeof world.host - 1) != 0)
        strcpy(world.host, "?");
}
