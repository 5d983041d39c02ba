// SPDX-License-Identifier: GPL-3.0-or-later
// The work: a scenario file, decoded as the client and the daemon do it, and recorded pictures.
#include "config.h"

#include "client/scenario/load.h"
#include "daemon/screen/folder.h"
#include "daemon/screen/screen.h"
#include "tests/bench/overhead/overhead.h"

#include <errno.h>
#include <string.h>

// --- loading ---------------------------------------------------------------------------------------------------------

static int load_scenario(struct work *work, struct scenario_file **ret_file, struct error *error)
{
	CLEANUP_FREE uint8_t *packed = NULL;
	struct scenario_problems problems;
	size_t size;
	int r = scenario_load_file(work->scenario_path, NULL, ret_file, error);

	if (r < 0)
		return r;
	if (scenario_file_errors(*ret_file) > 0) {
		scenario_file_print_diagnostics(*ret_file, stderr);
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL, "%.200s has mistakes",
				 work->scenario_path);
	}
	r = scenario_file_pack(*ret_file, &packed, &size, error);
	if (r < 0)
		return r;
	r = scenario_decode(packed, size, &work->scenario, &problems);
	if (r == -EINVAL)
		*error = problems.items[0];
	if (r < 0)
		return r;
	return scenario_encode_kept(work->scenario, packed, size, &(struct scenario_run){0}, &work->kept,
				    &work->kept_size);
}

// What stands between "replay:" and the options.
static int replay_folder(const struct scenario_file *file, char **ret, struct error *error)
{
	const char *screen = scenario_file_message(file)->screen;

	if (!screen || strncmp(screen, "replay:", 7) != 0)
		return error_set(error, CONDPROF__CODE__BAD_REQUEST, EINVAL,
				 "the scenario's screen is no replay: folder; say --pictures FOLDER");
	screen += 7;
	*ret = strndup(screen, strcspn(screen, "?"));
	return *ret ? 0 : -ENOMEM;
}

static int load_pictures(struct work *work, size_t most, struct error *error)
{
	struct folder *folder;
	int r = folder_open(work->pictures_path, NULL, &folder, error);

	if (r < 0)
		return r;
	work->n_files = folder->count;
	most = MIN(most, folder->count);
	work->pictures = calloc(most, sizeof(struct picture *));
	for (size_t i = 0; work->pictures && r == 0 && i < most; i++) {
		r = folder_read(folder, i * folder->count / most, &work->pictures[i], error);
		work->n_pictures = i + (r == 0);
	}
	folder_close(folder);
	return work->pictures ? r : -ENOMEM;
}

int work_load(const char *scenario_path, const char *pictures_path, size_t n_pictures, struct work *ret,
	      struct error *error)
{
	struct scenario_file *file CLEANUP(scenario_file_cleanup) = NULL;
	struct work work = {.scenario_path = strdup(scenario_path)};
	int r = work.scenario_path ? load_scenario(&work, &file, error) : -ENOMEM;

	if (r == 0 && pictures_path)
		r = (work.pictures_path = strdup(pictures_path)) ? 0 : -ENOMEM;
	else if (r == 0)
		r = replay_folder(file, &work.pictures_path, error);
	if (r == 0)
		r = load_pictures(&work, n_pictures, error);
	if (r < 0) {
		work_free(&work);
		return r;
	}
	*ret = work;
	return 0;
}

void work_free(struct work *work)
{
	for (size_t i = 0; i < work->n_pictures; i++)
		picture_free(work->pictures[i]);
	free(work->pictures);
	scenario_free(work->scenario);
	free(work->kept);
	free(work->scenario_path);
	free(work->pictures_path);
}

// --- the screen ------------------------------------------------------------------------------------------------------

struct pictures_screen {
	struct screen screen;
	const struct work *work;
	uint64_t taken;
};

static enum screen_status pictures_wait(struct screen *screen, const struct screen_wait *wait)
{
	(void)screen;
	(void)wait;
	return SCREEN_OK;
}

static enum screen_status pictures_same(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	struct pictures_screen *pictures = (struct pictures_screen *)screen;

	(void)wait;
	ret->view = picture_view(pictures->work->pictures[(pictures->taken - 1) % pictures->work->n_pictures]);
	ret->serial = pictures->taken;
	screen->width = ret->view.width;
	screen->height = ret->view.height;
	return SCREEN_OK;
}

static enum screen_status pictures_get(struct screen *screen, const struct screen_wait *wait, struct frame *ret)
{
	((struct pictures_screen *)screen)->taken++;
	return pictures_same(screen, wait, ret);
}

static struct screen *pictures_close(struct screen *screen)
{
	free(screen);
	return NULL;
}

struct screen *pictures_open(const struct work *work)
{
	static const struct screen_ops ops = {
		.scheme = "pictures",
		.close = pictures_close,
		.wait = pictures_wait,
		.get = pictures_get,
		.refresh = pictures_same,
	};
	struct pictures_screen *pictures = calloc(1, sizeof(*pictures));

	if (!pictures)
		return NULL;
	pictures->work = work;
	pictures->screen.ops = &ops;
	pictures->screen.by_pass = true;
	pictures->screen.width = work->pictures[0]->width;
	pictures->screen.height = work->pictures[0]->height;
	return &pictures->screen;
}
