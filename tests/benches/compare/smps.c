/* Sends directed-route Get(NodeInfo) with libibumad, with a window of outstanding requests, and prints the rate.
 *
 *   smps COUNT WINDOW [HOP,HOP,...]     to the node at the end of the path; without a path to the local node
 *
 * The client works with any simulator. Exit status 1 if a request has no reply.
 */
#include <infiniband/umad.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAD = 256, TIMEOUT_MS = 5000 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100000, window = argc > 2 ? atol(argv[2]) : 1;
	uint8_t hops[64] = {0}, depth = 0;
	long sent = 0, answered = 0;
	int port, agent;
	uint8_t *out, *in, *mad;

	for (char *hop = argc > 3 ? strtok(argv[3], ",") : NULL; hop && depth < 63; hop = strtok(NULL, ","))
		hops[++depth] = (uint8_t)atoi(hop);
	if (umad_init() < 0 || (port = umad_open_port(NULL, 0)) < 0) {
		fprintf(stderr, "smps: no port\n");
		return 1;
	}
	agent = umad_register(port, 0x81, 1, 0, NULL);
	out = umad_alloc(1, umad_size() + MAD);
	in = umad_alloc(1, umad_size() + MAD);
	if (agent < 0 || !out || !in) {
		fprintf(stderr, "smps: no agent\n");
		return 1;
	}
	mad = umad_get_mad(out);
	mad[0] = 1, mad[1] = 0x81, mad[2] = 1, mad[3] = 1;      /* Get */
	mad[7] = depth;
	mad[17] = 0x11;                                         /* NodeInfo */
	memset(mad + 32, 0xff, 4);
	memcpy(mad + 128, hops, sizeof hops);
	umad_set_addr(out, 0xffff, 0, 0, 0);
	double start = now();
	while (answered < count) {
		while (sent < count && sent - answered < window) {
			uint32_t tid = (uint32_t)++sent;

			mad[12] = tid >> 24, mad[13] = tid >> 16, mad[14] = tid >> 8, mad[15] = tid;
			if (umad_send(port, agent, out, MAD, TIMEOUT_MS, 0) < 0) {
				perror("smps: send");
				return 1;
			}
		}
		int length = MAD;
		int from = umad_recv(port, in, &length, TIMEOUT_MS);

		if (from < 0 || umad_status(in)) {
			fprintf(stderr, "smps: no answer after %ld\n", answered);
			return 1;
		}
		answered++;
	}
	double elapsed = now() - start;
	printf("%ld SMPs, window %ld, %.3f s, %.0f a second\n", count, window, elapsed, count / elapsed);
	return 0;
}
