/* Location of ranks: the node, and the package (socket) of the cores that a rank may use, according to Linux.
 */

enum { SEVERAL_PACKAGES = -1, UNKNOWN_PACKAGE = -2, CPUS_MAX = 8192 };

struct place {
    int node;     /* the lowest rank of the node */
    int package;  /* or a constant above */
    int packages; /* of the node; 0: unknown */
    int cpus;     /* that the rank may use */
    char host[64];
    char boot[40]; /* boot id of the kernel; empty: unknown */
};

/* Package of a core, or UNKNOWN_PACKAGE. */
static int package_of(int cpu) {
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    FILE *file = fopen(path, "r");
    int package;
    if (file == NULL) {
        return UNKNOWN_PACKAGE;
    }
    if (fscanf(file, "%d", &package) != 1 || package < 0) {
        package = UNKNOWN_PACKAGE;
    }
    fclose(file);
    return package;
}

static int packages_of_node(void) {
    int seen[64], count = 0;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++) {
        int package = package_of(cpu), known = package == UNKNOWN_PACKAGE;
        for (int at = 0; at < count && !known; at++) {
            known = seen[at] == package;
        }
        if (!known && count < 64) {
            seen[count++] = package;
        }
    }
    return count;
}

static void find_package(struct place *place) {
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    place->package = UNKNOWN_PACKAGE;
    place->cpus = 0;
    if (set == NULL || sched_getaffinity(0, size, set) != 0) {
        return;
    }
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        if (!CPU_ISSET_S(cpu, size, set)) {
            continue;
        }
        int package = package_of(cpu);
        int is_first = place->cpus++ == 0;
        if (is_first) {
            place->package = package;
        } else if (place->package != package) {
            place->package = SEVERAL_PACKAGES;
        }
    }
    CPU_FREE(set);
}

static void find_boot(struct place *place) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL) {
        if (fscanf(file, "%39s", place->boot) != 1) {
            place->boot[0] = '\0';
        }
        fclose(file);
    }
}

static struct place own_place(void) {
    struct place place = {0};
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Allreduce(&rank, &place.node, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    find_package(&place);
    place.packages = packages_of_node();
    if (gethostname(place.host, sizeof place.host - 1) != 0) {
        strcpy(place.host, "unknown");
    }
    find_boot(&place);
    return place;
}

/* An MPI library may be configured without shared memory (MPIR_CVAR_NOLOCAL) and then reports a node per
 * rank. Ranks with the same host name and kernel are on one node. */
static void join_nodes(struct place *all) {
    for (int at = 0; at < ranks; at++) {
        for (int before = 0; before < at; before++) {
            int is_same = all[at].boot[0] != '\0' && strcmp(all[at].boot, all[before].boot) == 0 &&
                          strcmp(all[at].host, all[before].host) == 0;
            if (is_same && all[before].node < all[at].node) {
                all[at].node = all[before].node;
            }
        }
    }
}

static void say_places(void) {
    struct place own = own_place();
    struct place *all = memory(ranks * sizeof *all);
    MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        join_nodes(all);
    }
    for (int at = 0; rank == 0 && at < ranks; at++) {
        printf(MARK " rank %d node=%d package=%d packages=%d cpus=%d host=%s\n", at, all[at].node, all[at].package,
               all[at].packages, all[at].cpus, all[at].host);
    }
    free(all);
}
