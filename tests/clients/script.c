/* Sends MADs that it reads as text, one per line, and prints the responses. The bytes are sent unchanged: the client knows neither the
 * MAD format nor the simulator.
 *
 *   in:   NAME LID HEX       HEX: the MAD's 256 bytes
 *   out:  NAME HEX           the response
 *         NAME none          no response. Each MAD is followed by a query to the local node, which always responds; no response to
 *                            the MAD had arrived before that response. No clock is involved.
 *
 * With an argument, the client waits this many milliseconds for each response instead.
 */
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAD = 256, LONG_MS = 100000 };

static int port, wait_ms, agents[256];

static int agent_of(uint8_t mgmt_class)
{
	if (agents[mgmt_class] < 0)
		agents[mgmt_class] = umad_register(port, mgmt_class, 1, 0, NULL);
	return agents[mgmt_class];
}

static void set_tid(uint8_t *mad, uint32_t tid)
{
	memset(mad + 8, 0, 4);
	mad[12] = tid >> 24, mad[13] = tid >> 16, mad[14] = tid >> 8, mad[15] = tid;
}

static uint32_t tid_of(const uint8_t *mad)
{
	return (uint32_t)mad[12] << 24 | mad[13] << 16 | mad[14] << 8 | mad[15];
}

static int send_mad(uint8_t *umad, int dlid)
{
	uint8_t *mad = umad_get_mad(umad);
	int smp = (mad[1] & 0x7f) == 1;

	umad_set_addr(umad, dlid, smp ? 0 : 1, 0, smp ? 0 : 0x80010000);
	return umad_send(port, agent_of(mad[1]), umad, MAD, wait_ms ? wait_ms : LONG_MS, 0);
}

int main(int argc, char **argv)
{
	static char name[256], hex[2 * MAD + 2];
	unsigned int dlid, byte;
	uint32_t tid = 0;
	uint8_t *out, *in;

	wait_ms = argc > 1 ? atoi(argv[1]) : 0;
	memset(agents, -1, sizeof agents);
	if (umad_init() < 0 || (port = umad_open_port(NULL, 0)) < 0 || agent_of(0x81) < 0) {
		fprintf(stderr, "script: no port\n");
		return 1;
	}
	out = umad_alloc(1, umad_size() + MAD);
	in = umad_alloc(1, umad_size() + MAD);
	while (scanf("%255s %u %512s", name, &dlid, hex) == 3) {
		uint8_t *mad = umad_get_mad(out);
		uint32_t request_tid = ++tid, query_tid = ++tid;
		int has_responded = 0;

		memset(out, 0, umad_size() + MAD);
		for (int i = 0; i < MAD && sscanf(hex + 2 * i, "%2x", &byte) == 1; i++)
			mad[i] = byte;
		set_tid(mad, request_tid);
		if (agent_of(mad[1]) < 0 || send_mad(out, dlid) < 0) {
			printf("%s refused\n", name);
			continue;
		}
		memset(out, 0, umad_size() + MAD);
		mad[0] = 1, mad[1] = 0x81, mad[2] = 1, mad[3] = 1, mad[17] = 0x11;
		memset(mad + 32, 0xff, 4);
		set_tid(mad, query_tid);
		if (!wait_ms && send_mad(out, 0xffff) < 0)
			return 2;
		for (;;) {
			int length = MAD;

			memset(in, 0, umad_size() + MAD);
			if (umad_recv(port, in, &length, LONG_MS) < 0)
				return 3;
			mad = umad_get_mad(in);
			/* A request that timed out is returned to its sender with a status. */
			if (tid_of(mad) == request_tid && !has_responded && !umad_status(in)) {
				printf("%s ", name);
				for (int i = 0; i < MAD; i++)
					printf("%02x", mad[i]);
				printf("\n");
				has_responded = 1;
			}
			if (tid_of(mad) == (wait_ms ? request_tid : query_tid))
				break;
		}
		if (!has_responded)
			printf("%s none\n", name);
	}
	return 0;
}
