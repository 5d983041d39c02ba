// SPDX-License-Identifier: GPL-3.0-or-later
//
// capture: a picture of the screen as the daemon sees it. With --crop a piece of it, to be looked for, and the lines of
// a scenario file that look for it.
#include "config.h"

#include "client/commands.h"
#include "client/connection.h"
#include "client/looking.h"
#include "client/quantity.h"
#include "client/scenario/load.h"
#include "daemon/picture/picture.h"
#include "proto/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AROUND_PX 32 // at least so much more to each side, where a thing may move a little
#define LINES 3

struct capture {
	struct client *client;
	const char *out;
	char *screen; ///< NULL: not given
	bool cropped;
	struct rect crop;
	struct connection *connection;
	struct incoming incoming;
	uint8_t *png; ///< that is written; NULL: as it came
	size_t png_size;
	bool flat; ///< the crop: one gray, which no image condition can look for
	uint32_t rgb;
	char *lines[LINES]; ///< of a scenario file
};

static void capture_clear(struct capture *capture)
{
	capture->connection = connection_close(capture->connection);
	incoming_clear(&capture->incoming);
	free(capture->screen);
	free(capture->png);
	for (size_t i = 0; i < LINES; i++)
		free(capture->lines[i]);
}

static enum exit_code take_crop(struct capture *capture)
{
	const char *text = client_option(capture->client, "--crop");
	int64_t values[4];

	if (!text)
		return EXIT_DONE;
	const char *at = text;
	for (int i = 0; i < 4; i++) {
		char word[16];
		size_t length = strcspn(at, ",");

		snprintf(word, sizeof(word), "%.*s", (int)MIN(length, sizeof(word) - 1), at);
		if (length >= sizeof(word) || count_parse(word, i < 2 ? 0 : 1, &values[i]) < 0 ||
		    values[i] > PICTURE_MAX_SIDE || (i < 3) != (at[length] == ','))
			return client_fail(capture->client, EXIT_USAGE,
					   "--crop %s: x,y,width,height in px is needed, as in 100,40,64,32", text);
		at += length + 1;
	}
	capture->cropped = true;
	capture->crop = (struct rect){(int)values[0], (int)values[1], (int)(values[0] + values[2]),
				      (int)(values[1] + values[3])};
	return EXIT_DONE;
}

static enum exit_code take_options(struct capture *capture)
{
	const struct client *client = capture->client;
	bool piped = strcmp(capture->out, "-") == 0;

	if (piped && client->output != OUTPUT_TEXT)
		return client_fail(client, EXIT_USAGE,
				   "--output %s goes to standard output, and so would the picture: name a file for it",
				   output_names[client->output]);
	if (piped && isatty(STDOUT_FILENO))
		return client_fail(client, EXIT_USAGE,
				   "standard output is a terminal, where a PNG file is of no use: name a file");
	enum exit_code code = take_crop(capture);
	return code == EXIT_DONE ? take_screen(client, &capture->screen) : code;
}

static int receive(struct capture *capture, struct error *error)
{
	Condprof__Request request = CONDPROF__REQUEST__INIT;
	Condprof__CaptureRequest message = CONDPROF__CAPTURE_REQUEST__INIT;
	int r;

	message.screen = capture->screen;
	request.body_case = CONDPROF__REQUEST__BODY_CAPTURE;
	request.capture = &message;
	r = connection_send(capture->connection, &request, error);
	while (r == 0) {
		Condprof__Reply *reply CLEANUP(reply_cleanup) = NULL;

		r = connection_receive(capture->connection, request.id, INT64_MAX, &reply, error);
		if (r == 0 && reply->body_case != CONDPROF__REPLY__BODY_CAPTURED)
			r = error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO, "the daemon answered something else");
		if (r == 0)
			r = incoming_add(&capture->incoming, reply->captured, error);
		if (r == 0 && reply->last)
			r = error_set(error, CONDPROF__CODE__BAD_FRAME, EPROTO,
				      "the daemon did not send the picture whole");
	}
	return MIN(r, 0);
}

// --- cropping --------------------------------------------------------------------------------------------------------

static uint32_t mean_colour(struct picture_view view)
{
	uint64_t sums[3] = {0}, count = (uint64_t)view.width * (uint64_t)view.height;

	for (int y = 0; y < view.height; y++)
		for (int x = 0; x < view.width; x++)
			for (int i = 0; i < 3; i++)
				sums[i] += view.pixels[y * view.stride + (ptrdiff_t)4 * x + i];
	for (int i = 0; i < 3; i++)
		sums[i] = (sums[i] + count / 2) / count;
	return (uint32_t)(sums[2] << 16 | sums[1] << 8 | sums[0]);
}

/// A scalar of a scenario file: in quotes wherever it might mean something else.
static char *yaml_text(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
	char *out = NULL;
	size_t size;
	FILE *file = open_memstream(&out, &size);

	if (!file)
		return NULL;
	if (!text[strspn(text, plain)] && text[0] != '-') {
		fputs(text, file);
	} else {
		fputc('"', file);
		for (; *text; text++) {
			unsigned char c = (unsigned char)*text;

			if (c == '"' || c == '\\')
				fprintf(file, "\\%c", c);
			else if (c < 0x20 || c == 0x7f)
				fprintf(file, "\\x%02x", c);
			else
				fputc(c, file);
		}
		fputc('"', file);
	}
	if (fclose(file) == 0)
		return out;
	free(out);
	return NULL;
}

static struct rect around(const struct capture *capture)
{
	struct rect crop = capture->crop;
	int x = MAX((crop.right - crop.left) / 2, AROUND_PX), y = MAX((crop.bottom - crop.top) / 2, AROUND_PX);

	return (struct rect){MAX(crop.left - x, 0), MAX(crop.top - y, 0), MIN(crop.right + x, capture->incoming.width),
			     MIN(crop.bottom + y, capture->incoming.height)};
}

/// @param name NULL: out of memory
static int make_lines(struct capture *capture, const char *name)
{
	struct rect crop = capture->crop, area = around(capture);
	int r;

	if (!name)
		return -ENOMEM;
	if (capture->flat) {
		r = asprintf(&capture->lines[0], "{color: \"#%06x\", area: [%d, %d, %d, %d]}", capture->rgb, crop.left,
			     crop.top, crop.right - crop.left, crop.bottom - crop.top);
		return r < 0 ? -ENOMEM : 0;
	}
	r = asprintf(&capture->lines[0], "{image: %s, search: exact, at: [%d, %d]}", name, crop.left, crop.top);
	if (r >= 0)
		r = asprintf(&capture->lines[1], "{image: %s, search: [%d, %d, %d, %d]}", name, area.left, area.top,
			     area.right - area.left, area.bottom - area.top);
	if (r >= 0)
		r = asprintf(&capture->lines[2], "{image: %s}", name);
	return r < 0 ? -ENOMEM : 0;
}

static enum exit_code crop(struct capture *capture)
{
	const struct client *client = capture->client;
	const struct rect *crop = &capture->crop;
	struct picture *picture = NULL;
	struct error error = {0};
	int r = png_decode(capture->incoming.data, capture->incoming.size, &picture, &error);

	if (r < 0)
		return client_fail(client, EXIT_FAILED, "the picture can't be cropped: %s", error.message);
	if (crop->right > picture->width || crop->bottom > picture->height) {
		enum exit_code code = client_fail(client, EXIT_FAILED, "--crop %s is not inside the screen of %dx%d px",
						  client_option(client, "--crop"), picture->width, picture->height);
		picture_free(picture);
		return code;
	}
	struct picture_view piece = picture_view(picture);

	capture->incoming.width = picture->width;
	capture->incoming.height = picture->height;
	piece.pixels += crop->top * piece.stride + (ptrdiff_t)4 * crop->left;
	piece.width = crop->right - crop->left;
	piece.height = crop->bottom - crop->top;
	capture->rgb = mean_colour(piece);
	capture->flat = scenario_check_image(piece, NULL) < 0;
	r = png_encode(piece, &capture->png, &capture->png_size, &error);
	picture_free(picture);
	if (r < 0)
		return client_fail(client, EXIT_FAILED, "%s", error.message);
	const char *slash = strrchr(capture->out, '/');
	CLEANUP_FREE char *name = yaml_text(strcmp(capture->out, "-") == 0 ? "template.png"
					    : slash                        ? slash + 1
									   : capture->out);
	return make_lines(capture, name) < 0 ? client_fail(client, EXIT_FAILED, "out of memory") : EXIT_DONE;
}

// --- what is said ----------------------------------------------------------------------------------------------------

/// The lines of the scenario file, on standard output unless the picture is there.
static void print_lines(const struct capture *capture)
{
	static const char *const comments[LINES] = {"where it is now: nine positions, by far the quickest",
						    "where it may move a little", "anywhere on the screen"};
	FILE *out = strcmp(capture->out, "-") == 0 ? stderr : stdout;

	if (capture->flat) {
		client_note(capture->client,
			    "it is one flat colour, which cannot be looked for as an image: use a color "
			    "condition");
		fprintf(out, "- %s\n", capture->lines[0]);
		return;
	}
	for (size_t i = 0; i < LINES; i++)
		fprintf(out, "# %s\n- %s\n", comments[i], capture->lines[i]);
}

static void view_lines(struct render *render, const struct capture *capture)
{
	static const struct field column = {.name = "line"};
	static const struct table table = {
		.field = {.name = "conditions"}, .columns = &column, .n_columns = 1, .plain = true};

	render_table_open(render, &table);
	for (size_t i = 0; i < LINES && capture->lines[i]; i++) {
		struct cell cell = cell_text(capture->lines[i]);

		render_row(render, &cell);
	}
	render_table_close(render);
}

static enum exit_code show_values(const struct capture *capture)
{
	static const struct field fields[] = {
		{.name = "file"},   {.name = "screen"}, {.name = "width"},      {.name = "height"},
		{.name = "crop.x"}, {.name = "crop.y"}, {.name = "crop.width"}, {.name = "crop.height"},
		{.name = "flat"},   {.name = "color"},
	};
	const struct rect *crop = &capture->crop;
	bool cropped = capture->cropped;
	char colour[16];
	struct render *render = client_render(capture->client);

	snprintf(colour, sizeof(colour), "#%06x", capture->rgb);
	render_values(render, fields, ARRAY_SIZE(fields),
		      (struct cell[]){
			      cell_text(capture->out),
			      cell_text(capture->incoming.screen),
			      cell_count(capture->incoming.width),
			      cell_count(capture->incoming.height),
			      cell_if(cropped, cell_count(crop->left)),
			      cell_if(cropped, cell_count(crop->top)),
			      cell_if(cropped, cell_count(crop->right - crop->left)),
			      cell_if(cropped, cell_count(crop->bottom - crop->top)),
			      cell_if(cropped, cell_flag(capture->flat)),
			      cell_if(cropped, cell_text(colour)),
		      });
	view_lines(render, capture);
	return client_render_done(capture->client, render);
}

static enum exit_code show(const struct capture *capture)
{
	if (capture->client->output != OUTPUT_TEXT)
		return show_values(capture);
	client_note(capture->client, "%s: %dx%d px of %s", capture->out,
		    capture->cropped ? capture->crop.right - capture->crop.left : capture->incoming.width,
		    capture->cropped ? capture->crop.bottom - capture->crop.top : capture->incoming.height,
		    capture->incoming.screen ? capture->incoming.screen : "the screen");
	if (capture->cropped)
		print_lines(capture);
	return EXIT_DONE;
}

enum exit_code cmd_capture(struct client *client)
{
	struct capture capture CLEANUP(capture_clear) = {.client = client, .out = client->arguments[0]};
	struct error error = {0};
	enum exit_code code = take_options(&capture);

	if (code == EXIT_DONE)
		code = client_connect(client, &capture.connection);
	if (code != EXIT_DONE)
		return code;
	int r = receive(&capture, &error);
	if (r < 0)
		return client_fail_error(client, r, &error);
	code = capture.cropped ? crop(&capture) : EXIT_DONE;
	if (code == EXIT_DONE)
		code = capture.png ? write_png_file(client, capture.out, capture.png, capture.png_size)
				   : write_png_file(client, capture.out, capture.incoming.data, capture.incoming.size);
	return code == EXIT_DONE ? show(&capture) : code;
}
