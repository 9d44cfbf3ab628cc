"""A process of a job that lists a dataset before MPI_Init, or without MPI, sees the frames of all
ranks. Where division is required the process ends there. Otherwise it is warned if every rank reads
all, and the job's status says so."""
from nodes import MPIRUN, Nodes
from processes import expect, run

REQUIRE = {"ZAZEN_FILTER": "require"}

with Nodes(2) as nodes:
    data = nodes.dataset(frames=80, sizes=(100,))
    warned = nodes.dataset(frames=80, sizes=(100,), name="warned", keys='audit = "warn"')
    other = nodes.dataset(frames=4, name="other", keys="filter = false")
    nodes.start()
    nodes.push(data)
    nodes.push(warned)

    def launch(*words, ranks=2, **env):
        return run([MPIRUN, "-n", ranks, *words], dict(nodes.env, **nodes.shim(nodes[0]), **env))

    def listing(way, path=data.path):
        return ["/usr/bin/python3", "-c", {
            "listdir": "import os, sys; print(len(os.listdir(sys.argv[1])))",
            "scandir": "import os, sys; print(len(list(os.scandir(sys.argv[1]))))",
            "fts": "import os, sys; os.system('find %s -name f1 | head -1' % sys.argv[1])",
            "fd": "import os, sys; print(len(os.listdir(os.open(sys.argv[1], os.O_RDONLY))))",
        }[way], path]

    ended = f"it lists {data.path} before MPI_Init"
    # Without MPI: each of several processes would see all.
    for way in ("listdir", "scandir", "fd"):
        done = launch(*listing(way), **REQUIRE)
        expect(done.status != 0 and ended in done.stderr and done.stdout.strip() not in ("86", "87"),
               f"{way}: {done}")
    done = launch("ls", data.path, **REQUIRE)
    expect(done.status != 0 and ended in done.stderr and "f1\n" not in done.stdout, f"{done}")
    # Alone, without `require`, switched off, or another directory: as without Zazen.
    for env in ({}, {"ZAZEN_FILTER": "off"}, {"ZAZEN_DISABLE": "1", **REQUIRE}):
        done = launch(*listing("listdir"), **env).succeeded()
        expect(done.stderr == "" and len(set(done.stdout.split())) == 1, f"{env}: {done}")
    for words in (listing("listdir"), ["ls", data.path]):
        expect(launch(*words, ranks=1, **REQUIRE).succeeded().stderr == "", "one process")
        alone = run(words, dict(nodes.env, **nodes.shim(nodes[0]), **REQUIRE)).succeeded()
        expect(alone.stderr == "", f"{alone}")
    expect(launch("ls", other.path, **REQUIRE).succeeded().stderr == "", "filter = false")
    expect(launch("ls", "/", **REQUIRE).succeeded().stderr == "", "no dataset")

    # An MPI program that lists first.
    def job(how, env=None, data=data):
        return nodes.mpirun("list_first.py", data, after=[how], env=env, ranks=[2, 1])
    early = job("all", REQUIRE)
    expect(early.status != 0 and ended in early.stderr, f"{early.stderr}")
    expect(early.ranks == [None] * 3, "nothing was written")
    for how in ("all", "shuffled"):
        for read in (data, warned):
            early = job(how, data=read)
            expect(all(len(rank.read) == 80 for rank in early.ranks), "every rank read all")
            expect(early.status == (120 if read is data else 0), f"{how}: {early.status} {early.stderr}")
            expect(f"rank 0 listed {read.path} before MPI_Init, so it saw the frames of all ranks; 80 "
                   "frames were read by several ranks" in early.stderr, f"{how}: {early.stderr}")
            expect(("exit status is 120" in early.stderr) == (read is data), f"{how}: {early.stderr}")
            expect((f"rank 1 reads the frames of all ranks of {read.path}" in early.stderr) ==
                   (how == "all"), f"{how}: {early.stderr}")
    for how in ("every", "reference"):  # list[rank::size] of such a list is right
        job(how).succeeded().check_silent()
    job("unused").check_exactly_once()       # Python itself may list the directory
    # A child of a divided rank has the rank's view.
    nodes.mpirun("list_first.py", data, after=["child"], env=REQUIRE).succeeded().check_silent()
