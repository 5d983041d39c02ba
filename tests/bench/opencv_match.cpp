// SPDX-License-Identifier: GPL-3.0-or-later
// OpenCV's template matching behind a C interface: see opencv_match.h.
#include "tests/bench/opencv_match.h"

#include <opencv2/core/version.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

struct opencv_side {
	std::vector<cv::Mat> templates;
	cv::Mat gray, result;
};

static cv::Mat view(const uint8_t *pixels, int width, int height, ptrdiff_t stride)
{
	return cv::Mat(height, width, CV_8UC4, const_cast<uint8_t *>(pixels), static_cast<size_t>(stride));
}

struct opencv_side *opencv_new(void)
{
	cv::setNumThreads(1);
	return new opencv_side;
}

void opencv_free(struct opencv_side *side)
{
	delete side;
}

const char *opencv_version(void)
{
	return CV_VERSION;
}

int opencv_template(struct opencv_side *side, const uint8_t *pixels, int width, int height, ptrdiff_t stride)
{
	cv::Mat gray;

	cv::cvtColor(view(pixels, width, height, stride), gray, cv::COLOR_BGRA2GRAY);
	side->templates.push_back(gray);
	return static_cast<int>(side->templates.size()) - 1;
}

void opencv_gray(struct opencv_side *side, const uint8_t *pixels, int width, int height, ptrdiff_t stride)
{
	cv::cvtColor(view(pixels, width, height, stride), side->gray, cv::COLOR_BGRA2GRAY);
}

double opencv_match(struct opencv_side *side, int template_, int left, int top, int right, int bottom, int *ret_x,
		    int *ret_y)
{
	double best;
	cv::Point at;

	cv::matchTemplate(side->gray(cv::Rect(left, top, right - left, bottom - top)),
			  side->templates[static_cast<size_t>(template_)], side->result, cv::TM_CCOEFF_NORMED);
	cv::minMaxLoc(side->result, nullptr, &best, nullptr, &at);
	*ret_x = left + at.x;
	*ret_y = top + at.y;
	return best;
}
