# SPDX-License-Identifier: GPL-3.0-or-later
# Completes condprofctl's commands, options and arguments in fish.
#
# Commands, options and what a command takes are read from the program's own --help, when fish loads this file, so they are
# those of the program that is installed; what is not built is not offered. Sessions, reports and installed scenarios are
# those of the daemon, or nothing where none answers.

# The options whose argument is the next word, and what each command takes, as in "diff ID|DIR ID|DIR".
set -g __condprofctl_with_argument
set -g __condprofctl_usages

# The words before the cursor that are neither options nor their arguments: the command, then its arguments.
function __condprofctl_words
    set -l skip
    for word in (commandline -opc)[2..-1]
        if test -n "$skip"
            set skip
        else if string match -q -- '-*' $word
            contains -- $word $__condprofctl_with_argument; and set skip yes
        else
            echo $word
        end
    end
end

function __condprofctl_command_is
    set -l words (__condprofctl_words)
    test "$words[1]" = "$argv[1]"
end

# What the daemon answers, without the head of the table. Nobody waits for ssh in the middle of a word.
function __condprofctl_ask
    set -l tokens (commandline -opc)
    string match -qr -- '^(-H|--host)' $tokens; and return
    set -l socket (string match -- '--socket=*' $tokens)
    if set -l at (contains -i -- --socket $tokens)
        set socket --socket $tokens[(math $at + 1)]
    end
    condprofctl -q --timeout 1s $socket --output csv $argv 2>/dev/null | sed 1d
end

# Files that end in .$argv[1], and folders.
function __condprofctl_files
    complete -C "__fish_command_without_completions $(commandline -ct)" | string match -ri -- "^.*(?:/|\.$argv[1])\$"
end

# An argument, by what the command's --help calls it: ID, latest, DIR, NAME, SCENARIO.yaml, OUT.png
function __condprofctl_arguments
    set -l words (__condprofctl_words)
    set -l kinds (string split ' ' -- (string match -- "$words[1] *" $__condprofctl_usages))
    set -l kind $kinds[(math (count $words) + 1)]
    test -z "$kind"; and set kind (string match -- '*...' $kinds[-1])
    set -l list list
    contains -- $words[1] status stop watch rotate; and set list status
    string match -q '*latest*' -- $kind; and printf 'latest\tthe session started last\n'
    # id, scenario, state; a name with a comma in it is quoted
    string match -q '*ID*' -- $kind
    and __condprofctl_ask $list | string replace -rf '^([0-9]+),("[^"]*"|[^,]*),([a-z]+).*' '$1\t$2, $3'
    string match -q '*NAME*' -- $kind
    and __condprofctl_ask scenarios | string replace -r ',.*' '\tinstalled scenario'
    string match -q '*.yaml*' -- $kind; and __condprofctl_files 'ya?ml'
    string match -q '*.png*' -- $kind; and __condprofctl_files png
    string match -q '*DIR*' -- $kind; and __fish_complete_directories (commandline -ct)
    return 0
end

# The values of the option $argv[1] that takes $argv[2]; nothing where anything goes.
function __condprofctl_values
    switch $argv[1]
        case --output
            echo text json csv html prometheus
        case --view
            echo overview conditions events timeline
        case --sort
            echo total average checks fulfilled min max p50 p90 p99 share order name
        case --filter
            echo name= event= kind={image,color,text,number,timer,counter,broadcast,screen,trigger}
        case --screen
            echo replay: x11::0 fb:/dev/fb0
        case --input
            echo log: x11::0 uinput:
        case --rate
            echo 1/s 10/s 60/s unlimited
        case --fail-if
            echo {average,p50,p90,p99}\\\>+10%
        case --host
            echo '(__fish_complete_user_at_hosts)'
        case '*'
            string match -q DIR -- $argv[2]; and echo '(__fish_complete_directories (commandline -ct))'
    end
end

# Declares the options of the command $argv[1], or of all commands.
function __condprofctl_declare
    set -l when
    test -n "$argv[1]"; and set when -n "__condprofctl_command_is $argv[1]"
    condprofctl $argv --help 2>/dev/null |
        sed -n '/(not built yet)$/d; /^Options of every/q; s/^  \(\(-.\), \)\{0,1\}\(--[a-z-]*\)\( \([^ ][^ ]*\)\)\{0,1\}  *\(.*\)$/\2\t\3\t\5\t\6/p' |
        while read -d \t -l short long argument help
            set -l how -l (string sub -s 3 -- $long) -d $help
            test -n "$short"; and set -a how -s (string sub -s 2 -- $short)
            if test -n "$argument"
                set -a __condprofctl_with_argument $short $long
                set -l values (__condprofctl_values $long $argument)
                # A file where it says so, else one of the values, else anything.
                if string match -qr 'PATH|PNG|\.png' -- $argument
                    set -a how -r -F
                else
                    set -a how -x
                    test -n "$values"; and set -a how -a "$values"
                end
            end
            complete -c condprofctl $when $how
        end
end

complete -c condprofctl -f
__condprofctl_declare
condprofctl --help 2>/dev/null | sed -n '/(not built yet)$/d; s/^  \([a-z][a-z-]*\).*  \([^ ].*\)$/\1\t\2/p' |
    while read -d \t -l command help
        complete -c condprofctl -n 'test -z "$(__condprofctl_words)"' -a $command -d $help
        __condprofctl_declare $command
        set -a __condprofctl_usages (condprofctl $command --help | sed -n '1{ s/^Usage: condprofctl \[OPTION\.\.\.\] //; s/ \[OPTION\.\.\.\]//; s/[][]//g; p; }')
    end
complete -c condprofctl -n 'test -n "$(__condprofctl_words)"' -a '(__condprofctl_arguments)'
