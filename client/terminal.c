// SPDX-License-Identifier: GPL-3.0-or-later
//
// Signals that end the program restore the terminal in their handler, with what is allowed there, and then end it as
// they would have. Those that only say something come through a descriptor.
#include "config.h"

#include "client/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

// Alternate screen, no cursor; and back.
static const char enter_sequence[] = "\033[?1049h\033[?25l\033[H\033[2J", leave_sequence[] = "\033[?25h\033[?1049l";

static const int ending_signals[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
				     SIGABRT, SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGXCPU, SIGXFSZ};

static struct termios saved;
static volatile sig_atomic_t entered;
static int signal_fd = -1, event_fd = -1;

static void write_sequence(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(STDOUT_FILENO, text, length);

		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, 100);
			continue;
		}
		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			text += n;
			length -= (size_t)n;
		}
	}
}

void terminal_leave(void)
{
	if (!entered)
		return;
	entered = false;
	write_sequence(leave_sequence, sizeof(leave_sequence) - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

/// SA_RESETHAND: raised again, it does what it would have done without us.
static void restore_and_end(int number)
{
	terminal_leave();
	raise(number);
}

static void said_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGWINCH);
	sigaddset(ret, SIGTSTP);
	sigaddset(ret, SIGCONT);
}

static int open_events(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t signals;

	said_signals(&signals);
	signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (signal_fd < 0 || event_fd < 0 || epoll_ctl(event_fd, EPOLL_CTL_ADD, signal_fd, &event) < 0 ||
	    epoll_ctl(event_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0)
		return -errno;
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return 0;
}

/// A signal that is ignored stays so.
static void catch_ending_signals(void)
{
	struct sigaction action = {.sa_handler = restore_and_end, .sa_flags = (int)SA_RESETHAND}, old;

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
		if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(ending_signals[i], &action, NULL);
}

static int switch_over(void)
{
	struct termios raw = saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); // ISIG stays: Ctrl-C and Ctrl-Z mean what they always do
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	entered = true;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0) {
		entered = false;
		return -errno;
	}
	write_sequence(enter_sequence, sizeof(enter_sequence) - 1);
	return 0;
}

bool terminal_is_screen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

int terminal_enter(void)
{
	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return -errno;
	if (event_fd < 0) {
		int r = open_events();

		if (r < 0)
			return r;
		catch_ending_signals();
		atexit(terminal_leave);
	}
	return switch_over();
}

int terminal_fd(void)
{
	return event_fd;
}

/// Stops as the shell expects it, with the terminal as it was.
static void stop(void)
{
	sigset_t stopping;

	terminal_leave();
	sigemptyset(&stopping);
	sigaddset(&stopping, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stopping, NULL); // stopped here
	sigprocmask(SIG_BLOCK, &stopping, NULL);
}

static int signal_event(void)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TERMINAL_NOTHING;
	if (info.ssi_signo == SIGTSTP)
		stop();
	if (info.ssi_signo != SIGWINCH) {
		// Whoever ran meanwhile may have changed it.
		terminal_leave();
		if (tcgetattr(STDIN_FILENO, &saved) < 0 || switch_over() < 0)
			return TERMINAL_CLOSED;
	}
	return TERMINAL_REDRAW;
}

int terminal_event(void)
{
	unsigned char key;
	int event = signal_event();

	if (event != TERMINAL_NOTHING)
		return event;
	if (poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, 0) <= 0)
		return TERMINAL_NOTHING;
	ssize_t n = read(STDIN_FILENO, &key, 1);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return TERMINAL_NOTHING;
	return n == 1 && key > 0 ? key : n == 1 ? ' ' : TERMINAL_CLOSED;
}

void terminal_size(int *ret_width, int *ret_height)
{
	struct winsize size;
	bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;

	*ret_width = known && size.ws_col > 0 ? size.ws_col : 80;
	*ret_height = known && size.ws_row > 0 ? size.ws_row : 24;
}
