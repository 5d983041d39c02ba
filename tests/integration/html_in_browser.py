# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of condprofctl report --output html, in a headless Chromium: what a person sorts, filters, searches, opens and
zooms; its colours, its width, hostile names, many occurrences; and that it asks nobody for anything."""

import contextlib

from condprof_test import PATIENCE, SOURCE, Skip, contains, control, ctl, equal, folder, note, run, until

if control:
    import make_reports
    from browser import Browser

REPORTS = SOURCE / 'tests' / 'data' / 'reports'
HOSTILE = '<script>document.title="owned"</script></script></noscript><img src=x onerror="window.owned=1">\'"&lt;\u2028'


class Report:
    """An open page and what is to be seen in it."""

    def __init__(self, browser, path, *words):
        self.browser = browser
        self.file = path.parent / f'{path.name}.html'
        self.file.write_text(ctl('report', path, '--output', 'html', *words).ok().out)
        self.open()

    def open(self):
        self.browser.requests()
        self.browser.complaints()
        self.browser.open(self.file)

    def column(self, table, name):
        """The texts of the rows that are there."""
        return self.browser.run('''
            const table = document.querySelector(`table[data-name=${arguments[0]}]`);
            const place = [...table.tHead.rows[0].cells].findIndex(head => head.dataset.name === arguments[1]);
            return [...table.tBodies[0].querySelectorAll('tr[data-i]')].map(row => row.cells[place].textContent.trim());''',
                                table, name)

    def head(self, table, name):
        return f'table[data-name={table}] th[data-name={name}]'

    def sort(self, table, name):
        self.browser.click(f'{self.head(table, name)} button')
        return self.browser.run('return document.querySelector(arguments[0]).getAttribute("aria-sort")', self.head(table, name))

    def count(self, section):
        return self.browser.run('return document.querySelector(arguments[0]).textContent', f'#{section} .count')

    def wait_count(self, section, text):
        until(lambda: self.count(section) == text, f'{text!r}, last {self.count(section)!r}')

    def search(self, section, text):
        self.browser.clear(f'#{section} input[type=search]')
        self.browser.type(f'#{section} input[type=search]', text)

    def check_quiet(self):
        """Nothing was asked for but the page, and nothing went wrong in it."""
        equal(self.browser.complaints(), [])
        equal(self.browser.requests(), [f'file://{self.file}'])


@contextlib.contextmanager
def varied(count, rename=lambda name: name):
    with folder() as home:
        make_reports.varied(home / 'r', count, rename)
        page = Report(_browser, home / 'r')
        yield page
        page.check_quiet()


@contextlib.contextmanager
def shape(name):
    with folder() as home:
        (home / name).symlink_to(REPORTS / name)
        page = Report(_browser, home / name)
        yield page
        page.check_quiet()


def test_sort():
    with shape('finished') as page:
        equal(page.column('conditions', 'name'), ['error icon', 'popup', 'retries', '30 s', 'orange', 'restart', 'go'])
        equal(page.sort('conditions', 'checks'), 'descending')
        equal(page.column('conditions', 'checks'), ['100', '100', '90', '40', '10', '0', '0'])
        equal(page.sort('conditions', 'checks'), 'ascending')
        equal(page.column('conditions', 'checks'), ['0', '0', '10', '40', '90', '100', '100'])
        equal(page.sort('conditions', 'average_ns'), 'descending')
        equal(page.column('conditions', 'average_ns'), ['29.1 ms', '8.05 ms', '105 ns', '61 ns', '22 ns', '–', '–'])
        equal(page.sort('conditions', 'average_ns'), 'ascending')  # what is not known is last, either way
        equal(page.column('conditions', 'average_ns'), ['22 ns', '61 ns', '105 ns', '8.05 ms', '29.1 ms', '–', '–'])
        equal(page.sort('conditions', 'name'), 'ascending')
        equal(page.column('conditions', 'name'), ['30 s', 'error icon', 'go', 'orange', 'popup', 'restart', 'retries'])
        equal(_browser.run('return document.querySelectorAll("table[data-name=conditions] [aria-sort]").length'), 1)
        equal(page.sort('events', 'fulfilled'), 'descending')
        equal(page.column('events', 'fulfilled'), ['2', '2', '0', '0'])
        equal(page.sort('occurrences', 'acting_ns'), 'descending')
        equal(page.column('occurrences', 'at_ns'), ['2 m 17 s', '3.04 s', '2.00 s', '1 h 05 m 00 s'])


def test_filter():
    with shape('finished') as page:
        _browser.choose('#conditions select[data-name=kind]', 'image')
        page.wait_count('conditions', '3 of 7')
        equal(page.column('conditions', 'name'), ['error icon', 'popup', 'restart'])
        _browser.choose('#conditions select[data-name=event]', 'error')
        equal(page.column('conditions', 'name'), ['error icon', 'restart'])
        page.sort('conditions', 'name')
        _browser.choose('#conditions select[data-name=kind]', 'All kinds')
        _browser.choose('#conditions select[data-name=event]', 'All events')
        page.wait_count('conditions', '7')
        equal(page.column('conditions', 'name')[0], '30 s')  # the order stays
        _browser.choose('#events select[data-name=kind]', 'trigger')
        equal(page.column('events', 'name'), ['give up', 'told'])
        _browser.choose('#timeline select[data-name=event]', 'give up')
        equal(page.column('occurrences', 'event'), ['give up', 'give up'])


def test_search():
    with shape('finished') as page:
        page.search('conditions', 'RETR')
        page.wait_count('conditions', '1 of 7')
        equal(page.column('conditions', 'name'), ['retries'])
        page.search('conditions', 'close')  # an event's name finds its conditions
        page.wait_count('conditions', '2 of 7')
        page.search('conditions', 'no such thing')
        page.wait_count('conditions', '0 of 7')
        contains(_browser.run('return document.querySelector("#conditions").textContent'), 'Nothing fits.')
        _browser.clear('#conditions input[type=search]')
        page.wait_count('conditions', '7')
        page.search('timeline', 'skipped')  # what took part in an occurrence
        page.wait_count('timeline', '1 of 4')
        equal(page.column('occurrences', 'at_ns'), ['3.04 s'])


def test_a_closer_look():
    with shape('finished') as page:
        first = 'table[data-name=conditions] tbody tr[data-i="0"]'
        _browser.click(first)
        shown = _browser.run('return document.querySelector("#conditions tr.more").innerText')
        contains(shown, 'Std. deviation', '30.2 ms', 'Not evaluable', 'Max at', '9.00 s', 'p50 27.0 ms', 'average 29.1 ms')
        bars = _browser.run('return document.querySelectorAll("#conditions tr.more svg.large rect").length')
        equal(bars, 3)  # 25.1 to 26.9 ms in two buckets, and 312 ms
        titles = _browser.run('return [...document.querySelectorAll("#conditions tr.more rect title")].map(t => t.textContent)')
        equal(sum(int(title.rsplit(': ')[1]) for title in titles), 90)
        _browser.click(first)
        equal(_browser.run('return document.querySelectorAll("#conditions tr.more").length'), 0)
        _browser.run('document.querySelector(arguments[0]).focus()', 'table[data-name=occurrences] tr[data-i="0"]')
        _browser.type('table[data-name=occurrences] tr[data-i="0"]', '\ue007')  # Enter
        contains(_browser.run('return document.querySelector("#timeline tr.more").innerText'), 'popup', 'confidence 97.0 %',
                 'from 0', 'x 120')


def lightness(color):
    """WCAG's relative luminance of rgb(…)."""
    parts = [int(part) / 255 for part in color[color.index('(') + 1:-1].split(',')[:3]]
    linear = [part / 12.92 if part <= .03928 else ((part + .055) / 1.055) ** 2.4 for part in parts]
    return .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((lightness(one), lightness(other)), reverse=True)
    return (light + .05) / (dark + .05)


def check_colors(wanted):
    """Everything that is written is readable: 4.5 to 1."""
    background = _browser.run('return getComputedStyle(document.body).backgroundColor')
    equal('light' if lightness(background) > .5 else 'dark', wanted)
    found = _browser.run('''
        const colors = {};
        for (const element of document.querySelectorAll('body *'))
            if ([...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) && element.offsetHeight)
                colors[getComputedStyle(element).color] = element.tagName + '.' + element.className;
        return colors;''')
    assert len(found) >= 2, found
    for color, where in found.items():
        assert contrast(color, background) >= 4.5, f'{where}: {color} on {background}: {contrast(color, background):.1f}'


def test_light_and_dark():
    with shape('finished') as page:
        for scheme in ('light', 'dark'):
            _browser.prefer(scheme)
            check_colors(scheme)
        contains(_browser.run('return document.querySelector("#theme").textContent'), 'auto')
        _browser.click('#theme')  # light, whatever the desktop says
        check_colors('light')
        _browser.prefer('light')
        _browser.click('#theme')
        contains(_browser.run('return document.querySelector("#theme").textContent'), 'dark')
        check_colors('dark')
        page.check_quiet()
        page.open()
        check_colors('dark')  # kept
        _browser.click('#theme')
        check_colors('light')  # auto again


def test_hostile_names_stay_text():
    with varied(20, lambda name: f'{HOSTILE}{name}'[:255]) as page:
        contains(_browser.run('return document.title'), 'varied', '<script>')
        equal(_browser.run('return typeof window.owned'), 'undefined')
        equal(_browser.run('return document.querySelectorAll("img, main script").length'), 0)
        shown = HOSTILE.replace('\u2028', '\\u2028')
        contains(page.column('conditions', 'name'), f'{shown}window 5')
        contains(page.column('occurrences', 'event'), f'{shown}event 1')
        page.search('conditions', f'{shown}button 3')
        page.wait_count('conditions', '1 of 12')
        equal(page.column('conditions', 'name'), [f'{shown}button 3'])
        options = _browser.run('return [...document.querySelectorAll("#timeline select option")].map(option => option.text)')
        contains(options, f'{shown}event 5')
        _browser.choose('#timeline select', f'{shown}event 5')
        page.wait_count('timeline', '4 of 20')
        _browser.click('table[data-name=occurrences] tr[data-i]')
        contains(_browser.run('return document.querySelector("#timeline tr.more").innerText'), f'{shown}window 5')
        equal(_browser.run('return typeof window.owned'), 'undefined')
        equal(_browser.run('return document.querySelectorAll("img, main script").length'), 0)


def test_ten_thousand_occurrences():
    with varied(10000) as page:
        until(lambda: page.count('timeline') == '10000', 'the timeline', PATIENCE)
        nodes = _browser.run('return document.querySelectorAll("*").length')
        note(f'{page.file.stat().st_size} bytes, {nodes} elements; ready after '
             f'{_browser.run("return performance.getEntriesByType(`navigation`)[0].loadEventEnd")} ms')
        assert nodes < 3000, nodes  # a window of rows
        equal(page.column('occurrences', 'at_ns')[0], '30.0 ms')
        _browser.run('const box = document.querySelector(".window"); box.scrollTop = box.scrollHeight;')
        until(lambda: page.column('occurrences', 'pass')[-1] == '10000', 'the last occurrence')
        visible = _browser.run('''
            const box = document.querySelector('.window').getBoundingClientRect();
            return [...document.querySelectorAll('.window tr[data-i]')].filter(row => {
                const {top, bottom} = row.getBoundingClientRect();
                return bottom > box.top && top < box.bottom;
            }).length;''')
        assert visible > 5, visible
        equal(page.sort('occurrences', 'acting_ns'), 'descending')
        equal(set(page.column('occurrences', 'event')), {'event 5'})
        page.search('timeline', 'window 3')
        page.wait_count('timeline', '2000 of 10000')
        _browser.click('.window tr[data-i]')
        contains(_browser.run('return document.querySelector(".window tr.more").innerText'), 'window 3', 'fulfilled')
        _browser.run('const box = document.querySelector(".window"); box.scrollTop = box.scrollHeight;')
        until(lambda: page.column('occurrences', 'pass')[-1] == '9998', 'the last of them')
        assert _browser.run('return document.querySelectorAll("*").length') < 3000


def test_zoom():
    with varied(1000) as page:
        shown = 'return document.querySelector(".range").textContent'
        contains(_browser.run(shown), 'the whole session')
        _browser.drag('.lanes canvas', .25, .5)
        until(lambda: page.count('timeline') != '1000', 'fewer occurrences')
        inside = int(page.count('timeline').split(' of ')[0])
        assert 240 <= inside <= 260, inside
        assert 'whole' not in _browser.run(shown)
        _browser.click('.zoom button[aria-label="Zoom in"]')
        until(lambda: int(page.count('timeline').split()[0]) < inside, 'still fewer')
        before = page.column('occurrences', 'pass')[0]
        _browser.click('.zoom button[aria-label=Later]')
        until(lambda: page.column('occurrences', 'pass')[0] != before, 'others')
        _browser.click('.zoom button[aria-label="The whole session"]')
        page.wait_count('timeline', '1000')
        _browser.type('.lanes canvas', '+')
        until(lambda: 480 <= int(page.count('timeline').split()[0]) <= 520, 'half of them')
        _browser.type('.lanes canvas', '0')
        page.wait_count('timeline', '1000')
        # Something is drawn in each of the five lanes, and a click on it opens the occurrence.
        drawn = _browser.run('''
            const canvas = document.querySelector('.lanes canvas'), context = canvas.getContext('2d');
            const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
            const pixel = (x, y) => data.slice(4 * (y * canvas.width + x), 4 * (y * canvas.width + x) + 4).join();
            return [0, 1, 2, 3, 4].map(lane => {
                let marks = 0;
                for (let x = 0; x < canvas.width; x++)
                    marks += pixel(x, Math.round((lane * 36 + 24) * devicePixelRatio)) !== pixel(3, canvas.height - 3);
                return marks;
            });''')
        assert all(marks > 100 for marks in drawn), drawn
        _browser.drag('.lanes canvas', .5, .5)
        until(lambda: _browser.run('return document.querySelectorAll("#timeline tr.more").length') == 1, 'its details')


def test_reports_of_every_shape():
    for path in sorted(REPORTS.iterdir()):
        if path.is_dir():
            with shape(path.name):
                for place in ('#timeline', '#events', '#conditions'):
                    _browser.run('document.querySelector(arguments[0]).scrollIntoView()', place)
                rows = sum(len(ctl('report', path, '--json', '--view', view).json()[key]) for view, key in (
                    ('conditions', 'conditions'), ('events', 'events'), ('timeline', 'occurrences')))
                equal(_browser.run('return document.querySelectorAll("table.main tr[data-i]").length'), rows, path.name)


def test_times_of_any_size():
    """Zooming stays where numbers can be told apart, and comes to an end."""
    with folder() as home:
        far = 2 ** 62
        make_reports.write(home / 'r', make_reports.kiosk(), make_reports.kiosk_overview(), messages=[
            make_reports.occurrence(n, 1, at, 5, n) for n, at in enumerate((-far, 0, 5, far, far + 1))])
        page = Report(_browser, home / 'r')
        for _ in range(5):
            _browser.run('for (let i = 0; i < 20; i++) document.querySelector("[aria-label=\'Zoom in\']").click()')
        _browser.drag('.lanes canvas', .5, .51)
        _browser.run('for (let i = 0; i < 20; i++) document.querySelector("[aria-label=Later]").click()')
        contains(_browser.run('return document.querySelector(".range").textContent'), ' to ')
        until(lambda: ' of ' in page.count('timeline'), 'fewer rows: from then on nothing moves below the pointer')
        _browser.click('.zoom button[aria-label="The whole session"]')
        page.wait_count('timeline', '5')
        page.check_quiet()


def test_long_durations_as_in_the_tables():
    for ns, said in ((86_399_499_999_999, '23 h 59 m 59 s'), (86_399_500_000_000, '1 d 00 h 00 m'),
                     (86_429_999_999_999, '1 d 00 h 00 m'), (86_430_000_000_000, '1 d 00 h 01 m')):
        with folder() as home:
            overview = make_reports.kiosk_overview()
            overview.time.duration_ns = ns
            make_reports.write(home / 'r', make_reports.kiosk(), overview, messages=[
                make_reports.occurrence(1, 1, 2 * make_reports.SECOND, 5, 1)])
            page = Report(_browser, home / 'r')
            equal(_browser.run('return document.querySelector("table.bars td").textContent'), said)
            equal(_browser.run('return document.querySelector(".range").textContent'), f'the whole session, {said}')
            page.check_quiet()


def test_many_conditions():
    with folder() as home:
        conditions = [make_reports.scenario.Condition(name=f'condition {n}', id=n, timer=make_reports.scenario.TimerCondition(
            duration_ns=1)) for n in range(1, 1001)]
        make_reports.write(home / 'r', make_reports.scenario.Scenario(name='large', trigger_events=[
            make_reports.scenario.Event(name='all', id=1, conditions=conditions)]), make_reports.kiosk_overview(), messages=[
                make_reports.closing([make_reports.timing(n, [n * 1000]) for n in range(1, 1001)],
                                     [make_reports.detail(n, [n * 1000]) for n in range(1, 1001)])])
        page = Report(_browser, home / 'r')
        equal(page.count('conditions'), '1000')
        equal(page.column('conditions', 'name')[0], 'condition 1000')
        assert _browser.run('return document.querySelectorAll("*").length') < 4000
        equal(page.sort('conditions', 'name'), 'ascending')
        equal(page.column('conditions', 'name')[:3], ['condition 1', 'condition 2', 'condition 3'])
        page.search('conditions', 'condition 99')
        page.wait_count('conditions', '11 of 1000')
        page.check_quiet()


def test_on_a_phone():
    with shape('finished') as page:
        _browser.resize(390, 844, 2, True)
        page.check_quiet()
        page.open()
        equal(_browser.run('return document.documentElement.scrollWidth'), 390)
        heads = _browser.run('return [...document.querySelectorAll("table[data-name=conditions] th")]'
                             '.filter(head => head.offsetWidth).map(head => head.textContent)')
        equal(heads, ['Event', 'Condition', 'Total', 'Share'])
        wide = _browser.run('return [...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth)'
                            '.map(box => `${box.scrollWidth} ${box.textContent}`)')
        equal(wide, [])
        _browser.click('table[data-name=conditions] tr[data-i="0"]')
        shown = _browser.run('return document.querySelector("#conditions tr.more").innerText')
        contains(shown, 'Checks', '90', 'Average', '29.1 ms')
    _browser.devtools('Emulation.clearDeviceMetricsOverride')


def test_without_scripts():
    with shape('finished') as page:
        page.check_quiet()
        _browser.scripts(False)
        try:
            page.open()
            shown = _browser.run('''
                return [...document.querySelectorAll('table.main')].map(table =>
                    [table.dataset.name, table.tBodies[0].rows.length, table.tBodies[0].rows[0].offsetHeight > 10])''')
            equal(shown, [['conditions', 7, True], ['events', 4, True], ['occurrences', 8, True]])
            text = _browser.run('return document.body.innerText')
            contains(text, 'error icon', 'Std. deviation', '1 h 05 m 00 s', 'confidence 97.0 %', 'Never checked')
            equal(_browser.run('return document.querySelectorAll("input, select, canvas").length'), 0)
            equal(_browser.run('return document.querySelector("#theme").offsetHeight'), 0)
        finally:
            _browser.scripts(True)


if __name__ == '__main__':
    if control is None:
        run(globals())
    try:
        with Browser() as _browser:
            _browser.resize(1400, 1000)
            run(globals())
    except Skip as why:
        print(f'1..0 # SKIP {why}')
