// SPDX-License-Identifier: GPL-2.0
/*
 * Carries messages over the loopback interface and back, byte by byte equal.
 *
 * usage: loopback [-6] PAIRS
 *
 * Each pair is a server and a client process with an association of their own,
 * all at the same time. The client sends a message of each size, the server
 * reads it, compares it with what it must be, sends it back, and the client
 * compares again. The first thing that is not as it must be is told in one
 * sentence; then the exit status is 1.
 *
 * Needs nothing but libc, so that it can be linked statically and run as one
 * of the few programs in scripts/kernels/check's machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ltp.h>

#define FIRST_PORT	7000
#define TIME_LIMIT	300	/* seconds a process may take; emulation is slow */

static const size_t sizes[] = {
	1, 2, 15, 16, 17, 1000, 1448, 4096, 65535, 65536, 100000, 1 << 20
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static int family = AF_INET;
static int pair;
static const char *role;

static void __attribute__((format(printf, 1, 2))) fail(const char *fmt, ...)
{
	char what[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	fprintf(stderr, "loopback: pair %d, %s: %s\n", pair, role, what);
	exit(1);
}

static void too_slow(int signal)
{
	static const char text[] = "loopback: a process hangs\n";

	(void)signal;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

/* Byte @i of the message of @size bytes that pair number `pair` carries. */
static unsigned char pattern(size_t size, size_t i)
{
	return (i * 2654435761U + size * 40503U + pair) >> 8;
}

static void fill(unsigned char *buffer, size_t size)
{
	for (size_t i = 0; i < size; i++)
		buffer[i] = pattern(size, i);
}

static socklen_t address(struct sockaddr_storage *storage)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)storage;
	struct sockaddr_in *in = (struct sockaddr_in *)storage;

	memset(storage, 0, sizeof(*storage));
	if (family == AF_INET6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(FIRST_PORT + pair);
		in6->sin6_addr = in6addr_loopback;
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(FIRST_PORT + pair);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(*in);
}

static int new_socket(void)
{
	int fd = socket(family, SOCK_SEQPACKET, IPPROTO_LTP);

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	return fd;
}

static void send_message(int fd, unsigned char *buffer, size_t size)
{
	ssize_t sent = send(fd, buffer, size, 0);

	if (sent < 0)
		fail("send of %zu bytes: %s", size, strerror(errno));
	if ((size_t)sent != size)
		fail("send of %zu bytes took only %zd", size, sent);
}

static void receive_message(int fd, unsigned char *buffer, size_t room,
			    size_t size)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = room };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t got;

	memset(buffer, 0xa5, room);
	got = recvmsg(fd, &msg, 0);
	if (got < 0)
		fail("receive of %zu bytes: %s", size, strerror(errno));
	if ((size_t)got != size)
		fail("receive of %zu bytes got %zd", size, got);
	if (!(msg.msg_flags & MSG_EOR) || (msg.msg_flags & MSG_TRUNC))
		fail("receive of %zu bytes: msg_flags are 0x%x", size,
		     msg.msg_flags);
	for (size_t i = 0; i < size; i++)
		if (buffer[i] != pattern(size, i))
			fail("byte %zu of %zu is 0x%02x and not 0x%02x", i,
			     size, buffer[i], pattern(size, i));
	for (size_t i = size; i < room; i++)
		if (buffer[i] != 0xa5)
			fail("byte %zu behind a message of %zu was written", i,
			     size);
}

static unsigned char *new_buffer(size_t *room)
{
	unsigned char *buffer;

	*room = sizes[SIZES - 1] + 64;
	buffer = malloc(*room);
	if (!buffer)
		fail("no memory");
	return buffer;
}

static void server(int listener)
{
	int fd = accept(listener, NULL, NULL);
	unsigned char *buffer;
	size_t room;

	if (fd < 0)
		fail("accept: %s", strerror(errno));
	buffer = new_buffer(&room);
	for (size_t i = 0; i < SIZES; i++) {
		receive_message(fd, buffer, room, sizes[i]);
		send_message(fd, buffer, sizes[i]);
	}
	/* The client closes: the end, no error. */
	if (recv(fd, buffer, room, 0) != 0)
		fail("no end of file after the peer's close");
	if (close(fd))
		fail("close: %s", strerror(errno));
	exit(0);
}

static void client(void)
{
	struct sockaddr_storage to;
	socklen_t len = address(&to);
	unsigned char *buffer;
	int fd = new_socket();
	size_t room;

	if (connect(fd, (struct sockaddr *)&to, len))
		fail("connect: %s", strerror(errno));
	buffer = new_buffer(&room);
	for (size_t i = 0; i < SIZES; i++) {
		fill(buffer, sizes[i]);
		send_message(fd, buffer, sizes[i]);
		receive_message(fd, buffer, room, sizes[i]);
	}
	if (close(fd))
		fail("close: %s", strerror(errno));
	exit(0);
}

static void start(void (*run)(int), int listener, const char *name)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid)
		return;
	role = name;
	signal(SIGALRM, too_slow);
	alarm(TIME_LIMIT);
	run(listener);
}

static void run_client(int listener)
{
	close(listener);
	client();
}

int main(int argc, char **argv)
{
	int status, pairs, bad = 0;

	role = "parent";
	if (argc > 1 && !strcmp(argv[1], "-6")) {
		family = AF_INET6;
		argc--;
		argv++;
	}
	pairs = argc == 2 ? atoi(argv[1]) : 0;
	if (pairs < 1) {
		fprintf(stderr, "usage: loopback [-6] PAIRS\n");
		return 2;
	}
	for (pair = 0; pair < pairs; pair++) {
		struct sockaddr_storage at;
		socklen_t len = address(&at);
		int listener = new_socket(), one = 1;

		if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one,
			       sizeof(one)))
			fail("SO_REUSEADDR: %s", strerror(errno));
		if (bind(listener, (struct sockaddr *)&at, len))
			fail("bind: %s", strerror(errno));
		if (listen(listener, 1))
			fail("listen: %s", strerror(errno));
		start(server, listener, "server");
		start(run_client, listener, "client");
		close(listener);
	}
	while (wait(&status) > 0)
		bad |= status;
	return bad ? 1 : 0;
}
