# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual page, the completion and --help say the same: every command and every option stands in all three."""

import re
import shutil
import subprocess

from condprof_test import CONDPROFCTL, SOURCE, Skip, contains, ctl, equal, run, skip_unless

MANUAL = SOURCE / 'docs' / 'condprofctl.1'
COMPLETION = SOURCE / 'client' / 'completion' / 'condprofctl'
NOT_BUILT = '(not built yet)'


def section(text, title):
    """Indented lines below a title."""
    lines = text.split(title, 1)[1].splitlines()[1:]
    block = []
    for line in lines:
        if not line.startswith('  '):
            break
        block.append(line)
    return block


def commands():
    """{name: built} as --help has them."""
    lines = section(ctl('--help').ok().out, 'Commands:')
    return {line.split()[0]: NOT_BUILT not in line for line in lines}


def options(block):
    """{--name: (short, argument, built)}"""
    found = {}
    for line in block:
        match = re.match(r'  (?:(-\w), )?(--[\w-]+)(?: (\S+))?  ', line)
        assert match, line
        found[match[2]] = (match[1], match[3], NOT_BUILT not in line)
    return found


def verb_options(name):
    text = ctl(name, '--help').ok().out
    return options(section(text, '\nOptions:')) if '\nOptions:' in text else {}


def global_options():
    return options(section(ctl('--help').ok().out, 'Options, before or after the command:'))


def manual_entries():
    """[(words of a .TP's tag, text below it)], plain."""
    entries, tag = [], None
    lines = MANUAL.read_text().splitlines()
    for number, line in enumerate(lines):
        if line == '.TP':
            raw = re.sub(r'^\.(BI|BR|B|IR|I|RB|RI) ', '', lines[number + 1])
            tag = re.sub(r'\\f[BIRP]', '', raw).replace('\\-', '-').replace('"', '')
            entries.append([tag, []])
        elif entries:
            entries[-1][1].append(line)
    return [(tag, ' '.join(text[1:])) for tag, text in entries]


def test_every_command_is_in_the_manual():
    entries = manual_entries()
    for name, built in commands().items():
        texts = [text for tag, text in entries if tag.split()[0] == name]
        assert texts, f'{name} has no entry in {MANUAL.name}'
        equal('Not built yet.' not in texts[0][:20], built, f'{name} is built')


def test_every_option_is_in_the_manual():
    entries = manual_entries()
    wanted = dict(global_options())
    for name in commands():
        wanted.update(verb_options(name))
    for option, (short, argument, built) in wanted.items():
        tags = [(tag, text) for tag, text in entries if option in re.split(r'[ ,]+', tag)]
        assert tags, f'{option} has no entry in {MANUAL.name}'
        tag, text = tags[0]
        if short:
            contains(tag, short)
        equal(bool(argument), len(re.sub(r'--?[\w-]+|,', '', tag).split()) > 0, f'{option} has an argument')
        equal('Not built yet.' not in text[:20], built, f'{option} is built')


def test_the_manual_has_no_others():
    known = set(global_options())
    for name in commands():
        known |= set(verb_options(name))
    text = MANUAL.read_text().replace('\\-', '-')
    for option in set(re.findall(r'(?<![\w-])--[a-z][a-z-]+', text)):
        if option != '--name':  # stands for any
            assert option in known, f'{option} is in the manual, but not in --help'


def test_the_manual_says_every_exit_status():
    text = MANUAL.read_text().split('.SH EXIT STATUS')[1].split('.SH ')[0]
    equal(re.findall(r'\.B (\d)\n', text), list('01234567'))


def test_the_manual_is_well_formed():
    skip_unless(shutil.which('man'), 'man is not installed')
    done = subprocess.run(['man', '-l', '--warnings=all', '-E', 'UTF-8', '-Tutf8', str(MANUAL)], capture_output=True,
                          text=True, env={'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', 'MANWIDTH': '80'}, check=False)
    if done.returncode and 'command exited with status' not in done.stderr:
        raise Skip(f'man does not work here: {done.stderr.strip()[:80]}')
    equal(done.stderr, '')
    plain = re.sub('.\x08', '', done.stdout)
    assert 'EXIT STATUS' in plain and 'condprofctl' in plain, plain[:200]


def test_every_command_and_option_is_in_the_completion():
    text = COMPLETION.read_text()
    listed = re.search(r"local commands='([^']*)'", text)[1].split()
    equal(sorted(listed), sorted(commands()))
    listed = set(re.search(r"local globals='([^']*)'", text)[1].split())
    for option, (short, _, _) in global_options().items():
        assert option in listed and (not short or short in listed), option
    for name in commands():
        wanted = set(verb_options(name))
        match = re.search(rf"^\t\t{name}\) options='([^']*)'", text, re.M)
        equal(set(match[1].split()) if match else set(), wanted, f'options of {name}')
    everything = dict(global_options())
    for name in commands():
        everything.update(verb_options(name))
    for option, (_, argument, _) in everything.items():
        if argument:
            contains(text.split('for ((i = 1')[1].split(';;')[0], option)


def complete(*words):
    script = next((path for path in ('/usr/share/bash-completion/bash_completion', '/etc/bash_completion')
                   if subprocess.run(['test', '-r', path], check=False).returncode == 0), None)
    skip_unless(script and shutil.which('bash'), 'bash-completion is not installed')
    line = ' '.join(words)
    program = ('. "$1"; . "$2"; COMP_LINE=$3; COMP_POINT=${#3}; read -ra COMP_WORDS <<< "$3"; '
               '[[ $3 == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _condprofctl; '
               'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(['bash', '-c', program, 'bash', script, str(COMPLETION), line], capture_output=True, text=True, check=False)
    equal(done.stderr, '')
    return [word.strip() for word in done.stdout.split('\n') if word.strip()]


def test_completion_completes():
    equal(complete(CONDPROFCTL, 'sta'), ['start', 'status'])
    equal(complete(CONDPROFCTL, '--socket /x --json em'), ['emit'])
    equal(complete(CONDPROFCTL, 'report --view '), ['overview', 'conditions', 'events', 'timeline'])
    equal(complete(CONDPROFCTL, 'start --no'), ['--no-report'])
    equal(complete(CONDPROFCTL, 'stop --a'), ['--all'])


run(globals())
