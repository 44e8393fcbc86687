/* A program without MPI. It prints its arguments. */
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int at = 1; at < argc; at++)
        printf("plain: %s\n", argv[at]);
    return 3;
}
