"""Programs that pack, copy whole trees, or compare them."""
from case import copies, looks, on, reads, writes

PROGRAMS = {
    "tar": on(
        "binary",
        copies(("bash", "-c", "tar --xattrs --acls -cf - . | tar --xattrs -C '{out}' -xf -")),
        reads("tar -cf - --sort=name -C {data}/.. sim1"),
        reads("tar -cf - --format=posix --pax-option=delete=atime --xattrs {frames}"),
        reads("tar -cf - --one-file-system --dereference f3 f4 f9 f14 f77", links=1),
        reads("tar -czf - --hard-dereference {data}"),
        writes("tar -cf {out}/all.tar f1 f2 f3 f8 f9"),
    ),
    "cpio": on(
        "binary",
        reads(("bash", "-c", "printf '%s\\n' f* | cpio -o -H newc --quiet")),
        reads(("bash", "-c", "find . -print0 | sort -z | cpio -0 -o -H crc --quiet")),
        copies(("bash", "-c", "printf '%s\\n' f1? f8 f9 | cpio -pm --quiet '{out}'")),
    ),
    "rsync": on(
        "binary",
        copies("rsync -a {data}/ {out}"),
        copies("rsync -aXHS {data} {out}"),
        copies("rsync -aAXvi --no-human-readable --info=stats0,flist0 {data}/ {out}"),
        copies(("bash", "-c", "printf '%s\\n' f1? | rsync -ac --out-format='%i %n %M %l' "
                "--files-from=- . '{out}'")),
        copies(("bash", "-c", "rsync -a ./ '{out}' && rsync -aic ./ '{out}' && echo same")),
        copies(("bash", "-c", "cp -a . '{out}/x'; touch -hd @7 '{out}/x'/f*; "
                "rsync -aiI --no-whole-file ./ '{out}/x'")),
        looks("rsync --list-only {data}/"),
    ),
    "gzip": on("text", reads("gzip -c {frames}"), reads("gzip -1c f20 notes.txt f55", 2),
               reads(("bash", "-c", "gzip < f7"))),
    "zcat": on("gzip", reads("zcat {frames}"), reads("gzip -lv f20.gz f21.gz"),
               reads("gzip -t {frames} -v"), reads("zgrep -c alpha {frames}"),
               reads("gzip -dc f3.gz")),
    "bzip2": on("text", reads("bzip2 -c {frames}"), reads("bzip2 -9vc f20 f55", 1)),
    "xz": on("text", reads("xz -c {frames}"), reads("xz -T2 -ck f20 f55 f404", 1)),
    "zstd": on("text", reads("zstd -qc {frames}"),
               copies("zstd -qk --output-dir-flat {out} f3 f4 f20"),
               reads("zstd -q -T2 --long -c f20")),
    "zip": on("text", writes("zip -q -X {out}/all.zip f1 f2 f3 notes.txt"),
              reads("zip -q -rX - .", links=1)),
    "diff": on(
        "text",
        reads("diff f3 f4", 1),
        reads(("bash", "-c", "cp -a . '{out}/x' && diff -r . '{out}/x' && echo same; "
               "echo more >> '{out}/x/f5'; diff -r . '{out}/x'; rm -r '{out}/x'"), links=2),
        looks("diff -s f8 f9"),
    ),
    "cmp": on("binary", reads("cmp f3 f4", 1), reads("cmp -l -n 10 f3 f4", 1),
              reads(("bash", "-c", "cp -p f7 '{out}'; cmp f7 '{out}/f7' && echo same"))),
    "file": on("png", reads("file {frames}"), reads("file -i f3.png notes.txt f77 f03"),
               looks("file -b f55 f404")),
    "git": on(
        "text",
        reads("git hash-object {frames}"),
        reads("git diff --no-index --stat f3 f4", 1),
        copies(("bash", "-c", """
            export GIT_DIR='{out}/git' GIT_WORK_TREE=.
            git init -q && git add f1 f2 f3 f8 f9 notes.txt && git ls-files --debug -s &&
            git diff-files && git status --porcelain -uno; git write-tree; rm -r "$GIT_DIR" """)),
    ),
}
