"""Programs that change frames. A second program then reads the result, through the cache or past
it, and must see the change. f8 and f9 are left out: they are one file, and only checks, which are
off here (compare.py), find a change by the other name."""
from case import changes, on


def then_read(command):
    return changes(("bash", "-c", f"{command}; echo $?; cat f? f1?; stat -c '%n %a %s' f*"))


PROGRAMS = {
    "changed_by_bash": on("text", then_read("echo more >> f3; echo new > f4; : > f5; echo x > f30"),
                          then_read("exec 7<> f3; echo over >&7; cat <&7"),
                          then_read("read -r first < f3; printf '%s' \"$first\" > f3")),
    "changed_by_sed": on("text", then_read("sed -i s/alpha/omega/ f3 f4"),
                         then_read("sed -i.bak 1d f5")),
    "changed_by_perl": on("text", then_read("perl -pi -e 's/beta/delta/' f3 f4"),
                          then_read("perl -e 'truncate q(f5), 7; unlink q(f6)'")),
    "changed_by_mv": on("text", then_read("mv f3 f4"), then_read("mv f5 notes.txt"),
                        then_read("mv -n f6 f7; mv f1 f55; mv f55/f1 f2")),
    "changed_by_rm": on("text", then_read("rm f3 f4; cat f3 f4; rm f404"),
                        then_read("rm -r f[56]*; stat f5; wc f6"),
                        then_read("find . -name 'f2*' -delete; cat f2 f20")),
    "changed_by_cp": on("text", then_read("cp f3 f4"),
                        then_read("cp -p --remove-destination f5 f6"),
                        then_read("cp -lf f7 f1; cp -f f2 f3")),
    "changed_in_place": on("text", then_read("cat f3 >> f3; cp f4 f4; mv f6 f6"),
                           then_read("grep alpha f3 >> f3; dd if=f4 of=f4 conv=notrunc "
                                     "status=none")),
    "changed_by_dd": on("text", then_read("dd if=f3 of=f4 conv=notrunc status=none"),
                        then_read("dd if=/dev/zero of=f5 bs=10 seek=3 count=2 status=none")),
    "changed_by_truncate": on("text", then_read("truncate -s 10 f3 f4; truncate -s +10 f5")),
    "changed_by_touch": on("text", then_read("touch -d @5 f3; stat -c %Y f3"),
                           then_read("touch -hd @6 '{data}/f4' f77; stat -c %Y f4 f77")),
    "changed_by_chmod": on("text", then_read("chmod 600 f3; chmod -R u-x,g+w ."),
                           then_read("chown 7:8 f4; stat -c '%u %g' f4; ls -ln f4")),
    "changed_by_ln": on("text", then_read("ln f3 f30; ln -f f4 f5; ln -sf f6 f7")),
    "changed_by_setfattr": on("text", then_read("setfattr -n user.mark -v 1 f3; getfattr -d f3"),
                              then_read("setfattr -x user.experiment f3; getfattr -d f3"),
                              then_read("setfacl -m u:7:rwx f4; getfacl -p f4")),
    "changed_by_tar": on("text", then_read("tar -cf x.tar f3 f4; echo new > f3; tar -xf x.tar"),
                         then_read("tar --overwrite -xf <(tar -c --transform s/f5/f6/ f5)")),
    "changed_by_rsync": on("text", then_read("rsync -a --inplace f3 f4; rsync -aI f5 f6")),
    "changed_by_gzip": on("text", then_read("gzip f3; gzip -k f4; cat f3; zcat f3.gz | wc; "
                                            "gunzip f3.gz")),
    "changed_by_git": on("text", then_read("""
        export HOME='{out}' GIT_AUTHOR_DATE=@1 GIT_COMMITTER_DATE=@1
        git init -qb main && git add -A && git -c user.name=a -c user.email=b commit -qm one
        echo changed > f3; git status --porcelain; git diff --stat; git checkout -q f3
        git status --porcelain; rm -rf .git""")),
    "changed_by_python": on("text", then_read("""/usr/bin/python3 -c '
import os, pathlib, shutil
with open("f3", "r+") as f: f.write("over")
with open("f4", "a") as f: f.write("more"); f.flush(); print(len(open("f4").read()))
os.replace("f5", "f6"); os.truncate("f7", 5); pathlib.Path("f10").write_text("new")
fd = os.open("f11", os.O_RDWR); os.pwrite(fd, b"12345", 0); os.fchmod(fd, 0o600); os.close(fd)
shutil.move("f1", "f2"); print(sorted(os.listdir()))
'"""), then_read("""/usr/bin/python3 -c '
import os
fd = os.open("f4", os.O_RDONLY)
os.utime(fd, (6, 6)); os.fchmod(fd, 0o600); os.fchown(fd, 7, 8); os.setxattr(fd, "user.mark", b"1")
for name in (fd, "f4"):
    status = os.stat(name)
    print(os.listxattr(name), status.st_mode, status.st_uid, status.st_mtime)
'""")),
}
