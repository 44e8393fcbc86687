/* The rank of this process, and library functions that are called without being recorded. */

USED(Comm_group);
USED(Comm_rank);
USED(Comm_set_errhandler);
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
USED(Status_set_elements);
USED(Test_cancelled);
USED(Type_size);
USED(Type_size_x);

static struct {
    int rank, size;
    MPI_Group group;
    bool group_known, of_session;
    pthread_rwlock_t lock; /* of the group: any thread may open and close sessions */
    _Atomic bool open;     /* between MPI_Init and MPI_Finalize */
    char host[256];
    char boot[64]; /* identifies the host and its boot */
} world = {.rank = -1, .size = 0, .lock = PTHREAD_RWLOCK_INITIALIZER};

#ifdef MPI_4
USED(Group_from_session_pset);

/* The session that provided the world's group, if any. */
static MPI_Session world_session;

/* A program that uses only sessions has no MPI_COMM_WORLD, but an equivalent process set (MPI-4.1 §11.3.2). */
static bool world_group_by_session(MPI_Session session)
{
    pthread_rwlock_wrlock(&world.lock);
    bool had = world.group_known;
    if (!had && REAL(Group_from_session_pset)(session, "mpi://WORLD", &world.group) == MPI_SUCCESS) {
        world.group_known = world.of_session = true;
        world_session = session;
    }
    bool known = world.group_known;
    pthread_rwlock_unlock(&world.lock);
    return known;
}

static bool world_find_by_session(MPI_Session session)
{
    if (!world_group_by_session(session))
        return false;
    REAL(Group_rank)(world.group, &world.rank);
    REAL(Group_size)(world.group, &world.size);
    return true;
}

/* The next session provides the group again. */
static void world_group_release(MPI_Session session)
{
    pthread_rwlock_wrlock(&world.lock);
    if (world.of_session && session == world_session) {
        REAL(Group_free)(&world.group);
        world.group_known = world.of_session = false;
    }
    pthread_rwlock_unlock(&world.lock);
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
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? 0 : read(descriptor, world.boot, sizeof world.boot - 1);
    world.boot[length > 0 ? strcspn(world.boot, "\n") : 0] = 0;
    if (descriptor >= 0)
        close(descriptor);
}
