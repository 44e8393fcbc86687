/* Files (MPI-4.1 §14) block like collective operations. Open MPI may load a component for files (ROMIO) that calls
 * MPI as an application does. Its calls are recognized after the first file operation. */

#ifndef LARGE
#if defined(OPEN_MPI)
static void find_components(void)
{
    lock();
    dl_iterate_phdr(find_component, NULL);
    unlock();
}
#else
static void find_components(void)
{
}
#endif

CALL(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file), (comm, name, mode, info, file))
{
    enter_blocking();
    int result = REAL(File_open)(comm, name, mode, info, file);
    leave_blocking();
    find_components();
    return result;
}

CALL(File_delete, (const char *name, MPI_Info info), (name, info))
{
    int result = REAL(File_delete)(name, info);
    find_components();
    return result;
}

BLOCKING(File_close, (MPI_File * file), (file))
BLOCKING(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
BLOCKING(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
BLOCKING(File_set_view,
         (MPI_File file, MPI_Offset at, MPI_Datatype type, MPI_Datatype file_type, const char *form, MPI_Info info),
         (file, at, type, file_type, form, info))
BLOCKING(File_set_atomicity, (MPI_File file, int flag), (file, flag))
BLOCKING(File_sync, (MPI_File file), (file))
BLOCKING(File_seek_shared, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))
BLOCKING(File_set_info, (MPI_File file, MPI_Info info), (file, info))
BLOCKING(File_read_at_all_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
BLOCKING(File_write_at_all_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
BLOCKING(File_read_all_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
BLOCKING(File_read_ordered_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
BLOCKING(File_write_all_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
BLOCKING(File_write_ordered_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))

#define READS(NAME)                                                                                      \
    BLOCKING(SIZED(File_##NAME), (MPI_File file, void *buffer, COUNT count, MPI_Datatype type, MPI_Status *status), \
             (file, buffer, count, type, status))
#define WRITES(NAME)                                                                                     \
    BLOCKING(SIZED(File_##NAME), (MPI_File file, const void *buffer, COUNT count, MPI_Datatype type, MPI_Status *status), \
             (file, buffer, count, type, status))
#define READS_AT(NAME)                                                                                   \
    BLOCKING(SIZED(File_##NAME),                                                                         \
             (MPI_File file, MPI_Offset at, void *buffer, COUNT count, MPI_Datatype type, MPI_Status *status), \
             (file, at, buffer, count, type, status))
#define WRITES_AT(NAME)                                                                                  \
    BLOCKING(SIZED(File_##NAME),                                                                         \
             (MPI_File file, MPI_Offset at, const void *buffer, COUNT count, MPI_Datatype type, MPI_Status *status), \
             (file, at, buffer, count, type, status))
#define READ_BEGINS(NAME)                                                                                \
    BLOCKING(SIZED(File_##NAME##_begin), (MPI_File file, void *buffer, COUNT count, MPI_Datatype type), (file, buffer, count, type))
#define WRITE_BEGINS(NAME)                                                                               \
    BLOCKING(SIZED(File_##NAME##_begin), (MPI_File file, const void *buffer, COUNT count, MPI_Datatype type), \
             (file, buffer, count, type))

#endif

READS(read)
READS(read_all)
READS(read_shared)
READS(read_ordered)
WRITES(write)
WRITES(write_all)
WRITES(write_shared)
WRITES(write_ordered)
READS_AT(read_at)
READS_AT(read_at_all)
WRITES_AT(write_at)
WRITES_AT(write_at_all)
READ_BEGINS(read_all)
READ_BEGINS(read_ordered)
WRITE_BEGINS(write_all)
WRITE_BEGINS(write_ordered)
BLOCKING(SIZED(File_read_at_all_begin), (MPI_File file, MPI_Offset at, void *buffer, COUNT count, MPI_Datatype type),
         (file, at, buffer, count, type))
BLOCKING(SIZED(File_write_at_all_begin), (MPI_File file, MPI_Offset at, const void *buffer, COUNT count, MPI_Datatype type),
         (file, at, buffer, count, type))
