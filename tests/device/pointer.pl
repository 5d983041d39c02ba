# SPDX-License-Identifier: GPL-3.0-or-later
# Prints what input devices of condprof say until a button was released, each position as a share of its axis.
use strict;
use warnings;
my ($EV_KEY, $EV_ABS) = (1, 3);
$| = 1;
my %files;
for my $path (glob('/sys/class/input/event*/device/name')) {
	open(my $name, '<', $path) or next;
	next unless <$name> =~ /condprof/;
	my ($node) = $path =~ m,input/(event\d+)/,;
	open($files{$node}, '<', "/dev/input/$node") or die "$node: $!";
}
die "no input device of condprof\n" unless %files;
print "listening\n";
$SIG{ALRM} = sub { die "nothing was clicked\n" };
alarm 60;
my $set = '';
vec($set, fileno($_), 1) = 1 for values %files;
while (select(my $ready = $set, undef, undef, undef)) {
	for my $file (values %files) {
		next unless vec($ready, fileno($file), 1);
		sysread($file, my $bytes, 24) == 24 or die "read: $!";
		my ($type, $code, $value) = unpack('x16 S S l', $bytes);
		if ($type == $EV_ABS) {
			my $axis = "\0" x 24;
			ioctl($file, 0x80184540 + $code, $axis) or die "EVIOCGABS: $!";
			my ($minimum, $maximum) = unpack('x4 l l', $axis);
			printf "axis %d %.4f\n", $code, ($value - $minimum) / ($maximum - $minimum);
		} elsif ($type == $EV_KEY) {
			print "button $code $value\n";
			exit 0 if !$value;
		}
	}
}
