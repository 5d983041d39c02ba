# SPDX-License-Identifier: GPL-3.0-or-later
"""What zsh and fish offer for condprofctl: every command and option that --help has, and what a daemon knows. bash is in
client_docs.py."""

import os
import pty
import re
import select
import time

from condprof_test import (PATIENCE, PROGRAMS, SOURCE, Client, Daemon, ctl, endless_scenario, equal, folder, need_program,
                           png, run, run_program, write_frames)

COMPLETION = SOURCE / 'client' / 'completion'
NOT_BUILT = '(not built yet)'


def commands():
    """{name: what it takes}, of what is built."""
    lines = ctl('--help').ok().out.split('Commands:\n')[1].split('\n\n')[0].splitlines()
    return {line.split()[0]: re.match(r'  \S+ ?(.*?)  ', line)[1] for line in lines if NOT_BUILT not in line}


def options(*command):
    """{--name: (short, argument)} of a command, with those of every command."""
    found = {}
    for line in ctl(*command, '--help').ok().out.splitlines():
        match = re.match(r'  (?:(-\w), )?(--[\w-]+)(?: (\S+))?  ', line)
        if match and NOT_BUILT not in line:
            found[match[2]] = (match[1], match[3])
    return found


def environment():
    return {**os.environ, 'PATH': f'{PROGRAMS}:{os.environ["PATH"]}', 'TERM': 'dumb', 'LC_ALL': 'C.UTF-8'}


class Fish:
    """Asks fish what it would offer for a line."""

    def __init__(self):
        need_program('fish')

    def complete(self, lines, home):
        program = ('source $argv[1]; for line in $argv[2..-1]; complete -C "$line"; echo "=="; end')
        done = run_program('fish', '--no-config', '-c', program, COMPLETION / 'condprofctl.fish', *lines,
                           environment={**environment(), 'HOME': str(home)}, cwd=home).ok()
        equal(done.err, '')
        answers = done.out.split('==\n')[:-1]
        return [{line.split('\t')[0].rstrip('/') for line in answer.splitlines()} for answer in answers]


class Zsh:
    """A zsh on a terminal of its own, in which Tab puts everything it would offer into the line and prints it."""

    SETUP = '''PS1=; unsetopt zle_bracketed_paste prompt_cr prompt_sp auto_param_slash; stty -echo
fpath=({completion} $fpath); autoload -Uz compinit; compinit -D -u
everything() {{ _main_complete; compstate[insert]=all; compstate[list]=; }}
zle -C everything complete-word everything
tab() {{ zle everything; print -r -- $'\\n<<'"$BUFFER"'>>'; BUFFER=; }}
zle -N tab; bindkey '^I' tab
print -r -- READY-$((1 + 1))
'''

    def __init__(self):
        need_program('zsh')
        self.output = b''

    def wait_for(self, terminal, mark):
        """What was printed up to `mark`."""
        deadline = time.monotonic() + PATIENCE
        while mark not in self.output:
            assert time.monotonic() < deadline, f'waited in vain for {mark!r}: {self.output!r}'
            if select.select([terminal], [], [], 1)[0]:
                self.output += os.read(terminal, 65536)
        before, _, self.output = self.output.partition(mark)
        return before.decode()

    def complete(self, lines, home):
        (home / 'setup').write_text(self.SETUP.format(completion=COMPLETION))
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(home)
            os.execvpe('zsh', ['zsh', '-f', '-i'], {**environment(), 'HOME': str(home), 'COLUMNS': '500'})
        try:
            os.write(terminal, b'. ./setup\n')
            self.wait_for(terminal, b'READY-2\r\n')
            answers = []
            for line in lines:
                os.write(terminal, line.encode() + b'\t')
                self.wait_for(terminal, b'<<')
                answers.append(self.words(line, self.wait_for(terminal, b'>>')))
        finally:
            os.close(terminal)
            os.waitpid(process, 0)
        return answers

    @staticmethod
    def words(line, buffer):
        """The words that took the place of the last one of `line`; none when it is still there alone."""
        stem = line[:line.rindex(' ') + 1]
        assert buffer.startswith(stem), (line, buffer)
        offered = [word.replace('\\', '').rstrip('=/') for word in buffer[len(stem):].split()]
        return set(offered) if offered != [line[len(stem):]] else set()


def in_both(lines):
    """[(line, what zsh offers, what fish offers)]"""
    with folder() as home:
        for name in ('one.yaml', 'two.yml', 'three.txt', 'four.png'):
            (home / name).touch()
        (home / 'reports').mkdir()
        zsh, fish = Zsh().complete(lines, home), Fish().complete(lines, home)
    return list(zip(lines, zsh, fish))


def offers(wanted):
    """wanted: {line: words}"""
    for line, zsh, fish in in_both(list(wanted)):
        equal(zsh, set(wanted[line]), f'zsh: {line}')
        equal(fish, set(wanted[line]), f'fish: {line}')


def test_commands_options_values_and_files():
    built = commands()
    offers({
        'condprofctl ': built,
        'condprofctl --json --timeout 5s ': built,
        'condprofctl sto': ['stop'],
        **{f'condprofctl {name} --': options(name) for name in built},
        'condprofctl report --view ': ['overview', 'conditions', 'events', 'timeline'],
        'condprofctl report --output ': ['text', 'json', 'csv', 'html', 'prometheus'],
        'condprofctl report --view events --sort p9': ['p90', 'p99'],
        'condprofctl diff 1 2 --fail-if p5': ['p50>+10%'],
        'condprofctl check ': ['one.yaml', 'two.yml', 'reports'],
        'condprofctl --quiet check o': ['one.yaml'],
        'condprofctl report rep': ['reports'],
    })


def test_sessions_and_scenarios_of_the_daemon():
    with Daemon() as daemon:
        for name in ('kiosk', 'night.shift'):
            file = daemon.home / f'{name}.yaml'
            file.write_text('scenario: "one, two"\nscreen: replay:/nowhere\nscreen-events:\n  - event: red\n'
                            '    conditions: [{color: "#ff0000", area: [0, 0, 1, 1]}]\n')
            ctl('--socket', daemon.socket_path, 'install', file).ok()
        endless = endless_scenario(write_frames(daemon.home / 'black', [png(8, 8, (0, 0, 0))]), name='Bahnhof, Gleis 1')
        with Client(daemon.socket_path) as client:
            ended = str(client.start(endless, max_passes=1, wait=True).id)
            running = str(client.start(endless))
        socket = f'condprofctl --socket {daemon.socket_path}'
        offers({
            f'{socket} stop ': [running],
            f'{socket} report ': [ended, running, 'latest', 'reports'],
            f'condprofctl diff --socket={daemon.socket_path} {ended} ': [ended, running, 'latest', 'reports'],
            f'{socket} delete {ended} ': [ended, running],
            'condprofctl --socket /nonexistent stop ': [],
            f'{socket} list ': [],
            f'{socket} remove ': ['kiosk', 'night.shift'],
            f'{socket} start ': ['kiosk', 'night.shift', 'one.yaml', 'two.yml', 'reports'],
        })


run(globals())
