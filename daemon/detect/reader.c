// SPDX-License-Identifier: GPL-3.0-or-later
// Reading text by Tesseract's C API. The library (13 MB with what it needs) is opened when the first reader is made,
// and stays: threads it has once started may not be left without their code. Its functions are called through a table.
//
// Pixels are made ready first, in integers, so that they are the same everywhere: gray, dark on light, and larger where
// letters may be small (docs/DETECTION.md has what that is worth). Nothing of that allocates; Tesseract itself does.
#include "config.h"

#include "daemon/detect/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef HAVE_TESSERACT

#include <dlfcn.h>
#include <pthread.h>
#include <tesseract/capi.h>
#include <tesseract/version.h>

#define STRING(x) #x
#define EXPANDED_STRING(x) STRING(x)
#define LIBRARY "libtesseract.so." EXPANDED_STRING(TESSERACT_MAJOR_VERSION)
#define LIBRARY_PACKAGE "libtesseract" EXPANDED_STRING(TESSERACT_MAJOR_VERSION)

/// Areas up to this height hold small letters.
#define LOW_AREA_PX 44
/// Areas of more pixels are read as they are: reading them is slow enough.
#define LARGE_AREA_PIXELS (1 << 20)
/// What is read on the second try, as one line, counts from this confidence on: from an empty area, a ruler or an icon
/// it would read something otherwise. In percent.
#define LEAST_CONFIDENCE 60
/// Told to Tesseract, which would guess it from the height of letters otherwise.
#define RESOLUTION_PPI 300

#define FUNCTIONS(F)                                                                                                   \
	F(TessBaseAPICreate)                                                                                           \
	F(TessBaseAPIDelete)                                                                                           \
	F(TessBaseAPIInit2)                                                                                            \
	F(TessBaseAPIGetLoadedLanguagesAsVector)                                                                       \
	F(TessBaseAPISetVariable)                                                                                      \
	F(TessBaseAPISetPageSegMode)                                                                                   \
	F(TessBaseAPISetImage)                                                                                         \
	F(TessBaseAPISetSourceResolution)                                                                              \
	F(TessBaseAPIRecognize)                                                                                        \
	F(TessBaseAPIGetIterator)                                                                                      \
	F(TessBaseAPIClear)                                                                                            \
	F(TessDeleteText)                                                                                              \
	F(TessDeleteTextArray)                                                                                         \
	F(TessMonitorCreate)                                                                                           \
	F(TessMonitorDelete)                                                                                           \
	F(TessMonitorSetCancelFunc)                                                                                    \
	F(TessMonitorSetCancelThis)                                                                                    \
	F(TessPageIteratorBoundingBox)                                                                                 \
	F(TessResultIteratorConfidence)                                                                                \
	F(TessResultIteratorDelete)                                                                                    \
	F(TessResultIteratorGetPageIteratorConst)                                                                      \
	F(TessResultIteratorGetUTF8Text)                                                                               \
	F(TessResultIteratorNext)

#define MEMBER(name) __typeof__(&name) name;
static struct {
	FUNCTIONS(MEMBER)
	void *handle;
} library;
#undef MEMBER

/// Of opening the library and of making readers: what they read of the process they share.
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

struct detect_reader {
	TessBaseAPI *api;
	ETEXT_DESC *monitor;
	uint8_t *gray, *large; // of the area; the same, enlarged
	size_t gray_size, large_size;
	char kept_line[DETECT_TEXT_MAX];
};

void detect_reader_init_process(void)
{
	setenv("OMP_THREAD_LIMIT", "1", 1);
}

char *reader_kept_line(struct detect_reader *reader)
{
	return reader->kept_line;
}

// --- making ----------------------------------------------------------------------------------------------------------

static int open_library(struct error *error)
{
	void *handle;

	if (library.handle)
		return 0;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOENT,
				 "text and numbers are read by Tesseract, which cannot be opened (%s): install the "
				 "package " LIBRARY_PACKAGE,
				 dlerror());
#define LOAD(name)                                                                                                     \
	library.name = (__typeof__(&name))dlsym(handle, #name);                                                        \
	if (!library.name)                                                                                             \
		return dlclose(handle), error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOENT,                          \
						  LIBRARY " has no " #name ": install another version of it");
	FUNCTIONS(LOAD)
#undef LOAD
	library.handle = handle;
	return 0;
}

// Scripts are packages too, by their four letters.
static const char *script_package(const char *script)
{
	static const struct {
		const char *name, *package;
	} scripts[] = {
		{"Arabic", "arab"},
		{"Armenian", "armn"},
		{"Bengali", "beng"},
		{"Canadian_Aboriginal", "cans"},
		{"Cherokee", "cher"},
		{"Cyrillic", "cyrl"},
		{"Devanagari", "deva"},
		{"Ethiopic", "ethi"},
		{"Fraktur", "frak"},
		{"Georgian", "geor"},
		{"Greek", "grek"},
		{"Gujarati", "gujr"},
		{"Gurmukhi", "guru"},
		{"HanS", "hans"},
		{"HanS_vert", "hans-vert"},
		{"HanT", "hant"},
		{"HanT_vert", "hant-vert"},
		{"Hangul", "hang"},
		{"Hangul_vert", "hang-vert"},
		{"Hebrew", "hebr"},
		{"Japanese", "jpan"},
		{"Japanese_vert", "jpan-vert"},
		{"Kannada", "knda"},
		{"Khmer", "khmr"},
		{"Lao", "laoo"},
		{"Latin", "latn"},
		{"Malayalam", "mlym"},
		{"Myanmar", "mymr"},
		{"Oriya", "orya"},
		{"Sinhala", "sinh"},
		{"Syriac", "syrc"},
		{"Tamil", "taml"},
		{"Telugu", "telu"},
		{"Thaana", "thaa"},
		{"Thai", "thai"},
		{"Tibetan", "tibt"},
		{"Vietnamese", "viet"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		if (!strcmp(scripts[i].name, script))
			return scripts[i].package;
	return NULL;
}

// The Debian package of a language: deu → tesseract-ocr-deu, chi_sim → tesseract-ocr-chi-sim.
static void package_of(const char *language, size_t length, char *out, size_t size)
{
	char name[80];
	const char *script = NULL;

	snprintf(name, sizeof(name), "%.*s", (int)length, language);
	if (!strncmp(name, "script/", 7))
		script = script_package(name + 7);
	if (script) {
		snprintf(out, size, "tesseract-ocr-script-%s", script);
		return;
	}
	for (char *c = name; *c; c++) {
		if (*c == '_' || *c == '/')
			*c = '-';
		else if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c + ('a' - 'A'));
	}
	snprintf(out, size, "tesseract-ocr-%s", name);
}

static bool is_loaded(char *const *loaded, const char *language, size_t length)
{
	for (; loaded && *loaded; loaded++)
		if (strlen(*loaded) == length && !strncmp(*loaded, language, length))
			return true;
	return false;
}

// Tesseract goes on without a language that it does not find, as long as there is another one.
static int check_languages(char *const *loaded, const char *languages, struct error *error)
{
	char package[128];

	for (const char *at = languages; *at;) {
		size_t length = strcspn(at, "+");

		if (!is_loaded(loaded, at, length)) {
			package_of(at, length, package, sizeof(package));
			return error_set(
				error, CONDPROF__CODE__UNSUPPORTED, ENOENT,
				"the language “%.*s” for reading text is not installed: install the package %s",
				(int)length, at, package);
		}
		at += length + (at[length] == '+');
	}
	return 0;
}

static int start_engine(struct detect_reader *reader, const char *languages, struct error *error)
{
	char **loaded = NULL;
	int r;

	// it would tell standard error about every missing file
	library.TessBaseAPISetVariable(reader->api, "debug_file", "/dev/null");
	if (library.TessBaseAPIInit2(reader->api, NULL, languages, OEM_LSTM_ONLY) == 0)
		loaded = library.TessBaseAPIGetLoadedLanguagesAsVector(reader->api);
	r = check_languages(loaded, languages, error);
	if (loaded)
		library.TessDeleteTextArray(loaded);
	if (r < 0)
		return r;
	// we do that, once for the area; it would read every doubtful word twice
	library.TessBaseAPISetVariable(reader->api, "tessedit_do_invert", "0");
	return 0;
}

static int make_reader(const char *languages, struct detect_reader *reader, struct error *error)
{
	int r;

	pthread_mutex_lock(&making);
	r = open_library(error);
	if (r == 0) {
		reader->api = library.TessBaseAPICreate();
		reader->monitor = library.TessMonitorCreate();
		if (reader->api && reader->monitor)
			r = start_engine(reader, languages, error);
		else
			r = error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for reading text");
	}
	pthread_mutex_unlock(&making);
	return r;
}

int detect_reader_new(const char *languages, struct detect_reader **ret, struct error *error)
{
	struct detect_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "no memory for reading text");
	r = make_reader(languages, reader, error);
	if (r < 0) {
		detect_reader_free(reader);
		return r;
	}
	*ret = reader;
	return 0;
}

struct detect_reader *detect_reader_free(struct detect_reader *reader)
{
	if (!reader)
		return NULL;
	pthread_mutex_lock(&making);
	if (reader->monitor)
		library.TessMonitorDelete(reader->monitor);
	if (reader->api)
		library.TessBaseAPIDelete(reader->api);
	pthread_mutex_unlock(&making);
	free(reader->gray);
	free(reader->large);
	free(reader);
	return NULL;
}

// --- pixels ----------------------------------------------------------------------------------------------------------

static int scale_for(int width, int height)
{
	if ((int64_t)width * height > LARGE_AREA_PIXELS)
		return 1;
	return height <= LOW_AREA_PX ? 3 : 2;
}

static int grow(uint8_t **buffer, size_t *size, size_t wanted)
{
	uint8_t *larger;

	if (wanted <= *size)
		return 0;
	larger = realloc(*buffer, wanted);
	if (!larger)
		return -ENOMEM;
	*buffer = larger;
	*size = wanted;
	return 0;
}

int detect_reader_reserve(struct detect_reader *reader, int width, int height)
{
	size_t pixels = (size_t)width * (size_t)height;
	size_t scale = (size_t)scale_for(width, height);
	int r = grow(&reader->gray, &reader->gray_size, pixels);

	return r < 0 ? r : grow(&reader->large, &reader->large_size, pixels * scale * scale);
}

enum ground { GROUND_LIGHT, GROUND_DARK, GROUND_ALONE };

// @return of what most pixels are: nearer to the lightest, or to the darkest; or all the same
static enum ground make_gray(struct picture_view view, uint8_t *gray)
{
	uint32_t histogram[256] = {0};
	int64_t dark = 0;
	int low = 0, high = 255;

	for (int y = 0; y < view.height; y++)
		for (int x = 0; x < view.width; x++) {
			const uint8_t *p = view.pixels + y * view.stride + 4 * (ptrdiff_t)x;
			int value = (9798 * p[2] + 19235 * p[1] + 3735 * p[0] + 16384) >> 15;

			*gray++ = (uint8_t)value;
			histogram[value]++;
		}
	while (low < 255 && !histogram[low])
		low++;
	while (high > 0 && !histogram[high])
		high--;
	for (int value = low; 2 * value <= low + high; value++)
		dark += histogram[value];
	if (low == high)
		return GROUND_ALONE;
	return 2 * dark > (int64_t)view.width * view.height ? GROUND_DARK : GROUND_LIGHT;
}

static void invert(uint8_t *gray, size_t pixels)
{
	for (size_t i = 0; i < pixels; i++)
		gray[i] = (uint8_t)(255 - gray[i]);
}

// Where a px of the enlarged picture lies between two of the small one: centre to centre, in units of 1 / (2 scale).
static int between(int large, int scale, int size, int *ret_first)
{
	int position = 2 * large + 1 - scale;

	if (position < 0) {
		*ret_first = 0;
		return 0;
	}
	*ret_first = position / (2 * scale);
	return *ret_first + 1 < size ? position % (2 * scale) : 0;
}

// Bilinear.
static void enlarge(const uint8_t *gray, int width, int height, int scale, uint8_t *out)
{
	int whole = 2 * scale;

	for (int y = 0; y < height * scale; y++) {
		int top, down = between(y, scale, height, &top);
		const uint8_t *upper = gray + (ptrdiff_t)top * width, *lower = down ? upper + width : upper;

		for (int x = 0; x < width * scale; x++) {
			int left, right = between(x, scale, width, &left), next = right ? left + 1 : left;
			int above = upper[left] * (whole - right) + upper[next] * right;
			int below = lower[left] * (whole - right) + lower[next] * right;

			*out++ = (uint8_t)((above * (whole - down) + below * down + whole * whole / 2) /
					   (whole * whole));
		}
	}
}

// --- reading ---------------------------------------------------------------------------------------------------------

static bool stop_seen(const volatile int *stop)
{
	return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static bool cancel(void *stop, int words)
{
	(void)words;
	return stop_seen(stop);
}

static struct rect to_view(int left, int top, int right, int bottom, int scale, struct picture_view view)
{
	struct rect box = {
		MAX(left / scale, 0),
		MAX(top / scale, 0),
		MIN((right + scale - 1) / scale, view.width),
		MIN((bottom + scale - 1) / scale, view.height),
	};

	if (box.left >= box.right || box.top >= box.bottom)
		return (struct rect){0, 0, view.width, view.height};
	return box;
}

/// One reading of an area.
struct reading {
	const uint8_t *pixels; // gray, enlarged
	struct picture_view view;
	int scale;
	const volatile int *stop;
	read_line_function line;
	void *context;
	float least_confidence; // of a line; 0: any
	bool any;               // something was read
};

static bool is_blank(const char *text)
{
	return !text[strspn(text, " \t\r\n")];
}

static void tell_lines(TessResultIterator *lines, struct reading *reading)
{
	bool more = true;

	while (more && !stop_seen(reading->stop)) {
		char *text = library.TessResultIteratorGetUTF8Text(lines, RIL_TEXTLINE);
		int left = 0, top = 0, right = 0, bottom = 0;
		struct read_line line = {.text = text, .size = text ? strlen(text) : 0};

		if (text && !is_blank(text) &&
		    (reading->least_confidence <= 0 ||
		     library.TessResultIteratorConfidence(lines, RIL_TEXTLINE) >= reading->least_confidence)) {
			reading->any = true;
			library.TessPageIteratorBoundingBox(library.TessResultIteratorGetPageIteratorConst(lines),
							    RIL_TEXTLINE, &left, &top, &right, &bottom);
			line.box = to_view(left, top, right, bottom, reading->scale, reading->view);
			more = reading->line(reading->context, &line);
		}
		more = more && library.TessResultIteratorNext(lines, RIL_TEXTLINE);
		if (text)
			library.TessDeleteText(text);
	}
}

static int recognize(struct detect_reader *reader, TessPageSegMode mode, struct reading *reading)
{
	int width = reading->view.width * reading->scale, height = reading->view.height * reading->scale, r;
	TessResultIterator *lines;

	library.TessBaseAPISetPageSegMode(reader->api, mode);
	library.TessBaseAPISetImage(reader->api, reading->pixels, width, height, 1, width);
	library.TessBaseAPISetSourceResolution(reader->api, RESOLUTION_PPI);
	library.TessMonitorSetCancelFunc(reader->monitor, cancel);
	library.TessMonitorSetCancelThis(reader->monitor, (void *)reading->stop);
	r = library.TessBaseAPIRecognize(reader->api, reader->monitor);
	if (stop_seen(reading->stop))
		return -ECANCELED;
	if (r)
		return -EIO;
	lines = library.TessBaseAPIGetIterator(reader->api);
	if (!lines)
		return 0; // nothing there
	tell_lines(lines, reading);
	library.TessResultIteratorDelete(lines);
	return stop_seen(reading->stop) ? -ECANCELED : 0;
}

int reader_read(struct detect_reader *reader, struct picture_view view, const volatile int *stop,
		read_line_function line, void *context)
{
	struct reading reading = {.view = view,
				  .scale = scale_for(view.width, view.height),
				  .stop = stop,
				  .line = line,
				  .context = context};
	enum ground ground;
	int r;

	if (detect_reader_reserve(reader, view.width, view.height) < 0)
		return -ENOMEM;
	ground = make_gray(view, reader->gray);
	if (ground == GROUND_ALONE)
		return 0;
	if (ground == GROUND_DARK)
		invert(reader->gray, (size_t)view.width * (size_t)view.height);
	if (reading.scale > 1)
		enlarge(reader->gray, view.width, view.height, reading.scale, reader->large);
	reading.pixels = reading.scale > 1 ? reader->large : reader->gray;
	if (stop_seen(stop))
		return -ECANCELED;
	r = recognize(reader, PSM_SINGLE_BLOCK, &reading);
	// a letter or two alone make no block for it
	reading.least_confidence = LEAST_CONFIDENCE;
	if (r == 0 && !reading.any)
		r = recognize(reader, PSM_SINGLE_LINE, &reading);
	library.TessBaseAPIClear(reader->api);
	return r;
}

#else

void detect_reader_init_process(void)
{
}

char *reader_kept_line(struct detect_reader *reader)
{
	(void)reader;
	return NULL;
}

int detect_reader_new(const char *languages, struct detect_reader **ret, struct error *error)
{
	(void)languages;
	(void)ret;
	return error_set(error, CONDPROF__CODE__UNSUPPORTED, ENOTSUP,
			 "reading text is not built into this condprofd: configure it with --with-tesseract");
}

struct detect_reader *detect_reader_free(struct detect_reader *reader)
{
	(void)reader;
	return NULL;
}

int detect_reader_reserve(struct detect_reader *reader, int width, int height)
{
	(void)reader;
	(void)width;
	(void)height;
	return -ENOTSUP;
}

int reader_read(struct detect_reader *reader, struct picture_view view, const volatile int *stop,
		read_line_function line, void *context)
{
	(void)reader;
	(void)view;
	(void)stop;
	(void)line;
	(void)context;
	return -EIO;
}

#endif
