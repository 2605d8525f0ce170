// SPDX-License-Identifier: GPL-2.0
/*
 * The first process of a lab machine. scripts/lab/make compiles it (statically) into the tree; scripts/lab/run boots
 * with init=/usr/lib/ltp-lab/init.
 *
 * It mounts what Linux programs expect and the repository at /ltp, runs scripts/lab/guest from there, carries that
 * script's output to the consoles that scripts/lab/run reads, reaps orphans, and switches the machine off.
 *
 * The kernel hands unknown NAME=value words of its command line to init as environment:
 *	LTP_REPO	the repository's path on the host
 *	LTP_RUN		this run's directory, relative to the repository
 *	LTP_TTY		lines x columns of the caller's terminal, when there is one: then programs here see a terminal too
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

/* Into the kernel log, which is the only thing that is certain to be read. */
static void complain(const char *what)
{
	fprintf(stderr, "lab init: %s: %s\n", what, strerror(errno));
}

static void mount_or_off(const char *type, const char *where, const char *options)
{
	if (mount(type, where, type, 0, options)) {
		complain(where);
		off();
	}
}

static void mounts(void)
{
	const char *repo = getenv("LTP_REPO");

	mount_or_off("devtmpfs", "/dev", "mode=755");
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	mount_or_off("devpts", "/dev/pts", "mode=620,ptmxmode=666");
	mount_or_off("tmpfs", "/dev/shm", "mode=1777");
	mount_or_off("proc", "/proc", NULL);
	mount_or_off("sysfs", "/sys", NULL);
	mount_or_off("debugfs", "/sys/kernel/debug", NULL);
	mount_or_off("tmpfs", "/tmp", "mode=1777");
	mount_or_off("tmpfs", "/run", "mode=755");
	mount_or_off("hostfs", "/ltp", repo ? repo : "/");
	/* What user space of any distribution takes for granted, and devtmpfs does not make. */
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("/proc/self/fd/0", "/dev/stdin") ||
	    symlink("/proc/self/fd/1", "/dev/stdout") || symlink("/proc/self/fd/2", "/dev/stderr"))
		complain("/dev/fd");
}

/* One output: the console it ends up on, and the pipe in between unless programs are to see a terminal. */
struct output {
	int console;
	int from; /* read end of the pipe, -1: none, or at its end */
	int to;	  /* what the script gets */
};

static void open_output(struct output *o, const char *console, const char *size)
{
	struct termios t;
	struct winsize w = { 0 };
	int p[2];

	o->console = open(console, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (o->console < 0) {
		complain(console);
		off();
	}
	tcgetattr(o->console, &t);
	cfmakeraw(&t); /* a byte that goes in is the byte that comes out */
	tcsetattr(o->console, TCSANOW, &t);
	o->from = -1;
	o->to = o->console;
	if (size && sscanf(size, "%hux%hu", &w.ws_row, &w.ws_col) == 2) {
		ioctl(o->console, TIOCSWINSZ, &w);
		return;
	}
	if (pipe2(p, O_CLOEXEC)) {
		complain("pipe");
		off();
	}
	o->from = p[0];
	o->to = p[1];
}

/* Moves what is there. Returns 0 at the end. */
static int carry(struct output *o)
{
	char buf[16384];
	ssize_t got, put, n;

	got = read(o->from, buf, sizeof(buf));
	if (got <= 0)
		return 0;
	for (put = 0; put < got; put += n) {
		n = write(o->console, buf + put, got - put);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return 0; /* nobody listens any more */
	}
	return 1;
}

int main(void)
{
	static char *const argv[] = { "/bin/bash", "/ltp/scripts/lab/guest", NULL };
	const char *tty = getenv("LTP_TTY");
	struct output out[2], *o;
	struct pollfd fds[3];
	int status, running = 1;
	sigset_t chld;
	pid_t script, pid;

	umask(022);
	mounts();
	open_output(&out[0], "/dev/tty1", tty);
	open_output(&out[1], getenv("LTP_ONE_OUTPUT") ? "/dev/tty1" : "/dev/tty2", tty);

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	fds[2].fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	fds[2].events = POLLIN;

	script = fork();
	if (script == 0) {
		sigprocmask(SIG_UNBLOCK, &chld, NULL);
		setsid();
		status = open("/dev/null", O_RDWR);
		dup2(status, 0);
		dup2(out[0].to, 1);
		dup2(out[1].to, 2);
		execv(argv[0], argv);
		_exit(127);
	}
	for (o = out; o < out + 2; o++)
		if (o->from >= 0)
			close(o->to);

	while (running || out[0].from >= 0 || out[1].from >= 0) {
		struct signalfd_siginfo info;

		fds[0].fd = out[0].from;
		fds[1].fd = out[1].from;
		fds[0].events = fds[1].events = POLLIN;
		if (poll(fds, 3, -1) < 0)
			continue;
		for (o = out; o < out + 2; o++)
			if (fds[o - out].revents && !carry(o)) {
				close(o->from);
				o->from = -1;
			}
		if (read(fds[2].fd, &info, sizeof(info)) < 0 && errno != EAGAIN)
			complain("signalfd");
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == script) {
				running = 0;
				kill(-1, SIGKILL); /* or a daemon would keep the pipes open for ever */
			}
	}
	tcdrain(out[0].console);
	tcdrain(out[1].console);
	off();
}
