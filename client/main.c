// SPDX-License-Identifier: GPL-3.0-or-later
//
// condprofctl: parses the command line, runs the command, says how it ended.
#include "config.h"

#include "client/verbs.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

/// Without this a socket could become standard output. What is closed stays unusable, so that writing to it still
/// fails.
static void occupy_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/// Names are UTF-8 whatever the locale says, so their letters are known and measured as such. @return whether the
/// locale is UTF-8 too: then the output may have more than ASCII of its own
static bool set_locale(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
		return true;
	setlocale(LC_CTYPE, "C.UTF-8");
	return false;
}

int main(int argc, char **argv)
{
	struct client client;

	occupy_standard_fds();
	signal(SIGPIPE, SIG_DFL); // a reader that has had enough ends us without a word
	bool utf8 = set_locale();
	enum exit_code code = client_parse(argc, argv, &client);
	client.utf8 = utf8;
	if (code == EXIT_DONE && client.verb)
		code = client.verb->run(&client);
	if (code == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout)))
		code = client_fail(&client, EXIT_FAILED, "can't write to standard output");
	client_clear(&client);
	return code;
}
