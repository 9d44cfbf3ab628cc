"""GNU coreutils."""
from case import copies, looks, on, reads, writes

# Everything of a file's status but the time of its last access.
STATUS = "%n %a %A %b %B %d %f %F %g %h %i %N %o %s %t %T %u %y %z"

PROGRAMS = {
    "ls": on(
        "binary",
        looks("ls -la"),
        looks("ls -laiR --full-time {data}"),
        looks("ls -R {data}"),
        looks("ls -lcs --time-style=full-iso {frames}"),
        looks("ls -lS --author --block-size=1 {data}"),
        looks("ls -1tr {data} missing", 2),
        looks("ls -Fd --color=always f3 f55 f77 f3/x", 2),
    ),
    "cat": on(
        "binary",
        reads("cat {frames}"),
        reads("cat f3 notes.txt f03 f21"),
        reads("cat f55 f5 f404 {data}/f6", 1),
        reads("cat ./f1 ../sim1/f2 f55/../f4"),
    ),
    "cp": on(
        "binary",
        copies("cp -a {data} {out}"),
        copies("cp -a --sparse=always {frames} {out}"),
        copies("cp -Lrp --reflink=auto {data} {out}/copy", links=1),
        copies("cp --preserve=all f3 f8 f9 f12 {out}"),
        looks("cp -as {data} {out}/links"),
        writes("cp -v f3 f4 {out}"),
        copies(("bash", "-c", "cp -p /dev/stdin '{out}/x' < f3")),
        copies(("bash", "-c", "cp -p /dev/fd/7 '{out}/x' 7< f4")),
        writes("cp -u f55 f3 {out}", 1),
    ),
    "md5sum": on("binary", reads("md5sum {frames}"), reads("md5sum f3 f55 f7 f404", 1)),
    "sha256sum": on("binary", reads("sha256sum --tag {frames}")),
    "cksum": on("binary", reads("cksum {frames}"), reads("sum f9 f10"), reads("b2sum f20")),
    "dd": on(
        "binary",
        reads("dd if=f14 bs=1000 status=none"),
        reads("dd if={data}/f15 bs=512 skip=3 count=7 status=none"),
        reads("dd if=f16 iflag=skip_bytes,fullblock skip=9999 status=none"),
        writes("dd if=f19 of={out}/f19 bs=4k conv=sparse status=none"),
        looks("dd if=f404", 1),
    ),
    "head": on("text", reads("head -n 3 {frames}"), reads("head -c 1000 f20 f21"),
               reads("head -n -390 f20")),
    "tail": on("text", reads("tail -n 3 {frames}"), reads("tail -c +3000 f20"),
               reads("tail -n +395 f20")),
    "wc": on("text", reads("wc {frames}"), reads("wc -lLwmc f7 notes.txt f8"),
             reads("wc -c {frames}")),
    "du": on(
        "binary",
        looks("du -a {data}"),
        looks("du -ab --time --time-style=full-iso {data}"),
        looks("du -csk {frames}"),
        looks("du -xl --inodes {data}"),
        looks("du -B1 f8 f9 f10"),
    ),
    "stat": on(
        "binary",
        looks(("stat", "-c", STATUS, "{frames}")),
        looks(("stat", "-L", "-c", STATUS, "f77", "f55", "notes.txt", "{data}", "f3")),
        looks(("stat", "-c", "%n %m", "f3", "f4")),
        looks(("stat", "-c", "%n born %w", "{frames}")),
        looks(("stat", "-f", "-c", "%n %i %l %t %T %s %S", "f3", "{data}")),
        reads(("bash", "-c", f"stat -c '{STATUS}' - < f13")),
        reads(("bash", "-c", f"stat -L -c '{STATUS}' /proc/self/fd/7 7< f13")),
    ),
    "sort": on("text", reads("sort -k3 {frames}"), reads("sort -u -k2,2 f3 f4 f5"),
               reads("sort -m f1 f2"), reads("sort -c f20", 1), writes("sort -o {out}/sorted f20")),
    "install": on(
        "binary",
        copies("install -p -m 640 {frames} {out}"),
        writes("install -pD f3 {out}/deep/below/f3"),
        writes("install -C f3 f4 {out}"),
    ),
    "od": on("binary", reads("od -A x -t x1z f3 f4"), reads("od -j 2000 -N 100 f5")),
    "tac": on("text", reads("tac f3 f4")),
    "nl": on("text", reads("nl -b a f3")),
    "cut": on("text", reads("cut -f 2 {frames}")),
    "paste": on("text", reads("paste f1 f2 f3")),
    "comm": on("text", reads("comm --nocheck-order f1 f2")),
    "join": on("text", reads("join -1 2 -2 2 --nocheck-order f3 f4")),
    "uniq": on("text", reads("uniq -c f3")),
    "fold": on("text", reads("fold -w 9 f3 f4")),
    "shuf": on("text", reads("shuf --random-source=f20 f19")),
    "base64": on("binary", reads("base64 f3")),
    "split": on("text", writes("split -l 100 f21 {out}/part-"),
                writes("split -n l/3 f21 {out}/part-"), writes("csplit -s -f {out}/x f3 10 20")),
    "tee": on("text", writes(("bash", "-c", "tee '{out}/a' '{out}/b' < f4"))),
    "readlink": on(
        "binary",
        looks("readlink -f f3 f77 ../sim1/f4"),
        looks("realpath f3 f77 {data}/../sim1/f4"),
        looks("realpath --relative-to=/ f3"),
        reads(("bash", "-c", "readlink /proc/self/fd/0 < f3")),
        reads(("bash", "-c", "realpath /proc/self/fd/0 < f3")),
        reads(("bash", "-c", "ls -l /proc/self/fd/8 8< f3 | sed 's/.*->//'")),
    ),
    "test": on("binary", reads(("bash", "-c", """
        for t in -f -r -k -s; do /usr/bin/test $t /dev/stdin < f3; echo $t $?; done
        /usr/bin/test /dev/fd/7 -ef f3 7< f3; echo $?""")), looks(("bash", "-c", """
        for f in f1 f3 f4 f8 f55 f77 f404 notes.txt; do
          for t in -e -f -d -L -r -w -x -s -O -u -k; do
            /usr/bin/test $t $f; echo $f $t $?
          done
        done
        /usr/bin/test f8 -ef f9; echo $?
        /usr/bin/test f3 -nt f4; echo $?
        /usr/bin/test f4 -ot notes.txt; echo $?"""))),
    "stdbuf": on("text", reads("stdbuf -oL cut -f 1 f3 f4")),
    "timeout": on("text", reads("timeout 25 nice nohup cat f3 f4")),
    "df": on("binary", looks("df --output=source,fstype,target f3 f4 {data}")),
}
