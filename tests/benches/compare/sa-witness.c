/* Queries the SA continuously with libibumad and prints when replies arrive; or registers records that must not be lost.
 *
 *   sa-witness ask PERIOD_US GUIDS     a PathRecord query each PERIOD_US to the port's present master, for the port GUIDs of the file
 *                                      GUIDS in turn, until standard input ends. A line for each reply: monotonic seconds, LID of
 *                                      the SA, status
 *   sa-witness register SERVICES N     from every CA that this process sees, of which the first is number N of all processes: a join
 *                                      to a group of sixteen CAs, SERVICES services and a subscription to group creation. A line
 *                                      for each join: milliseconds until the reply
 *
 * The client works with any subnet manager. A query without a reply within 50 ms is dropped; the next one has been sent long before.
 * Exit status 1 without a port, or if a registration is rejected.
 */
#include <endian.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAD = 256, QUERY_TIMEOUT_MS = 50, REGISTER_MS = 2000, TRIES = 5, HOSTS_MAX = 64, GUIDS_MAX = 65536, LEASE_FOR_EVER = -1 };
enum { PATH = 0x35, MEMBER = 0x38, SERVICE = 0x31, INFORM = 0x03 };

static uint64_t guids[GUIDS_MAX];
static int num_guids;
static void *out, *in;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
	while (bytes--)
		at[bytes] = (uint8_t)value, value >>= 8;
}

static void put_gid(uint8_t *at, uint64_t guid)
{
	put(at, 0xfe80000000000000ull, 8);
	put(at + 8, guid, 8);
}

/* Starts a MAD in `out` with its header, and returns the MAD; the payload starts at byte 56. */
static uint8_t *start_request(uint8_t method, uint16_t attribute, uint64_t mask, uint64_t tid)
{
	uint8_t *mad = umad_get_mad(out);

	memset(mad, 0, MAD);
	mad[0] = 1, mad[1] = 3, mad[2] = 2, mad[3] = method;
	put(mad + 8, tid, 8);
	put(mad + 16, attribute, 2);
	put(mad + 48, mask, 8);
	return mad;
}

static int read_port_file(const char *ca, const char *name, char *text, size_t size)
{
	char path[256];
	FILE *from;
	int has_line;

	snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/%s", ca, name);
	from = fopen(path, "r");
	if (!from)
		return 0;
	has_line = fgets(text, (int)size, from) != NULL;
	fclose(from);
	return has_line;
}

static uint16_t sm_lid(const char *ca)
{
	char text[32];

	return read_port_file(ca, "sm_lid", text, sizeof text) ? (uint16_t)strtoul(text, NULL, 16) : 0;
}

/* Opens a port; negative on failure. The buffers are allocated here, because umad_size() depends on an open port. */
static int open_port(const char *ca, int *agent)
{
	int port = umad_open_port(ca, 1);

	*agent = port < 0 ? -1 : umad_register(port, 3, 2, 0, NULL);
	if (!out) {
		out = umad_alloc(1, umad_size() + MAD);
		in = umad_alloc(1, umad_size() + MAD);
	}
	return *agent < 0 || !out || !in ? -1 : port;
}

static int query_paths(const char *ca, uint64_t own_guid, long period_us)
{
	int agent, port = open_port(ca, &agent);
	double next = now();
	uint64_t tid = 0;

	if (port < 0)
		return 1;
	for (;;) {
		struct pollfd fds[2] = {{umad_get_fd(port), POLLIN, 0}, {0, POLLIN, 0}};
		double left = next - now();

		if (left <= 0) {
			uint16_t to = sm_lid(ca);
			uint8_t *mad = start_request(1, PATH, 0x180c, ++tid);

			put_gid(mad + 56 + 8, guids[tid % num_guids]);
			put_gid(mad + 56 + 24, own_guid);
			mad[56 + 49] = 0x81;
			umad_set_addr(out, to, 1, 0, 0x80010000);
			umad_set_pkey(out, 0);
			if (to)
				umad_send(port, agent, out, MAD, QUERY_TIMEOUT_MS, 0);
			/* A delayed process does not send bursts of queries. */
			next = now() + period_us * 1e-6;
			continue;
		}
		if (poll(fds, 2, (int)(left * 1e3) + 1) <= 0)
			continue;
		if (fds[0].revents & POLLIN) {
			int length = MAD;

			if (umad_recv(port, in, &length, 0) >= 0 && !umad_status(in)) {
				uint8_t *mad = umad_get_mad(in);

				printf("%.6f %u %u\n", now(), ntohs(umad_get_mad_addr(in)->lid), mad[4] << 8 | mad[5]);
			}
		}
		if (fds[1].revents)
			return 0;
	}
}

/* Repeats a request until its reply arrives. Returns the status, or -1. */
static int transact(int port, int agent, uint16_t to)
{
	for (int i = 0; i < TRIES; i++) {
		int length = MAD;

		umad_set_addr(out, to, 1, 0, 0x80010000);
		umad_set_pkey(out, 0);
		if (umad_send(port, agent, out, MAD, REGISTER_MS, 0) < 0 || umad_recv(port, in, &length, 2 * REGISTER_MS) < 0)
			continue;
		if (!umad_status(in)) {
			uint8_t *mad = umad_get_mad(in);

			return mad[4] << 8 | mad[5];
		}
	}
	return -1;
}

static int register_all(char names[][UMAD_CA_NAME_LEN], int found, int services, int first)
{
	uint64_t tid = 1;

	for (int i = 0; i < found; i++) {
		int agent, port = open_port(names[i], &agent);
		uint16_t to = sm_lid(names[i]);
		umad_port_t attributes;
		uint64_t own_guid;
		uint8_t *mad;

		if (port < 0 || umad_get_port(names[i], 1, &attributes) < 0)
			return 1;
		own_guid = be64toh(attributes.port_guid);
		umad_release_port(&attributes);
		/* A group of sixteen hosts: MGID, PortGID, Q_Key, TClass, P_Key, SL with FlowLabel and HopLimit, JoinState. */
		mad = start_request(2, MEMBER, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16, tid++);
		put(mad + 56, 0xff12000000000000ull, 8);
		put(mad + 56 + 8, (uint64_t)(first + i) / 16 + 0x1000, 8);
		put_gid(mad + 56 + 16, own_guid);
		put(mad + 56 + 32, 0x0b1b, 4);
		put(mad + 56 + 40, 0xffff, 2);
		mad[56 + 48] = 1;
		double sent = now();
		int status = transact(port, agent, to);
		if (status) {
			fprintf(stderr, "sa-witness: a join is refused with %x\n", status);
			return 1;
		}
		printf("%.3f\n", (now() - sent) * 1e3);
		for (int s = 0; s < services; s++) {
			/* ServiceID, ServiceGID, P_Key, lease, name. */
			mad = start_request(2, SERVICE, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5, tid++);
			put(mad + 56, 0x10000 + (uint64_t)s, 8);
			put_gid(mad + 56 + 8, own_guid);
			put(mad + 56 + 24, 0xffff, 2);
			put(mad + 56 + 28, (uint64_t)(int64_t)LEASE_FOR_EVER, 4);
			snprintf((char *)mad + 56 + 48, 64, "witness %d", s);
			if (transact(port, agent, to))
				return 1;
		}
		/* Subscribe, generic, any type, trap 66, responses within the shortest time. */
		mad = start_request(2, INFORM, 0, tid++);
		put(mad + 56 + 16, 0xffff, 2);
		mad[56 + 22] = 1, mad[56 + 23] = 1;
		put(mad + 56 + 24, 0xffff, 2);
		put(mad + 56 + 26, 66, 2);
		put(mad + 56 + 28, 1 << 8, 4);
		put(mad + 56 + 33, 0xffffff, 3);
		if (transact(port, agent, to))
			return 1;
		umad_unregister(port, agent);
		umad_close_port(port);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char names[HOSTS_MAX][UMAD_CA_NAME_LEN];
	int found = umad_init() < 0 ? 0 : umad_get_cas_names(names, HOSTS_MAX);
	umad_port_t attributes;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (found < 1) {
		fprintf(stderr, "sa-witness: no port\n");
		return 1;
	}
	if (argc == 4 && !strcmp(argv[1], "register"))
		return register_all(names, found, atoi(argv[2]), atoi(argv[3]));
	if (argc != 4 || strcmp(argv[1], "ask") || umad_get_port(names[0], 1, &attributes) < 0)
		return 2;
	uint64_t own_guid = be64toh(attributes.port_guid);
	umad_release_port(&attributes);
	FILE *from = fopen(argv[3], "r");
	while (from && num_guids < GUIDS_MAX && fscanf(from, "%" SCNx64, &guids[num_guids]) == 1)
		num_guids++;
	return num_guids ? query_paths(names[0], own_guid, atol(argv[2])) : 2;
}
