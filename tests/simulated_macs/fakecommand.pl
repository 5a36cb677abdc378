#!/usr/bin/env -S LC_ALL=C perl
# Stands at the path of a macOS command on a simulated Mac: hands its words to the helper
# of that Mac, then prints what the helper answers or runs what it allows (sudo). Perl,
# because it starts in 2 ms, is part of every Debian and speaks unix sockets; without
# "use Socket", which would take 15 ms more: 1 is both AF_UNIX and SOCK_STREAM.
use strict;

socket(my $helper, 1, 1, 0) or die "socket: $!";
connect($helper, pack("Sa*", 1, "/private/simulation/socket\0")) or die "no helper: $!";
my ($name) = $0 =~ m{([^/]+)$};
my $input = "";
if ($name eq "scutil" && !@ARGV) { local $/; $input = <STDIN>; }
my $words = join("", map { "$_\0" } $name, @ARGV);
print $helper length($words), "\n", $words, $input;
close_writing($helper);

my $answer = do { local $/; <$helper> };
my ($verb, $length, $rest) = $answer =~ /\A(\S+) (\d+)\n(.*)\z/s or die "bad answer";
exec { "/private/simulation/as-root" } split(/\0/, $rest) if $verb eq "run";
binmode STDOUT;
print STDOUT substr($rest, 0, $length);
close STDOUT;
print STDERR substr($rest, $length);
exit $verb;

sub close_writing {
    my ($socket) = @_;
    my $before = select $socket;
    $| = 1;
    select $before;
    shutdown($socket, 1);
}
