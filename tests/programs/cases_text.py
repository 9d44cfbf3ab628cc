"""Programs that search, and programs that a makefile or a shell would call."""
from case import looks, on, reads, writes

PRINTF = r"%p %y %s %k %b %m %M %n %i %D %F %T@ %C@ %l %u %g\n"

PROGRAMS = {
    "find": on(
        "binary",
        looks("find {data}"),
        looks("find . -ls"),
        looks(("find", "{data}", "-printf", PRINTF)),
        looks("find . -type f -size +5k -newer f7"),
        looks("find -L . -xdev -samefile f8"),
        looks("find {data} -links 2 -o -perm 600 -o -empty"),
        reads("find . -type f -exec md5sum {} +"),
        reads("find . -name f1? -exec sha1sum {} ;"),
        looks("find {frames} -maxdepth 0 -inum +1 -print0"),
    ),
    "xargs": on(
        "text",
        reads(("bash", "-c", "printf '%s\\0' f* | xargs -0 -n 5 wc -l; true"), links=1),
        reads("xargs -a f3 -n 3 echo"),
    ),
    "grep": on(
        "text",
        reads("grep -r alpha {data}"),
        reads("grep -rc beta ."),
        reads("grep -n gamma f3 f4 f404", 2),
        reads("grep -RL alpha .", links=1),
        reads("grep -rl --include=f1* 0.1 ."),
        reads("egrep -ho al.ha f5"),
    ),
    "sed": on("text", reads("sed -n 3,5p {frames}"), reads("sed s/alpha/omega/ f3 f404", 2),
              reads("sed -s -n $p f3 f4")),
    "gawk": on(
        "text",
        reads(("gawk", "{ n[FILENAME]++; s += $3 } ENDFILE { print FILENAME, FNR, n[FILENAME] } "
               "END { print s }", "{frames}")),
        reads(("gawk", 'BEGIN { while ((getline line < "f3") > 0) print line; close("f3") }')),
        reads(("gawk", 'BEGIN { "cat f4" | getline a; print a }')),
    ),
    "mawk": on("text", reads(("mawk", "$2 == \"beta\" { n++ } END { print n, NR }", "{frames}")),
               reads(("mawk", "{ print FNR }", "f3", "f404"), 2)),
    "bash": on(
        "text",
        looks(("bash", "-c", "echo f* ; echo '{data}'/f?; echo */")),
        looks(("bash", "-c",
               "shopt -s globstar nullglob; echo **; echo '{data}'/f[1-3]*; echo g*")),
        reads(("bash", "-c", "for f in f*; do [[ -f $f ]] && wc -c < $f; done"), links=1),
        reads(("bash", "-c", "while IFS=$'\\t' read -r a b c; do echo $c $b $a; done < f4")),
        reads(("bash", "-c", "mapfile -t all < f5; echo ${#all[@]} ${all[7]}; echo \"$(< f2)\"")),
        reads(("bash", "-c", "exec 7< f3 8< f4; read -u 7 a; read -u 8 b; echo $a $b; cat <&7")),
        writes(("bash", "-c", "cat < '{data}/f3' > '{out}/x'; cat f4 >> '{out}/x'; "
                "md5sum < '{out}/x'")),
        reads(("bash", "-c", "exec < f6; read x; echo $x; (read y; echo $y); exec head -n 1")),
        reads(("bash", "-c", "cat <(cat f3) <(head -n 1 f4); . f404", ), 1),
        looks(("bash", "-c", "[[ f8 -ef f9 && f3 -ot f4 ]] && echo yes; "
               "for t in -e -f -r -w -x -s -h -k; do test $t f3; echo $t $?; done")),
        reads(("bash", "-c", "(cat f3 & wait); cat f4 | cat - f5 | tail -n 2; "
               "exec 5< <(cat f6); cat <&5")),
    ),
    "dash": on("text", looks(("dash", "-c", "echo f* '{data}'/f1?")),
               reads(("dash", "-c", "while read -r a b; do echo $b; done < f3; cat f4 < f5")),
               reads(("dash", "-c", "exec 3< f6; cat <&3; cat < f404"), 2)),
    "perl": on(
        "text",
        reads(("perl", "-ne",
               "$n{$ARGV} += length; END { print qq($_ $n{$_}\\n) for sort keys %n }",
               "{frames}")),
        looks(("perl", "-e",
               "for (sort glob('f*')) { my @s = lstat; $s[8] = 0; print qq($_ @s\\n) }")),
        looks(("perl", "-e", "opendir D, '.'; print join ' ', sort readdir D")),
        looks(("perl", "-MFile::Find", "-e",
               "find({ wanted => sub { print qq($File::Find::name\\n) }, "
               "preprocess => sub { sort @_ } }, '.')")),
        reads(("perl", "-e", "open F, '<', 'f3'; my @s = stat F; $s[8] = 0; print qq(@s\\n); "
               "seek F, 10, 0; print <F>; print -s F, -M _ > 0, -f _, -r F")),
        reads(("perl", "-MFile::Copy", "-MFile::Spec", "-e",
               "copy('f4', \\*STDOUT); print File::Spec->rel2abs('f4'); "
               "open F, 'f404' or print $!")),
        reads(("perl", "-e", "sysopen F, 'f5', 0; sysread F, $x, 50, 0; print $x; "
               "print map { sprintf '%s', $_ } do { local @ARGV = 'f6'; <> }")),
    ),
    "make": on("text", reads("make -r -f {readers}/frames.mk")),
    "openssl": on("binary", reads("openssl dgst -sha256 {frames}")),
    "strings": on("text", reads("strings -f -n 8 f3 f4"), reads("objdump -s -b binary f3")),
    "getfattr": on("binary", looks("getfattr -d -m - {frames}"),
                   looks("getfattr -n user.zazen f3", 1)),
    "getfacl": on("binary", looks("getfacl -p {frames}")),
}
