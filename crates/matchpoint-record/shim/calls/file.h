/* Files (MPI-4.1 §14) are not recorded. Open MPI may load a component for files (ROMIO) that calls MPI as an
 * application does. Its calls are recognized after the first file operation. */

#if defined(OPEN_MPI)
static int opened(struct lane *lane, int result)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    dl_iterate_phdr(find_component, NULL);
    pthread_mutex_unlock(&mutex);
    return lane != NULL ? leave(lane, result) : result;
}

CALL(File_open, NULL, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
     (comm, name, mode, info, file))
{
    library_ready();
    struct lane *lane = enter();
    return opened(lane, REAL(File_open)(comm, name, mode, info, file));
}

CALL(File_delete, NULL, (const char *name, MPI_Info info), (name, info))
{
    library_ready();
    struct lane *lane = enter();
    return opened(lane, REAL(File_delete)(name, info));
}
#endif
