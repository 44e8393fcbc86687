/* The input, line by line: rank 0 reads and broadcasts. */

enum { LINE_MAX_BYTES = 1 << 16 };

/* Gives the next line to every rank. Returns 0 at the end of the input, and at `quit`. */
static int next_line(char *line) {
    int length = -1;
    if (rank == 0 && fgets(line, LINE_MAX_BYTES, stdin) != NULL && strncmp(line, "quit", 4) != 0) {
        length = (int)strlen(line);
    }
    broadcast_asleep(&length, sizeof length);
    if (length < 0) {
        return 0;
    }
    broadcast_asleep(line, length + 1);
    return 1;
}
