/* Queries PathRecords with libibumad from every CA that this process sees, each with a window of outstanding queries, and prints the
 * rate and the latency of replies.
 *
 *   sa-storm SECONDS WINDOW
 *
 * The client works with any subnet manager. A query without a reply within a second counts as lost and is repeated. Exit status 1
 * without a port.
 */
#include <infiniband/umad.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAD = 256, TIMEOUT_MS = 1000, HOSTS_MAX = 32, WINDOW_MAX = 256, LATENCIES_MAX = 1 << 22 };

struct host {
	int fd, agent;
	uint16_t lid, sm_lid;
	uint8_t gid[16];
	double sent_at[WINDOW_MAX];
};

static struct host hosts[HOSTS_MAX];
static int count;
static float latencies[LATENCIES_MAX];
static long answered, lost, busy, rejected;
static unsigned next_host;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

static void send_query(struct host *h, uint32_t slot, void *buffer)
{
	uint8_t *mad = umad_get_mad(buffer);

	memset(mad, 0, MAD);
	mad[0] = 1, mad[1] = 3, mad[2] = 2, mad[3] = 1;         /* SubnAdm, Get */
	memcpy(mad + 12, &slot, 4);
	mad[17] = 0x35;                                         /* PathRecord */
	mad[54] = 0x18, mad[55] = 0x0c;                         /* NumbPath, Reversible, SGID, DGID */
	memcpy(mad + 56 + 8, hosts[next_host++ % count].gid, 16);
	memcpy(mad + 56 + 24, h->gid, 16);
	mad[56 + 49] = 0x81;                                    /* reversible, one path */
	h->sent_at[slot] = now();
	umad_set_addr(buffer, h->sm_lid, 1, 0, 0x80010000);
	umad_set_pkey(buffer, 0);
	if (umad_send(h->fd, h->agent, buffer, MAD, TIMEOUT_MS, 0) < 0)
		lost++;
}

static void open_all(void)
{
	char names[HOSTS_MAX][UMAD_CA_NAME_LEN];
	int found = umad_get_cas_names(names, HOSTS_MAX);

	for (int i = 0; i < found; i++) {
		struct host *h = &hosts[count];
		umad_port_t port;

		if (umad_get_port(names[i], 1, &port) < 0)
			continue;
		h->lid = port.base_lid, h->sm_lid = port.sm_lid;
		memcpy(h->gid, &port.gid_prefix, 8);
		memcpy(h->gid + 8, &port.port_guid, 8);
		umad_release_port(&port);
		h->fd = umad_open_port(names[i], 1);
		if (h->fd < 0 || (h->agent = umad_register(h->fd, 3, 2, 0, NULL)) < 0)
			continue;
		count++;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5, silent = 0;
	uint32_t window = argc > 2 ? (uint32_t)atoi(argv[2]) : 16;
	struct pollfd fds[HOSTS_MAX];
	void *buffer, *in;

	if (umad_init() < 0 || window < 1 || window > WINDOW_MAX)
		return 1;
	open_all();
	if (!count) {
		fprintf(stderr, "sa-storm: no port\n");
		return 1;
	}
	buffer = umad_alloc(1, umad_size() + MAD);
	in = umad_alloc(1, umad_size() + MAD);
	for (int i = 0; i < count; i++) {
		fds[i].fd = umad_get_fd(hosts[i].fd), fds[i].events = POLLIN;
		for (uint32_t slot = 0; slot < window; slot++)
			send_query(&hosts[i], slot, buffer);
	}
	double start = now(), last = start, t = start;
	while (t - start < seconds) {
		if (poll(fds, count, 100) < 0)
			break;
		for (int i = 0; i < count; i++) {
			int length = MAD;

			if (!(fds[i].revents & POLLIN) || umad_recv(hosts[i].fd, in, &length, 0) < 0)
				continue;
			uint8_t *mad = umad_get_mad(in);
			uint32_t slot;

			memcpy(&slot, mad + 12, 4);
			slot %= WINDOW_MAX;
			t = now();
			if (umad_status(in)) {
				lost++;
			} else {
				uint16_t status = (uint16_t)(mad[4] << 8 | mad[5]);

				if (answered < LATENCIES_MAX)
					latencies[answered] = (float)(t - hosts[i].sent_at[slot]);
				answered++;
				busy += status == 1;
				rejected += status > 1;
				if (t - last > silent)
					silent = t - last;
				last = t;
			}
			send_query(&hosts[i], slot, buffer);
		}
		t = now();
	}
	if (t - last > silent)
		silent = t - last;
	long measured = answered < LATENCIES_MAX ? answered : LATENCIES_MAX;
	qsort(latencies, (size_t)measured, sizeof latencies[0], ascending);
	printf("%d hosts, window %u: %ld answers, %.0f a second, half within %.3f ms, 99 of 100 within %.3f ms, "
	       "silent for %.3f s, %ld lost, %ld busy, %ld refused\n",
	       count, window, answered, answered / (t - start), measured ? latencies[measured / 2] * 1e3 : 0,
	       measured ? latencies[measured * 99 / 100] * 1e3 : 0, silent, lost, busy, rejected);
	return 0;
}
