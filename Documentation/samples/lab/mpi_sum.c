// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks on several hosts add up a vector.
 *
 *	mpicc -o mpi_sum mpi_sum.c
 *	roce-lab run --hosts 2 -- mpirun -np 2 --map-by node ./mpi_sum
 */
#include <mpi.h>
#include <stdio.h>

#define COUNT	100000

static double mine[COUNT], sum[COUNT];

int main(int argc, char **argv)
{
	char host[MPI_MAX_PROCESSOR_NAME];
	int rank, ranks, length, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Get_processor_name(host, &length);
	for (i = 0; i < COUNT; i++)
		mine[i] = rank + i;
	MPI_Allreduce(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < COUNT; i++) {
		if (sum[i] == ranks * (ranks - 1) / 2.0 + (double)ranks * i)
			continue;
		fprintf(stderr, "rank %d: element %d is %f\n", rank, i, sum[i]);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	printf("rank %d of %d on %s: right\n", rank, ranks, host);
	MPI_Finalize();
	return 0;
}
