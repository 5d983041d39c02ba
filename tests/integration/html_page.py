# SPDX-License-Identifier: GPL-3.0-or-later
"""condprofctl report --output html, as a file: one page that needs no other, with every view in it, whose names are text
wherever they stand. What a browser makes of it: html_in_browser.py."""

import base64
import hashlib
import html.parser
import os
import re
import subprocess

from condprof_test import (CONDPROFCTL, SOURCE, Daemon, contains, control, ctl, endless_scenario, equal, folder, note, png,
                           run, sanitized, until, write_frames)

if control:
    import make_reports

REPORTS = SOURCE / 'tests' / 'data' / 'reports'
SHAPES = sorted(path.name for path in REPORTS.iterdir() if path.is_dir())
VOID = {'meta', 'link'}
OPTIONAL_END = {'tr', 'td'}
HOSTILE = ['<script>document.title="owned"</script>', '</script><img src=x onerror=alert(1)>', '</noscript><b>', '</title><b>',
           '"><svg onload=alert(1)>', "' onmouseover='alert(1)", '&lt;b&gt;&amp;', '<!--', ']]>', '\u2028\u2029', '\x1b[31m\r\n',
           '\u202edesrever', 'javascript:alert(1)', '{{7*7}}', '`${alert(1)}`', '%s%n', 'x' * 200]


class Page(html.parser.HTMLParser):
    """Tags in order, attributes, and tables by name: rows of cells' texts, and of raw figures."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open = [], [], []
        self.tables, self.table, self.row, self.cell, self.texts = {}, None, None, None, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        known = dict(attributes)
        if tag not in VOID and tag not in OPTIONAL_END and not (tag in ('rect', 'path') and 'title' not in known):
            self.open.append(tag)
        if tag == 'table':
            self.table = {'heads': [], 'rows': [], 'raw': [], 'more': []}
            if 'data-name' in known:
                self.tables[known['data-name']] = self.table
        if tag == 'th' and self.table is not None:
            self.cell = []
            self.table['heads'].append((known, self.cell))
        if tag == 'tr' and self.table is not None:
            self.row = []
            if 'data-v' in known:
                self.table['rows'].append(self.row)
                self.table['raw'].append(known['data-v'].split(','))
                self.table['more'].append([])
            elif known.get('class') == 'more':
                self.row = self.table['more'][-1]
        if tag == 'td' and self.row is not None:
            self.cell = []
            self.row.append(self.cell)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]

    def handle_endtag(self, tag):
        if tag in OPTIONAL_END:
            return
        assert self.open and self.open[-1] == tag or tag in ('rect',), f'</{tag}> closes {self.open[-3:]}'
        if self.open and self.open[-1] == tag:
            self.open.pop()
        if tag == 'table':
            self.table = self.row = self.cell = None

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ('script', 'style'):
            self.texts.append(data)
        if self.cell is not None:
            self.cell.append(data)

    def column(self, table, name):
        """[(text, raw figure)] of a column."""
        heads = self.tables[table]['heads']
        place = [known['data-name'] for known, _ in heads].index(name)
        raw = int(heads[place][0]['data-c'])
        return [(''.join(row[place]).strip(), figures[raw])
                for row, figures in zip(self.tables[table]['rows'], self.tables[table]['raw'])]


def page_text(*words, **options):
    done = ctl('report', *words, '--output', 'html', **options).ok()
    equal(done.err, '')
    return done.out


def check_self_contained(text):
    page = Page(text)
    equal(page.open, [], 'tags left open')
    assert text.startswith('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
                           '<meta http-equiv="Content-Security-Policy"')
    for tag, name, value in page.attributes:
        assert not name.startswith('on') and name not in ('style', 'src', 'srcset', 'action'), f'{tag} {name}={value}'
        if 'href' in name:
            assert value.startswith(('#', 'data:image/svg+xml,')), value
            assert not value.startswith('#') or f'id="{value[1:]}"' in text, f'{value} leads nowhere'
    policy = next(value for tag, name, value in page.attributes if (tag, name) == ('meta', 'content') and 'default-src' in value)
    for tag in ('style', 'script'):
        found = re.findall(rf'<{tag}>(.*?)</{tag}>', text, re.S)
        equal(len(found), 1, tag)
        equal(page.tags.count(tag), 1, tag)
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        contains(policy, f"{tag}-src 'sha256-{digest}'")
    contains(policy, "default-src 'none'", "base-uri 'none'", "form-action 'none'")
    assert 'unsafe' not in policy
    for tag in ('iframe', 'object', 'embed', 'form', 'base', 'img', 'video', 'audio'):
        assert tag not in page.tags, tag
    outside = set(re.findall(r'https?://[^\s"\'<)]+', text)) - {'http://www.w3.org/2000/svg'}
    equal(outside, set())
    return page


def test_every_shape_is_one_page():
    for shape in SHAPES:
        text = page_text(REPORTS / shape)
        page = check_self_contained(text)
        note(f'{shape}: {len(text)} bytes, {len(page.tags)} elements')
        for place in ('overview', 'conditions', 'events', 'timeline'):
            contains(text, f'<section id="{place}">')
        assert not re.search('[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2028\u2029\ufffd]', text), 'control characters'


def test_figures_are_those_of_json():
    page = Page(page_text(REPORTS / 'finished', environment={'TZ': 'UTC'}))
    for table, key, names in (
            ('conditions', 'conditions', ('id', 'checks', 'fulfilled', 'average_ns', 'min_ns', 'max_ns', 'p50_ns', 'p90_ns',
                                          'p99_ns', 'stddev_ns', 'total_ns', 'share', 'not_evaluable', 'short_circuited',
                                          'event_disabled', 'event_cooling', 'event_ended_before')),
            ('events', 'events', ('id', 'evaluated', 'fulfilled', 'first_ns', 'last_ns', 'mean_gap_ns', 'conditions_ns',
                                  'share', 'detecting_ns', 'checking_ns', 'acting_ns')),
            ('occurrences', 'occurrences', ('at_ns', 'pass', 'detecting_ns', 'checking_ns', 'acting_ns'))):
        view = 'timeline' if key == 'occurrences' else key
        rows = ctl('report', REPORTS / 'finished', '--json', '--view', view).json()[key]
        if table == 'events':
            rows.sort(key=lambda row: -row['conditions_ns'])
        for name in names:
            raw = [figure for _, figure in page.column(table, name)]
            equal([float(figure) if figure else None for figure in raw], [row[name] for row in rows], f'{table}: {name}')
        name = 'event' if table == 'occurrences' else 'name'
        equal([text for text, _ in page.column(table, name)], [row[name] for row in rows])
    text = ''.join(page.texts)
    contains(text, 'Session 12: kiosk login', 'finished, failed: a stop action ended it: gave up', '2026-03-01 12:14:56',
             'The device was suspended 1 time', '5 occurrences are missing', 'Share: of the elapsed time of all checks together')
    first = ' '.join(' '.join(cell) for cell in page.tables['occurrences']['more'][0])
    contains(re.sub(r'\s+', ' ', first), 'popup fulfilled 8.15 ms confidence 97.0 %', 'counter retries from 0 to 1',
             'click x 120 y -4')


def test_never_checked_is_shown_as_a_dash():
    page = Page(page_text(REPORTS / 'never-checked'))
    for name in ('average_ns', 'min_ns', 'max_ns', 'p50_ns', 'p99_ns'):
        equal(set(page.column('conditions', name)), {('–', '')}, name)
    equal(set(page.column('conditions', 'checks')), {('0', '0')})
    contains(''.join(page.texts), 'Never checked', 'No occurrence fits')


def test_hostile_names_change_nothing_but_text():
    with folder() as home:
        make_reports.varied(home / 'tame', 20)
        tame = check_self_contained(page_text(home / 'tame'))
        for number, name in enumerate(HOSTILE):
            path = home / f'hostile{number}'
            make_reports.varied(path, 20, lambda old, name=name: f'{name}{old}'[:255])
            page = check_self_contained(page_text(path))
            equal(page.tags, tame.tags, name)
            equal([(tag, key) for tag, key, _ in page.attributes], [(tag, key) for tag, key, _ in tame.attributes], name)
            shown = name.translate({0x2028: '\\u2028', 0x2029: '\\u2029', 0x202e: '\\u202e', 0x1b: '\\x1b', 13: '\\r', 10: '\\n'})
            equal({text for text, _ in page.column('events', 'name')}, {f'{shown}event {k}'[:len(shown) + 255 - len(name)]
                                                                       for k in range(1, 7)}, name)


def test_large_tables_are_not_parsed_twice():
    with folder() as home:
        make_reports.varied(home / 'r', 1000)
        text = page_text(home / 'r')
    page = check_self_contained(text)
    equal(len(page.tables['occurrences']['rows']), 1000)
    equal(text.count('<noscript><div'), 1)
    inside = text.split('<noscript><div')[1].split('</noscript>')[0]
    equal(inside.count('<tr data-v='), 1000)


def test_a_part_of_the_timeline():
    with folder() as home:
        make_reports.varied(home / 'r', 100)
        whole = page_text(home / 'r')
        assert 'part of the timeline' not in whole
        page = Page(page_text(home / 'r', '--limit', '7'))
        equal(len(page.tables['occurrences']['rows']), 7)
        equal(len(page.tables['conditions']['rows']), 12)
        contains(''.join(page.texts), 'part of the timeline')
        rows = Page(page_text(home / 'r', '--since', '1s', '--until', '2s')).column('occurrences', 'at_ns')
        assert rows and all(10 ** 9 <= int(at) < 2 * 10 ** 9 for _, at in rows), rows
    for words in (['--view', 'events'], ['--sort', 'total'], ['--top', '3'], ['--filter', 'a'], ['--event', 'error']):
        done = ctl('report', REPORTS / 'finished', '--output', 'html', *words).fails(2)
        contains(done.err, words[0], 'it has all views')
        equal(done.out, '')
    contains(ctl('status', '--output', 'html').fails(2).err, '--output html is for report')


def test_the_page_is_the_same_every_time_and_everywhere():
    text = page_text(REPORTS / 'finished', environment={'TZ': 'UTC'})
    equal(page_text(REPORTS / 'finished', environment={'TZ': 'UTC', 'LC_ALL': 'C', 'COLUMNS': '20'}), text)


def test_damage_is_told():
    with folder() as home:
        make_reports.varied(home / 'r', 10)
        with open(home / 'r' / 'messages.pb', 'ab') as out:
            out.write(b'\x05\xff\xff\xff\xff\xff')
        page = check_self_contained(page_text(home / 'r'))
        equal(''.join(page.texts).count('messages are damaged'), 1)
        (home / 'r' / 'scenario.pb').write_bytes(b'\xff\xff')
        page = check_self_contained(page_text(home / 'r'))
        equal(''.join(page.texts).count("scenario is damaged"), 1)


def test_a_running_session():
    with folder() as home, Daemon() as daemon, daemon.client() as client:
        number = client.start(endless_scenario(write_frames(home / 'frames', [png(16, 16, (1, 2, 3))]), name='live'))

        def checked():
            page = check_self_contained(daemon.ctl('report', number, '--output', 'html').ok().out)
            contains(''.join(page.texts), f'Session {number}: live (still running)')
            return int(page.column('conditions', 'checks')[0][1] or 0) > 2
        until(checked, 'three checks')
        client.stop(number)


def test_a_full_disk_is_told():
    with open('/dev/full', 'w') as full:
        done = subprocess.run([CONDPROFCTL, 'report', str(REPORTS / 'finished'), '--output', 'html'], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    equal(done.returncode, 1)
    contains(done.stderr, "can't write to standard output")


def test_constant_memory():
    with folder() as home:
        make_reports.many(home / 'r', 30000)
        usage = []
        for words in ((), ('--limit', '3')):
            with subprocess.Popen([CONDPROFCTL, 'report', str(home / 'r'), '--output', 'html', *words],
                                  stdout=subprocess.PIPE) as done:
                rows = sum(line.startswith(b'<tr data-v') or b'<tr data-v' in line for line in done.stdout)
                _, status, resources = os.wait4(done.pid, 0)
                done.returncode = status
            equal(status, 0)
            assert rows >= (3 if words else 30000), rows
            usage.append(resources.ru_maxrss)
    note(f'{usage[0]} KiB for 30,000 occurrences, {usage[1]} KiB for three')
    if not sanitized():
        assert usage[0] < usage[1] + 8192, usage


run(globals())
