/* The job of a process, and agreement on whether all processes of its world are recorded.
 *
 * These functions do not communicate: a process without the recorder, for example on another host, would take a
 * message or collective of the recorder for the application's. Processes agree in the trace's folder instead. A
 * decision is the target of a symbolic link: the first process creates the link, which is atomic on all file
 * systems, and all others read it. */

/* Time limit for the other processes to leave MPI_Init. After this time, missing processes count as not recorded. */
#define AGREEMENT_NS 5000000000
#define AGREEMENT_NS_PER_PROCESS 1000000

static struct {
    char name[256]; /* equal for all processes of a world, different for other worlds; empty: unknown */
    bool unique;    /* false: another spawned world may have the same name */
    char folder[PATH_MAX];
} job = {.unique = true};

/* Finds the value of an option in the command line of a process or an ancestor. Hydra's proxies have options with
 * their launcher's port and the number of their process group. */
static bool hydra_option(pid_t process, const char *option, char *value, size_t room)
{
    for (int generation = 0; process > 1 && generation < 16; generation++) {
        char path[64], line[4096];
        snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process);
        int descriptor = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = descriptor < 0 ? 0 : read(descriptor, line, sizeof line - 1);
        if (descriptor >= 0)
            close(descriptor);
        line[length > 0 ? length : 0] = 0;
        for (const char *word = line; word < line + length; word += strlen(word) + 1) {
            if (strcmp(word, option) == 0 && word + strlen(word) + 1 < line + length) {
                snprintf(value, room, "%s", word + strlen(word) + 1);
                return true;
            }
        }
        snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
        descriptor = open(path, O_RDONLY | O_CLOEXEC);
        length = descriptor < 0 ? 0 : read(descriptor, line, sizeof line - 1);
        if (descriptor >= 0)
            close(descriptor);
        line[length > 0 ? length : 0] = 0;
        const char *behind_name = strrchr(line, ')');
        long parent = 0;
        if (behind_name == NULL || sscanf(behind_name + 1, " %*c %ld", &parent) != 1)
            return false;
        process = (pid_t)parent;
    }
    return false;
}

/* Finds the name from the launcher's variables. */
static void job_find(void)
{
    const char *space = getenv("PMIX_NAMESPACE"), *hydra = getenv("I_MPI_HYDRA_UUID"), *group = getenv("HYDRA_BSTRAP_PGID");
    const char *slurm = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"), *pals = getenv("PALS_APID");
    const char *flux = getenv("FLUX_JOB_ID");
    char port[96] = "", number[32] = "";
    bool is_hydra = getenv("PMI_FD") != NULL || getenv("PMI_PORT") != NULL;
    if (space != NULL)
        snprintf(job.name, sizeof job.name, "pmix %s", space);
    else if (hydra != NULL)
        snprintf(job.name, sizeof job.name, "hydra %s %s", hydra, group != NULL ? group : "");
    else if (is_hydra && getenv("PMI_SPAWNED") != NULL && getenv("HYDRA_BSTRAP_PGID") == NULL) {
        /* MPICH's proxies start spawned processes like others: no variable distinguishes spawned worlds. */
        snprintf(job.name, sizeof job.name, "hydra, %d spawned", world.size);
        job.unique = false;
    } else if (is_hydra && hydra_option(getppid(), "--control-port", port, sizeof port) &&
             hydra_option(getppid(), "--pgid", number, sizeof number))
        snprintf(job.name, sizeof job.name, "hydra %s %s", port, number);
    else if (pals != NULL)
        snprintf(job.name, sizeof job.name, "pals %s", pals);
    else if (flux != NULL)
        snprintf(job.name, sizeof job.name, "flux %s", flux);
    else if (slurm != NULL && step != NULL && getenv("SLURM_PROCID") != NULL)
        snprintf(job.name, sizeof job.name, "slurm %s.%s", slurm, step);
    else if (world.size == 1)
        snprintf(job.name, sizeof job.name, "%.64s %ld", world.host, (long)getpid());
}

/* Returns the decision of a link: this proposal, or an earlier one of another process. */
static bool decide(const char *link, const char *proposed, char *decided, size_t room)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", job.folder, link);
    if (proposed != NULL && symlink(proposed, path) != 0 && errno != EEXIST)
        return false;
    ssize_t length = readlink(path, decided, room - 1);
    decided[length > 0 ? length : 0] = 0;
    return length > 0;
}

/* Creates the rank file in the folder of this job. The first job uses the named folder. Further jobs and spawned
 * worlds use subfolders. Returns the descriptor, or -1. */
static int job_file(const char *folder, bool spawned, char *path, size_t room)
{
    for (int number = spawned ? 1 : 0; number < 10000; number += number == 0 ? 2 : 1) {
        char owner[sizeof job.name];
        if (number == 0)
            snprintf(job.folder, sizeof job.folder, "%s", folder);
        else
            snprintf(job.folder, sizeof job.folder, "%s/%s-%d", folder, spawned ? "spawned" : "job", number);
        if ((size_t)snprintf(path, room, "%s/rank-%05d.mpt", job.folder, world.rank) >= room) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (number > 0 && mkdir(job.folder, 0777) != 0 && errno != EEXIST)
            return -1;
        if (!decide("job", job.name[0] != 0 ? job.name : NULL, owner, sizeof owner))
            job.name[0] = 0; /* one job, or a file system without links: no agreement */
        else if (strcmp(owner, job.name) != 0)
            continue;
        int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST || (job.unique && job.name[0] != 0) || !spawned)
            return descriptor;
    }
    return -1;
}

/* The number of the world's processes on this host, from the launcher; 0: unknown. Read when the recorder is loaded,
 * because libraries may change these variables. */
static int processes_here;

static void read_launcher_variables(void)
{
    static const char *const here[] = {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"};
    const char *nodes = getenv("SLURM_STEP_NUM_NODES"), *tasks = getenv("SLURM_STEP_NUM_TASKS");
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
        if (getenv(here[i]) != NULL) {
            processes_here = atoi(getenv(here[i]));
            return;
        }
    }
    if (nodes != NULL && tasks != NULL && getenv("SLURM_PROCID") != NULL && atoi(nodes) == 1)
        processes_here = atoi(tasks);
}

/* Returns whether the whole world is on this host, and so has one clock. */
static bool on_one_host(void)
{
    return world.size == 1 || processes_here == world.size;
}

static int rank_files(void)
{
    DIR *entries = opendir(job.folder);
    int count = 0;
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        size_t length = strlen(entry->d_name);
        count += strncmp(entry->d_name, "rank-", 5) == 0 && length > 4 && strcmp(entry->d_name + length - 4, ".mpt") == 0;
    }
    if (entries != NULL)
        closedir(entries);
    return count;
}

/* Returns whether every process of the world has created its file, and so calls this function too. All processes get
 * the same result.
 *
 * Rank 0 counts the files, the others wait for its decision. After its time limit, a process decides by itself. */
static bool all_are_recorded(void)
{
    char answer[16] = "";
    int64_t limit = AGREEMENT_NS + (int64_t)world.size * AGREEMENT_NS_PER_PROCESS, since = monotonic_ns();
    if (job.name[0] == 0 || !job.unique)
        return false;
    if (world.rank != 0)
        limit *= 2;
    for (long nap = 200000;; nap = nap < 50000000 ? 2 * nap : nap) {
        bool all = world.rank == 0 && rank_files() >= world.size;
        bool late = monotonic_ns() - since > limit;
        if (decide("clocks", all ? "together" : late ? "apart" : NULL, answer, sizeof answer))
            return strcmp(answer, "together") == 0;
        if (late && monotonic_ns() - since > 4 * limit)
            return false; /* no process can write any more */
        nanosleep(&(struct timespec){0, nap}, NULL);
    }
}
