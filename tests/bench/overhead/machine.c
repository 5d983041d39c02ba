// SPDX-License-Identifier: GPL-3.0-or-later
// What the machine tells of itself. Everything here may be missing, on some device or in some container.
#include "config.h"

#include "tests/bench/overhead/overhead.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

// The first line, without its end. @return whether there is one
static bool read_line(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(out, (int)size, file);

	if (file)
		fclose(file);
	if (!read)
		*out = '\0';
	out[strcspn(out, "\n")] = '\0';
	return read;
}

void machine_ticks(struct machine_ticks *ret)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
	int64_t t[FIELDS] = {0};
	char line[512];

	*ret = (struct machine_ticks){0};
	if (!read_line("/proc/stat", line, sizeof(line)) ||
	    sscanf(line,
		   "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64,
		   &t[USER], &t[NICE], &t[SYSTEM], &t[IDLE], &t[IOWAIT], &t[IRQ], &t[SOFTIRQ], &t[STEAL]) != FIELDS)
		return;
	ret->known = true;
	for (int i = 0; i < FIELDS; i++)
		ret->all += t[i];
	ret->steal = t[STEAL];
	ret->busy = ret->all - t[IDLE] - t[IOWAIT] - t[STEAL];
}

double machine_celsius(void)
{
	double hottest = NAN;
	glob_t zones;

	if (glob("/sys/class/thermal/thermal_zone*/temp", 0, NULL, &zones) != 0)
		return NAN;
	for (size_t i = 0; i < zones.gl_pathc; i++) {
		char line[32];

		if (read_line(zones.gl_pathv[i], line, sizeof(line)))
			hottest = fmax(hottest, strtod(line, NULL) / 1000); // fmax takes the one that is a number
	}
	globfree(&zones);
	return hottest;
}

double machine_load(void)
{
	double load;

	return getloadavg(&load, 1) == 1 ? load : NAN;
}

// The value of the first line of /proc/cpuinfo that begins with one of these keys; x86 and arm have different ones.
static bool cpuinfo(const char *key, char *out, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (file && !found && getline(&line, &room, file) > 0) {
		const char *value = strchr(line, ':');

		if (!value || strncmp(line, key, strlen(key)) != 0)
			continue;
		found = true;
		snprintf(out, size, "%s", value + 1 + strspn(value + 1, " "));
		out[strcspn(out, "\n")] = '\0';
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool runs_virtually(void)
{
	char flags[8192], vendor[8];

	if (cpuinfo("flags", flags, sizeof(flags)) && strstr(flags, " hypervisor"))
		return true;
	return read_line("/sys/hypervisor/type", vendor, sizeof(vendor));
}

static const char *file_system_name(const char *folder)
{
	static const struct {
		uint32_t magic;
		const char *name;
	} known[] = {
		{0xef53, "ext4"},          {0x58465342, "xfs"},  {0x9123683e, "btrfs"},     {0x01021994, "tmpfs"},
		{0x794c7630, "overlayfs"}, {0xf2f52010, "f2fs"}, {0x2fc12fc1, "zfs"},       {0x6969, "nfs"},
		{0x24051905, "ubifs"},     {0x01021997, "9p"},   {0x6a656a63, "fakeowner"}, {0x65735546, "fuse"},
	};
	struct statfs info;

	if (statfs(folder, &info) < 0)
		return "";
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if ((uint32_t)info.f_type == known[i].magic)
			return known[i].name;
	}
	return "";
}

void machine_facts(const char *folder, struct machine *ret)
{
	struct utsname name;

	cpu_set_t allowed;

	*ret = (struct machine){.processors = (int)sysconf(_SC_NPROCESSORS_ONLN)};
	ret->allowed = sched_getaffinity(0, sizeof(allowed), &allowed) < 0 ? ret->processors : CPU_COUNT(&allowed);
	if (!cpuinfo("model name", ret->processor, sizeof(ret->processor)) &&
	    !cpuinfo("Model", ret->processor, sizeof(ret->processor)))
		read_line("/proc/device-tree/model", ret->processor, sizeof(ret->processor));
	if (uname(&name) == 0)
		snprintf(ret->system, sizeof(ret->system), "%.80s %.80s, %.60s", name.sysname, name.release,
			 name.machine);
	read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", ret->governor, sizeof(ret->governor));
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", ret->clock_source,
		  sizeof(ret->clock_source));
	snprintf(ret->file_system, sizeof(ret->file_system), "%s", file_system_name(folder));
	ret->is_virtual = runs_virtually();
}
