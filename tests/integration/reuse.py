# SPDX-License-Identifier: GPL-3.0-or-later
"""A session over a screen that stands still: results are taken over, counted as such, and told in every view."""

import csv
import io

from condprof_test import (Daemon, color_condition, contains, equal, event, image_condition, make_scenario, png, run, texture, write_frames)

PASSES = 12
CHANGES = 3  # the frames differ so often: at the 1st, 5th and 9th


def picture(number):
    """A screen with a texture that is looked for; another corner from time to time."""
    return png(80, 60, lambda x, y: texture(x, y) if x < 40 else (number // 4 * 50, 90, 160))


def session(daemon):
    screen = write_frames(daemon.home / 'frames', [picture(number) for number in range(PASSES)])
    icon = png(16, 16, lambda x, y: texture(x + 10, y + 20))
    message = make_scenario('still', screen, [
        event('icon', [image_condition('anywhere', icon)], keep_detecting=True),
        event('corner', [color_condition('corner', 0x005aa0, (60, 40, 10, 10))], keep_detecting=True),
        event('calm', [color_condition('calm', 0xffffff, (0, 0, 10, 10))])])
    with daemon.client() as client:
        number = client.start(message)
        client.wait(number)
    return number


def test_every_view_tells():
    with Daemon() as daemon:
        number = session(daemon)
        words = ['report', str(number), '--view', 'conditions']
        rows = {row['name']: row for row in daemon.ctl('--json', *words).json()['conditions']}
        # Once a difference for what lies in it, once for what never changes.
        for name, wanted in {'anywhere': PASSES - CHANGES, 'corner': PASSES - CHANGES, 'calm': PASSES - 1}.items():
            equal((rows[name]['checks'], rows[name]['reused']), (PASSES, wanted), name)
            assert 0 < rows[name]['reused_total_ns'] <= rows[name]['total_ns'], rows[name]
        equal(rows['anywhere']['fulfilled'], PASSES)
        equal(rows['corner']['fulfilled'], PASSES // CHANGES)
        told = {row['name']: row for row in csv.DictReader(io.StringIO(daemon.ctl('--output', 'csv', *words).ok().out))}
        equal({name: int(row['reused']) for name, row in told.items()}, {name: row['reused'] for name, row in rows.items()})
        text = daemon.ctl(*words).ok().out
        contains(text, 'Reused')
        contains(daemon.ctl('report', str(number), '--output', 'html').ok().out, 'Reused')
        contains(daemon.ctl('report', str(number), '--output', 'prometheus').ok().out, 'condprof_condition_reused_total')


run(globals())
