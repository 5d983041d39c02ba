// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "client/spool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/// Before each piece in the file.
struct piece {
	Condprof__ReportPart part;
	size_t size;
};

struct spool {
	struct report_source base;
	FILE *file;
	uint8_t *data;
	size_t capacity;
};

static int file_error(struct error *error)
{
	return error_set(error, CONDPROF__CODE__IO, errno ? errno : EIO, "the temporary file of the report: %s",
			 strerror(errno ? errno : EIO));
}

static int spool_next(struct report_source *base, Condprof__ReportPart *ret_part, const uint8_t **ret_data,
		      size_t *ret_size, struct error *error)
{
	struct spool *spool = (struct spool *)base;
	struct piece piece;

	errno = 0;
	if (fread(&piece, sizeof(piece), 1, spool->file) != 1)
		return ferror(spool->file) ? file_error(error) : 0;
	if (piece.size > spool->capacity) {
		uint8_t *data = realloc(spool->data, piece.size);

		if (!data)
			return error_set(error, CONDPROF__CODE__INTERNAL, ENOMEM, "out of memory");
		spool->data = data;
		spool->capacity = piece.size;
	}
	if (fread(spool->data, 1, piece.size, spool->file) != piece.size)
		return file_error(error);
	*ret_part = piece.part;
	*ret_data = spool->data;
	*ret_size = piece.size;
	return 1;
}

static struct report_source *spool_close(struct report_source *base)
{
	struct spool *spool = (struct spool *)base;

	if (spool->file)
		fclose(spool->file);
	free(spool->data);
	free(spool);
	return NULL;
}

static int fill(struct spool *spool, struct report_source *source, struct error *error)
{
	struct piece piece = {0};
	const uint8_t *data;
	int r;

	while ((r = source->next(source, &piece.part, &data, &piece.size, error)) > 0) {
		errno = 0;
		if (fwrite(&piece, sizeof(piece), 1, spool->file) != 1 ||
		    fwrite(data, 1, piece.size, spool->file) != piece.size)
			return file_error(error);
	}
	errno = 0;
	if (r == 0 && (fflush(spool->file) != 0 || fseek(spool->file, 0, SEEK_SET) != 0))
		return file_error(error);
	return r;
}

int report_source_spool(struct report_source *source, struct report_source **ret, struct error *error)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	struct report_source *base CLEANUP(report_source_cleanup) = spool ? &spool->base : NULL;

	if (spool) {
		spool->base = (struct report_source){spool_next, spool_close};
		spool->file = tmpfile();
	}
	if (!spool || !spool->file) {
		*ret = source;
		return 0;
	}
	int r = fill(spool, source, error);
	report_source_close(source);
	if (r == 0)
		*ret = TAKE_POINTER(base);
	return r;
}
