# SPDX-License-Identifier: GPL-3.0-or-later
"""A scenario cannot make a daemon read outside the folders that its configuration names: by other paths, links, renames while
it looks, or what an error gives away. Inside the frames are black; outside they are white, and a session that saw white says so."""

import os
import threading

from condprof_test import (Daemon, Refused, color_condition, contains, control, equal, event, folder, make_scenario, png, report, run,
                           stop_action, until, write_frames)

INSIDE, OUTSIDE = png(16, 16, (0, 0, 0)), png(16, 16, (255, 255, 255))


class Confined:
    """A daemon that may read below `allowed`, and a folder beside it that it may not."""

    def __enter__(self):
        self._folder = folder()
        self.home = self._folder.__enter__()
        os.chmod(self.home, 0o755)
        self.allowed, self.outside = self.home / 'allowed', self.home / 'outside'
        write_frames(self.allowed / 'frames', [INSIDE] * 3)
        write_frames(self.outside, [OUTSIDE] * 3)
        self.daemon = Daemon(config={'frame-folders': self.allowed})
        self.daemon.__enter__()
        self.client = self.daemon.client()
        return self

    def __exit__(self, *what):
        self.client.close()
        self.daemon.__exit__(*what)
        self._folder.__exit__(*what)

    def start(self, path, **options):
        return self.client.start(make_scenario('looks', screen=f'replay:{path}', screen_events=[
            event('outside', [color_condition('white', 0xffffff)], [stop_action('saw the outside', failed=True)])]), **options)

    def refused(self, path, code=control.DENIED):
        try:
            self.start(path, max_passes=1, wait=True)
        except Refused as why:
            equal(control.Code.Name(why.code), control.Code.Name(code), str(why))
            return why.error.message
        raise AssertionError(f'{path} was opened')


def test_paths_that_lead_out():
    with Confined() as place:
        equal(place.start(place.allowed / 'frames', max_passes=2, wait=True).passes, 2)
        (place.allowed / 'link').symlink_to(place.outside)
        (place.allowed / 'deep').mkdir()
        (place.allowed / 'deep' / 'link').symlink_to('../link')
        (place.home / 'allowed-not').symlink_to(place.outside)
        for path in (place.outside, place.allowed / 'link', place.allowed / 'deep' / 'link', place.home / 'allowed-not',
                     f'{place.allowed}/../outside', f'{place.allowed}/frames/../../outside', f'//{place.outside}',
                     f'{place.allowed}/./link/.', '/proc/self/root' + str(place.outside), f'/proc/self/cwd/{place.outside}'):
            contains(place.refused(path), 'frame-folders')
        # a link that stays inside is fine
        (place.allowed / 'again').symlink_to('frames')
        equal(place.start(place.allowed / 'again', max_passes=1, wait=True).passes, 1)


def test_nothing_is_said_of_what_is_outside():
    with Confined() as place:
        (place.outside / 'closed').mkdir(mode=0o700)
        messages = {place.refused(path).replace(str(path), 'X') for path in (
            place.outside, place.outside / 'missing', place.outside / 'closed', place.outside / '00001.png', f'{place.allowed}/../missing')}
        equal(len(messages), 1, str(messages))
        contains(place.refused(place.allowed / 'missing', control.SCREEN_FAILED), 'No such file')  # inside it may be said


def test_links_among_the_frames():
    with Confined() as place:
        (place.allowed / 'frames' / '00000.png').symlink_to(place.outside / '00001.png')
        contains(place.refused(place.allowed / 'frames', control.SCREEN_FAILED), 'symbolic link')
        (place.allowed / 'frames' / '00000.png').unlink()
        # one that becomes a link while the session runs
        session = place.start(f'{place.allowed}/frames?loop=1')
        until(lambda: place.client.status(session)[0].passes > 3, 'passes')
        (place.allowed / 'new').symlink_to(place.outside / '00001.png')
        (place.allowed / 'new').rename(place.allowed / 'frames' / '00002.png')
        ended = place.client.wait(session)
        equal((report.SessionState.Name(ended.state), report.EndReason.Name(ended.reason)), ('FAILED', 'REASON_SOURCE_FAILED'))
        contains(ended.reason_text, 'symbolic link')


def test_a_folder_that_becomes_another_one():
    with Confined() as place:
        session = place.start(f'{place.allowed}/frames?loop=1')
        until(lambda: place.client.status(session)[0].passes > 3, 'passes')
        (place.allowed / 'frames').rename(place.allowed / 'before')
        (place.allowed / 'frames').symlink_to(place.outside)
        passes = place.client.status(session)[0].passes
        until(lambda: place.client.status(session)[0].passes > passes + 10, 'more passes')  # of the folder that was opened
        equal(report.EndReason.Name(place.client.stop(session)[0].reason), 'REASON_STOPPED')
        contains(place.refused(place.allowed / 'frames'), 'frame-folders')


def test_a_folder_that_changes_while_it_is_opened():
    with Confined() as place:
        flip, done = place.allowed / 'flip', threading.Event()

        def flipping():
            targets = [place.allowed / 'frames', place.outside]
            while not done.is_set():
                (place.allowed / 'next').symlink_to(targets[0])
                (place.allowed / 'next').rename(flip)
                targets.reverse()
        flip.symlink_to(place.allowed / 'frames')
        thread = threading.Thread(target=flipping)
        thread.start()
        opened = 0
        try:
            for _ in range(60):
                try:
                    ended = place.start(flip, max_passes=3, wait=True)
                except Refused as why:
                    equal(why.code, control.DENIED, str(why))
                    continue
                opened += 1
                equal(report.EndReason.Name(ended.reason), 'REASON_PASSES', ended.reason_text)
        finally:
            done.set()
            thread.join()
        equal(place.start(place.allowed / 'frames', max_passes=1, wait=True).passes, 1)


def test_recordings_stay_inside():
    with Confined() as place:
        (place.allowed / 'link').symlink_to(place.outside)

        def record(path):
            try:
                place.start(place.allowed / 'frames', max_passes=1, wait=True, record=str(path))
            except Refused as why:
                return control.Code.Name(why.code), why.error.message.replace(str(path), 'X')
            return 'recorded', ''
        before = sorted(place.outside.iterdir())
        answers = {record(path) for path in (place.outside / 'new', place.outside / '00001.png', place.outside, place.home / 'elsewhere',
                                             place.outside / 'missing' / 'new', f'{place.allowed}/../new', place.allowed / 'link' / 'new')}
        equal(len(answers), 1, str(answers))
        equal(answers.pop()[0], 'DENIED')
        equal(sorted(place.outside.iterdir()), before)
        equal(record(place.allowed / 'new')[0], 'recorded')
        assert list((place.allowed / 'new').glob('*.png')), 'no pictures'


def test_a_framebuffer_is_no_other_file():
    with Confined() as place:
        os.mkfifo(place.home / 'fifo')
        for path in (place.outside / '00001.png', place.home / 'fifo', '/dev/zero', '/etc/passwd'):
            try:
                place.client.start(make_scenario('looks', screen=f'fb:{path}', screen_events=[
                    event('any', [color_condition('white', 0xffffff)])]), max_passes=1, input='log:')
                raise AssertionError(f'{path} was opened')
            except Refused as why:
                contains(why.error.message, 'no framebuffer')


if __name__ == '__main__':
    run(globals())
