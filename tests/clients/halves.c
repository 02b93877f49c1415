/* Writes messages of unusual lengths to a umad device, and prints the result of each: `BYTES ok` or `BYTES ERRNO`. An agent
 * is registered, so only the length is invalid.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	static unsigned char message[2000];
	int port, agent, fd, header = umad_size();
	const int sizes[] = { 0, 10, header, header + 35, header + 300 };

	if (umad_init() < 0 || (port = umad_open_port(NULL, 0)) < 0)
		return 1;
	agent = umad_register(port, 0x81, 1, 0, NULL);
	fd = umad_get_fd(port);
	if (agent < 0 || fd < 0)
		return 1;
	memset(message, 0xff, sizeof message);
	memset(message, 0, 64);
	for (unsigned int i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		umad_set_addr(message, 0xffff, 0, 0, 0);
		memcpy(message, &agent, sizeof agent);
		errno = 0;
		if (write(fd, message, sizes[i]) < 0)
			printf("%d %d\n", sizes[i] - header, errno);
		else
			printf("%d ok\n", sizes[i] - header);
	}
	return 0;
}
