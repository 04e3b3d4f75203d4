// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte of MPI's operations checked: point to point of many sizes, collectives,
 * one-sided operations.
 * Each rank prints one line "ok" or "FAIL".
 *
 * usage: mpi-bytes [ROUNDS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES	(1 << 20)

static int rank, ranks, failures;
static unsigned char *out, *in;

static unsigned char pattern(int from, int size, int at)
{
	return from * 37 + size * 11 + at * 7 + (at >> 8);
}

static void fill(int from, int size)
{
	for (int i = 0; i < size; i++)
		out[i] = pattern(from, size, i);
}

static void check(const char *what, int from, int size)
{
	for (int i = 0; i < size; i++) {
		if (in[i] == pattern(from, size, i))
			continue;
		printf("rank %d: %s of %d bytes from %d: byte %d is %d, expected %d\n",
		       rank, what, size, from, i, in[i], pattern(from, size, i));
		failures++;
		return;
	}
}

static void point_to_point(int size)
{
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	fill(rank, size);
	memset(in, 0, size);
	MPI_Sendrecv(out, size, MPI_BYTE, next, 1, in, size, MPI_BYTE, last, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	check("sendrecv", last, size);
}

static void collectives(int size)
{
	long sum, mine = rank + 1;
	int part = size / ranks;

	for (int root = 0; root < ranks; root++) {
		fill(root, size);
		memcpy(in, out, rank == root ? size : 0);
		MPI_Bcast(in, size, MPI_BYTE, root, MPI_COMM_WORLD);
		check("bcast", root, size);
		memset(in, 0, size);
	}
	MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (sum != (long)ranks * (ranks + 1) / 2) {
		printf("rank %d: allreduce: %ld\n", rank, sum);
		failures++;
	}
	for (int to = 0; to < ranks; to++)
		for (int i = 0; i < part; i++)
			out[to * part + i] = pattern(rank * ranks + to, part, i);
	MPI_Alltoall(out, part, MPI_BYTE, in, part, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++) {
		memmove(in, in + (from ? part : 0), (ranks - from) * part);
		check("alltoall", from * ranks + rank, part);
	}
}

/* Each rank writes to the next one's window, and reads that back */
static void put_and_get(int size, unsigned char *window, MPI_Win win)
{
	int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

	fill(rank, size);
	MPI_Win_fence(0, win);
	MPI_Put(out, size, MPI_BYTE, next, 0, size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	memcpy(in, window, size);
	check("put", last, size);
	memset(in, 0, size);
	MPI_Get(in, size, MPI_BYTE, next, 0, size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	check("get", rank, size);
}

/* All add to the same number: each sum is seen once */
static void fetch_and_add(long *window, MPI_Win win)
{
	const long one = 1, times = 50;
	long before, newest = -1;

	*window = 0;
	MPI_Win_fence(0, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < times; i++) {
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, win);
		MPI_Win_unlock(0, win);
		if (before <= newest) {
			printf("rank %d: %ld after %ld\n", rank, before, newest);
			failures++;
		}
		newest = before;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0 && *window != ranks * times) {
		printf("sum is %ld, expected %ld\n", *window, ranks * times);
		failures++;
	}
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 1, 8, 1000, 1024, 4096, 8193, 65536, 100001, MAX_BYTES };
	const size_t num = sizeof(sizes) / sizeof(sizes[0]);
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	void *window;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	out = malloc(MAX_BYTES);
	in = malloc(MAX_BYTES);
	/* Shared by all rounds, as only the first round connects with it. */
	MPI_Win_allocate(MAX_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	while (rounds--) {
		for (size_t i = 0; i < num; i++) {
			point_to_point(sizes[i]);
			collectives(sizes[i]);
			put_and_get(sizes[i], window, win);
		}
		fetch_and_add(window, win);
	}
	MPI_Win_free(&win);
	printf("%s rank %d of %d: every byte\n", failures ? "FAIL" : "ok  ", rank, ranks);
	MPI_Finalize();
	return failures != 0;
}
