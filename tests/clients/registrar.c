/* Joins and leaves groups, or registers and deletes services, in an endless sequence, and prints each acknowledged request.
 *
 *   registrar FIRST KEPT joins|services     starts with number FIRST; deletes the oldest registration when KEPT newer ones exist.
 *                                           Exits at the end of standard input
 *   out:  port GUID                 port GUID of the client
 *         try SIGN KIND NUMBER      request started: + registers, - deletes; KIND is group, service or inform
 *         did SIGN KIND NUMBER LID  request acknowledged by the SA at this LID
 *         no  SIGN KIND NUMBER STATUS SENT    request rejected with this status after SENT transmissions
 *
 * The client repeats a request without a reply, to the port's present master. Between `try` and the next line the state of the
 * registration is unknown. The client works with any subnet manager.
 */
#include <endian.h>
#include <infiniband/umad.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAD = 256, RETRY_MS = 400, PACE_MS = 5, GROUPS = 32 };
enum { SET = 2, DELETE = 0x15, INFORM = 0x03, SERVICE = 0x31, MEMBER = 0x38 };

static int port, agent;
static uint64_t own_guid, tid;
static char ca[UMAD_CA_NAME_LEN];
static void *out, *in;

static void put(uint8_t *at, uint64_t value, int bytes)
{
	while (bytes--)
		at[bytes] = (uint8_t)value, value >>= 8;
}

static uint64_t get(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static void put_gid(uint8_t *at)
{
	put(at, 0xfe80000000000000ull, 8);
	put(at + 8, own_guid, 8);
}

/* Starts a MAD in `out` with its header; returns its payload. */
static uint8_t *start_request(uint8_t method, uint16_t attribute, uint64_t mask)
{
	uint8_t *mad = umad_get_mad(out);

	memset(mad, 0, MAD);
	mad[0] = 1, mad[1] = 3, mad[2] = 2, mad[3] = method;
	put(mad + 16, attribute, 2);
	put(mad + 48, mask, 8);
	return mad + 56;
}

static uint16_t sm_lid(void)
{
	char path[256], text[32];
	uint16_t lid = 0;
	FILE *from;

	snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/sm_lid", ca);
	from = fopen(path, "r");
	if (from && fgets(text, sizeof text, from))
		lid = (uint16_t)strtoul(text, NULL, 16);
	if (from)
		fclose(from);
	return lid;
}

/* Waits up to wait_ms for the end of standard input; returns whether it has ended. */
static int stdin_ended(int wait_ms)
{
	struct pollfd end = {0, POLLIN, 0};

	return poll(&end, 1, wait_ms) > 0;
}

/* Sends the request in `out` until a reply arrives. False if the client must exit first. */
static int send_request(char sign, const char *kind, uint64_t number)
{
	uint64_t first = tid + 1;

	printf("try %c %s %" PRIu64 "\n", sign, kind, number);
	for (;;) {
		int length = MAD;
		uint16_t to = sm_lid();
		uint8_t *mad = umad_get_mad(out);

		if (stdin_ended(to ? 0 : PACE_MS))
			return 0;
		if (!to)
			continue;
		put(mad + 8, ++tid & 0xffffffff, 8);
		umad_set_addr(out, to, 1, 0, 0x80010000);
		umad_set_pkey(out, 0);
		if (umad_send(port, agent, out, MAD, RETRY_MS, 0) < 0)
			continue;
		/* A request that timed out is returned with a status. A reply to an earlier transmission counts as well. */
		while (umad_recv(port, in, &length, 2 * RETRY_MS) >= 0) {
			uint8_t *reply = umad_get_mad(in);
			uint64_t reply_tid = get(reply + 12, 4);
			int status = reply[4] << 8 | reply[5];

			length = MAD;
			/* After the SM of a host has exited, the host's kernel replies that the attribute is not supported: retry. */
			if (!umad_status(in) && reply_tid >= first && status == 0x000c) {
				if (stdin_ended(PACE_MS))
					return 0;
				break;
			}
			if (!umad_status(in) && reply_tid >= first) {
				if (status)
					printf("no %c %s %" PRIu64 " 0x%04x %" PRIu64 "\n", sign, kind, number, status, tid - first + 1);
				else
					printf("did %c %s %" PRIu64 " %u\n", sign, kind, number, be16toh(umad_get_mad_addr(in)->lid));
				return !stdin_ended(PACE_MS);
			}
			if (umad_status(in) && reply_tid == tid)
				break;
		}
	}
}

static int group(char sign, uint64_t number)
{
	/* MGID, PortGID, JoinState; with Q_Key, TClass, P_Key, SL and FlowLabel, a missing group is created. */
	uint64_t key = 1 << 0 | 1 << 1 | 1 << 16, create = 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13;
	uint8_t *record = start_request(sign == '+' ? SET : DELETE, MEMBER, sign == '+' ? key | create : key);

	put(record, 0xff12000000000000ull, 8);
	put(record + 8, 0x2000 + number, 8);
	put_gid(record + 16);
	put(record + 32, 0x0b1b, 4);
	put(record + 40, 0xffff, 2);
	record[48] = 1;
	return send_request(sign, "group", number);
}

static int service(char sign, uint64_t number)
{
	/* ServiceID, ServiceGID, P_Key; lease and name. */
	uint64_t key = 1 << 0 | 1 << 1 | 1 << 2, create = 1 << 3 | 1 << 5;
	uint8_t *record = start_request(sign == '+' ? SET : DELETE, SERVICE, sign == '+' ? key | create : key);

	put(record, 0x10000 + number, 8);
	put_gid(record + 8);
	put(record + 24, 0xffff, 2);
	put(record + 28, 0xffffffff, 4);
	snprintf((char *)record + 48, 64, "of registrar, %" PRIu64, number);
	return send_request(sign, "service", number);
}

/* Subscribes to group creation: generic notices of any type, trap 66. */
static int inform(void)
{
	uint8_t *info = start_request(SET, INFORM, 0);

	put(info + 16, 0xffff, 2);
	info[22] = 1, info[23] = 1;
	put(info + 24, 0xffff, 2);
	put(info + 26, 66, 2);
	put(info + 28, 1 << 8, 4);
	put(info + 33, 0xffffff, 3);
	return send_request('+', "inform", 0);
}

int main(int argc, char **argv)
{
	umad_port_t attributes;
	uint64_t kept;
	int joins;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	kept = strtoull(argv[2], NULL, 10);
	joins = !strcmp(argv[3], "joins");
	if (umad_init() < 0 || umad_get_cas_names(&ca, 1) < 1 || umad_get_port(ca, 1, &attributes) < 0 || (port = umad_open_port(ca, 1)) < 0
	    || (agent = umad_register(port, 3, 2, 0, NULL)) < 0) {
		fprintf(stderr, "registrar: no port\n");
		return 1;
	}
	own_guid = be64toh(attributes.port_guid);
	umad_release_port(&attributes);
	out = umad_alloc(1, umad_size() + MAD);
	in = umad_alloc(1, umad_size() + MAD);
	if (!out || !in)
		return 1;
	printf("port %016" PRIx64 "\n", own_guid);
	if (!inform())
		return 0;
	for (uint64_t first = strtoull(argv[1], NULL, 10), n = first;; n++) {
		if (joins && !group('+', n % GROUPS))
			return 0;
		if (joins && n >= first + kept && !group('-', (n - kept) % GROUPS))
			return 0;
		if (!service('+', n) || (n >= first + kept && !service('-', n - kept)))
			return 0;
	}
}
