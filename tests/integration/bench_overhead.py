# SPDX-License-Identifier: GPL-3.0-or-later
"""condprof-bench-overhead: every run does the same work and is checked, the orders are what they are said to be, and the
document says what the runs' figures say. Runs are too short here for the figures to mean anything."""

import csv
import os
import re
import signal
import statistics
import subprocess

from condprof_test import BUILD, PATIENCE, SOURCE, equal, folder, run, sanitized, until

PROGRAM = str(BUILD / 'condprof-bench-overhead')
SCENARIO = str(SOURCE / 'docs/demo/overhead.yaml')
FRAMES = str(SOURCE / 'docs/demo/frames')
SERIES = [('limited', 'rotation'), ('limited', 'williams'), ('unlimited', 'rotation'), ('unlimited', 'williams')]
RATE = 40 if sanitized() else 100  # a sanitizer makes every pass a long one
SHORT = ['--seconds', '0.1', '--rate', RATE, '--steal', '100']


def bench(home, *arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], env={**os.environ, 'TMPDIR': str(home)}, capture_output=True,
                          text=True, timeout=5 * PATIENCE, check=False)


def rows_of(runs, pace, order):
    rows = {}
    for line in runs:
        if (line['pace'], line['order']) == (pace, order):
            rows.setdefault(int(line['row']), []).append(line)
    return [rows[row] for row in sorted(rows)]


def is_williams(square):
    """Each mode once in every row and column, and after every other one once."""
    pairs = {row[i:i + 2] for row in square for i in range(3)}
    return len(pairs) == 12 and all(sorted(line) == list('ABCD') for line in [*square, *zip(*square)])


def percent(value):
    return f'{"−" if value < -0.005 else "+"}{abs(value):.2f} %'


def difference(rows, before, after):
    medians = [statistics.median(int(line['cpu_ns']) for row in rows for line in row if line['mode'] == mode)
               for mode in (before, after)]
    return percent(100 * (medians[1] / medians[0] - 1))


def interval(rows, before, after):
    """The third smallest, the middle and the third largest of 13 differences: 97.8 % by the sign test."""
    found = sorted(100 * (int(cpu[after]) / int(cpu[before]) - 1)
                   for cpu in ({line['mode']: line['cpu_ns'] for line in row} for row in rows))
    equal(len(found), 13, 'rows')
    return [percent(found[i]) for i in (2, 6, 10)]


def check_orders(runs):
    rows = {series: rows_of(runs, *series) for series in SERIES}
    letters = {series: [''.join(line['mode'] for line in row) for row in rows[series]] for series in SERIES}
    for pace in 'limited', 'unlimited':
        equal(letters[pace, 'rotation'], ['CABD', 'ADCB', 'CBAD', 'BDAC', 'DBAC'], pace)
        squares = letters[pace, 'williams']
        equal(len(squares), 8, pace)
        assert is_williams(squares[:4]) and is_williams(squares[4:]) and squares[:4] != squares[4:], squares


def check_work(runs):
    """Every run did the same, and only what its mode says was measured and kept."""
    for pace in 'limited', 'unlimited':
        same = [line for line in runs if line['pace'] == pace]
        for figure in 'passes', 'occurrences':
            equal(len({line[figure] for line in same}), 1, f'{pace}: {figure}')
            assert int(same[0][figure]) > 0
        timed = [line for line in same if line['mode'] in 'CD']
        equal(len({line['checks'] for line in timed}), 1, f'{pace}: checks')
        assert all(int(line['checks']) > 0 and int(line['conditions_ns']) > 0 for line in timed)
    for line in runs:
        equal(bool(line['checks']), line['mode'] in 'CD', line)
        equal(bool(line['conditions_ns']), line['mode'] in 'CD', line)
        equal(bool(line['report_bytes']), line['mode'] in 'BC', line)
        assert int(line['elapsed_ns']) >= int(line['passes_elapsed_ns']) > 0, line
        assert int(line['cpu_ns']) >= int(line['passes_cpu_ns']) > 0, line


def check_document(text, runs):
    """It says what the runs say."""
    for before, after in 'AC', 'AB', 'BC', 'AD':
        lines = re.findall(rf'^\| {before}→{after} \| (?!the same)[^|]*\|(.*)\|$', text, re.M)
        together = [interval([*rows_of(runs, pace, 'rotation'), *rows_of(runs, pace, 'williams')], before, after)
                    for pace in ('limited', 'unlimited')]
        for cell, (low, median, high) in zip(lines[0].split('|'), together):
            equal(cell.strip(), f'**{median}**{" (noise)" if median.startswith("−") else ""}, {low} to {high}')
        for cell, series in zip(lines[1].split('|'), SERIES):
            wanted = difference(rows_of(runs, *series), before, after)
            assert cell.startswith(f' **{wanted}**'), (wanted, cell)
            equal('(noise)' in cell, wanted.startswith('−'), cell)
        if after == 'C' and before == 'A':
            headline = f'**A session at {RATE} passes a second:** {together[0][1]} processor time'
            assert headline in text.replace('\n', ' ').replace('  ', ' '), headline
    assert '| phone | 92.7 | 122.9 | 125.6 | 92.2 | +35.49 % | +32.58 % | +2.20 % | −0.54 % |' in text
    for title in 'Result', 'What it means', 'Figures', 'Method', 'Machine', 'Invalid runs', 'Limits', 'All runs':
        assert f'\n## {title}\n' in text, title
    equal(len(re.findall(r'[ABCD] \d+\.\d+ / \d+\.\d', text)), len(runs), 'runs listed')
    assert not re.search(r'\b-?(nan|inf)\b', text), 'a figure that is none'
    assert '97.8 % interval' in text.replace('\n', ' ')
    assert all(len(line) <= 120 for line in text.splitlines() if not line.startswith('|')), 'long lines'


def test_all_of_it():
    with folder() as home:
        document, data = home / 'out.md', home / 'out.csv'
        done = bench(home, *SHORT, '--picture-count', 4, '--document', document, '--data', data, SCENARIO)
        equal(done.returncode, 0, done.stderr)
        with data.open() as lines:
            runs = list(csv.DictReader(lines))
        equal([sum((line['pace'], line['order']) == series for line in runs) for series in SERIES], [20, 32, 20, 32], 'runs')
        check_orders(runs)
        check_work(runs)
        check_document(document.read_text(), runs)
        equal(sorted(path.name for path in home.iterdir()), ['out.csv', 'out.md'], 'left behind')


def test_work_that_ends_by_itself():
    with folder() as home:
        scenario = home / 'ends.yaml'
        scenario.write_text(f"""scenario: ends too early
screen: replay:{FRAMES}
screen-events:
  - event: at once
    conditions:
      - {{color: "#000000", name: c, area: [0, 0, 5, 5], threshold: 100}}
    actions:
      - {{stop: enough}}
""")
        done = bench(home, '--seconds', 0.1, '--picture-count', 1, '-q', scenario)
        equal(done.returncode, 1, done.stderr)
        assert 'did not end as scripted' in done.stderr, done.stderr
        equal(list(home.iterdir()), [scenario], 'left behind')


def test_usage():
    wrong = ((['--seconds', 'x'], 'seconds'), (['--seconds', '0'], 'seconds'), (['--rate', '-1'], 'rate'),
             (['--pace', 'quick'], 'pace'), (['--order', 'any'], 'order'), (['--picture-count', '0'], 'picture-count'),
             (['--steal', '101'], 'steal'), (['a', 'b'], 'one scenario'), (['--frobnicate'], 'frobnicate'))
    missing = ((['/nonexistent/x.yaml'], 'x.yaml'), (['--pictures', '/nonexistent', SCENARIO], '/nonexistent'),
               (['--state-dir', '/nonexistent', SCENARIO], '/nonexistent'))
    with folder() as home:
        for status, cases in ((2, wrong), (1, missing)):
            for words, told in cases:
                done = bench(home, *words)
                equal(done.returncode, status, words)
                assert told in done.stderr and not done.stdout, (words, done.stderr)
        done = bench(home, *SHORT, '--pace', 'limited', '--order', 'rotation', '--picture-count', 1, '-q', '--document',
                     '/dev/full', SCENARIO)
        equal(done.returncode, 1, 'a full disk')
        assert 'could not be written' in done.stderr, done.stderr
        equal(list(home.iterdir()), [], 'left behind')


def test_signal():
    with folder() as home:
        process = subprocess.Popen([PROGRAM, '--seconds', '60', '--picture-count', '1', SCENARIO], stderr=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, env={**os.environ, 'TMPDIR': str(home)})
        until(lambda: process.poll() is not None or list(home.glob('condprof-bench-*/reports')), 'a run has begun')
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 128 + signal.SIGTERM, 'its status')
        equal((out, list(home.iterdir())), (b'', []), 'left behind')


def test_manual_has_every_option():
    shown = subprocess.run([PROGRAM, '--help'], capture_output=True, text=True, check=True).stdout
    page = (SOURCE / 'docs/condprof-bench-overhead.1').read_text().replace('\\-', '-')
    for option in re.findall(r'--[a-z-]+', shown):
        assert option in page, option


run(globals())
