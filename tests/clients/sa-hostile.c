/* Overloads an SA, or measures how it serves a client with few requests.
 *
 *   sa-hostile flood KIND WINDOW       keeps WINDOW requests of a kind outstanding until SIGTERM, and repeats a request without a
 *                                      reply in a second. Prints "flooding" at the first reply and the number of replies at the
 *                                      end. Kinds:
 *                                        pairs    GetTable(PathRecord) of all pairs of ports, with a rate and SL that no path has
 *                                        pair     Get(PathRecord), with the same rate and SL
 *                                        multi    GetMulti(MultiPathRecord) with as many GIDs as fit in one packet
 *                                        members  GetTable(MCMemberRecord)
 *                                        services GetTable(ServiceRecord)
 *   sa-hostile create COUNT FIRST      creates COUNT multicast groups, beginning with number FIRST
 *   sa-hostile paths COUNT LIMIT_MS    requests COUNT paths, one after the other
 *   sa-hostile joins COUNT LIMIT_MS    joins and leaves the broadcast group of the default partition COUNT times
 *
 * The last three print one line: number of replies within the limit, number of requests, median, maximum and sum of the times in
 * milliseconds, number of rejections. The client works with any SA. Exit status 1 without a port.
 */
#include <endian.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAD = 256, DATA = 56, BUFFER = 8 << 20, TIMEOUT_MS = 1000, WINDOW_MAX = 64, GIDS_MAX = 64, COUNT_MAX = 1 << 16 };
enum { GET = 1, SET = 2, GET_TABLE = 0x12, GET_MULTI = 0x14, DELETE = 0x15 };
enum { SERVICE = 0x31, PATH = 0x35, MEMBER = 0x38, MULTI_PATH = 0x3a };

static int port, agent;
static uint16_t lid, sm_lid;
static uint8_t own_gid[16], gids[GIDS_MAX][16];
static int gids_count;
static uint32_t tid;
static void *out, *in;
static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
	while (bytes--)
		at[bytes] = (uint8_t)value, value >>= 8;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Starts a MAD in `out` with its header; returns its record. */
static uint8_t *start_request(uint8_t method, uint16_t attribute, uint64_t mask)
{
	uint8_t *mad = umad_get_mad(out);

	memset(mad, 0, MAD);
	mad[0] = 1, mad[1] = 3, mad[2] = 2, mad[3] = method;
	put(mad + 16, attribute, 2);
	put(mad + 48, mask, 8);
	return mad + DATA;
}

static int submit(int timeout_ms)
{
	put((uint8_t *)umad_get_mad(out) + 8, ++tid, 8);
	umad_set_addr(out, sm_lid, 1, 0, 0x80010000);
	umad_set_pkey(out, 0);
	return umad_send(port, agent, out, MAD, timeout_ms, 0);
}

/* Receives the reply to the last request; returns its length, or -1 if none arrived. */
static int receive_reply(int timeout_ms)
{
	double until = now_ms() + timeout_ms;
	int left;

	while ((left = (int)(until - now_ms())) > 0) {
		int length = BUFFER;
		uint8_t *mad = umad_get_mad(in);

		if (umad_recv(port, in, &length, left) < 0)
			continue;
		if (be32toh(*(uint32_t *)(mad + 12)) == tid)
			return umad_status(in) ? -1 : length;
	}
	return -1;
}

static uint16_t status(void)
{
	uint8_t *mad = umad_get_mad(in);

	return (uint16_t)(mad[4] << 8 | mad[5]);
}

/* Queries the GIDs of the ports that this port has paths to. */
static int query_gids(void)
{
	uint8_t *record = start_request(GET_TABLE, PATH, 1 << 5);
	int length;

	put(record + 42, lid, 2);
	if (submit(10 * TIMEOUT_MS) < 0 || (length = receive_reply(10 * TIMEOUT_MS)) < 0)
		return -1;
	for (int at = DATA; at + 64 <= length && gids_count < GIDS_MAX; at += 64)
		memcpy(gids[gids_count++], (uint8_t *)umad_get_mad(in) + at + 8, 16);
	return gids_count ? 0 : -1;
}

static void build_path_query(const uint8_t *to)
{
	uint8_t *record = start_request(GET, PATH, 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12);

	memcpy(record + 8, to, 16);
	memcpy(record + 24, own_gid, 16);
	record[49] = 0x81;                                      /* reversible, one path */
}

static void build_member_request(uint8_t method, uint64_t number)
{
	/* MGID, PortGID, JoinState; with Q_Key, TClass, P_Key, SL, FlowLabel a group is created if it does not exist. */
	uint64_t key = 1 << 0 | 1 << 1 | 1 << 16, created = 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13;
	uint8_t *record = start_request(method, MEMBER, number ? key | created : key);

	put(record, number ? 0xff12000000000000ull : 0xff12401bffff0000ull, 8);
	put(record + 8, number ? 0x5a0000 + number : 0xffffffff, 8);
	memcpy(record + 16, own_gid, 16);
	put(record + 32, 0x0b1b, 4);
	put(record + 40, 0xffff, 2);
	record[48] = 1;
}

static int build_flood_request(const char *kind)
{
	uint8_t *record;

	if (!strcmp(kind, "pairs") || !strcmp(kind, "pair")) {
		/* Rate, exactly 2.5 Gb/s; an SL that no path has, so that a Get finds none. */
		record = start_request(kind[4] ? GET_TABLE : GET, PATH, 3 << 18 | 1 << 15);
		record[52] = 0, record[53] = 0x0f, record[55] = 2 << 6 | 2;
	} else if (!strcmp(kind, "multi")) {
		record = start_request(GET_MULTI, MULTI_PATH, 1 << 19 | 1 << 20);
		record[15] = 5, record[16] = 6;
		for (int i = 0; i < 11; i++)
			memcpy(record + 24 + 16 * i, gids[i % gids_count], 16);
	} else if (!strcmp(kind, "members")) {
		start_request(GET_TABLE, MEMBER, 0);
	} else if (!strcmp(kind, "services")) {
		start_request(GET_TABLE, SERVICE, 0);
	} else {
		return -1;
	}
	return 0;
}

static int flood(const char *kind, int window)
{
	struct sigaction action = { .sa_handler = stop };
	long answered = 0;

	sigaction(SIGTERM, &action, NULL);
	if (!strcmp(kind, "multi") && query_gids() < 0)
		return 1;
	if (build_flood_request(kind) < 0 || window < 1 || window > WINDOW_MAX)
		return 2;
	for (int i = 0; i < window; i++)
		submit(TIMEOUT_MS);
	while (!stopped) {
		int length = BUFFER;

		if (umad_recv(port, in, &length, 100) < 0)
			continue;
		/* A request that timed out is repeated as well. */
		if (!umad_status(in) && !answered++) {
			puts("flooding");
			fflush(stdout);
		}
		build_flood_request(kind);
		submit(TIMEOUT_MS);
	}
	printf("%ld answered\n", answered);
	return 0;
}

static int measure(const char *kind, long count, double limit_ms, uint64_t first)
{
	static double latencies[COUNT_MAX];
	long answered = 0, refused = 0, measured = 0;
	double sum = 0;

	if (count < 1 || count > COUNT_MAX || (!strcmp(kind, "paths") && query_gids() < 0))
		return 1;
	for (long n = 0; n < count; n++) {
		double sent = now_ms();

		if (!strcmp(kind, "paths"))
			build_path_query(gids[n % gids_count]);
		else if (!strcmp(kind, "joins"))
			build_member_request(SET, 0);
		else
			build_member_request(SET, first + (uint64_t)n);
		if (submit((int)limit_ms) < 0)
			return 1;
		int length = receive_reply((int)limit_ms);
		double ms = now_ms() - sent;

		sum += ms;
		if (length >= 0) {
			answered++, refused += status() != 0;
			latencies[measured++] = ms;
		}
		if (!strcmp(kind, "joins")) {
			build_member_request(DELETE, 0);
			if (submit((int)limit_ms) < 0)
				return 1;
			receive_reply((int)limit_ms);
		}
	}
	qsort(latencies, (size_t)measured, sizeof latencies[0], ascending);
	printf("%ld of %ld answered, median %.2f ms, slowest %.2f ms, sum %.1f ms, %ld refused\n", answered, count,
	       measured ? latencies[measured / 2] : 0, measured ? latencies[measured - 1] : 0, sum, refused);
	return 0;
}

int main(int argc, char **argv)
{
	char ca[1][UMAD_CA_NAME_LEN];
	umad_port_t attributes;

	if (argc != 4)
		return 2;
	if (umad_init() < 0 || umad_get_cas_names(ca, 1) < 1 || umad_get_port(ca[0], 1, &attributes) < 0
	    || (port = umad_open_port(ca[0], 1)) < 0 || (agent = umad_register(port, 3, 2, 1, NULL)) < 0) {
		fprintf(stderr, "sa-hostile: no port\n");
		return 1;
	}
	lid = (uint16_t)attributes.base_lid, sm_lid = (uint16_t)attributes.sm_lid;
	memcpy(own_gid, &attributes.gid_prefix, 8);
	memcpy(own_gid + 8, &attributes.port_guid, 8);
	umad_release_port(&attributes);
	out = umad_alloc(1, umad_size() + MAD);
	in = umad_alloc(1, umad_size() + BUFFER);
	if (!out || !in)
		return 1;
	if (!strcmp(argv[1], "flood"))
		return flood(argv[2], atoi(argv[3]));
	if (!strcmp(argv[1], "create"))
		return measure(argv[1], atol(argv[2]), 5 * TIMEOUT_MS, strtoull(argv[3], NULL, 10));
	if (!strcmp(argv[1], "paths") || !strcmp(argv[1], "joins"))
		return measure(argv[1], atol(argv[2]), atof(argv[3]), 0);
	return 2;
}
