"""If a program takes files[rank::size], the audit says which frames were lost. Without division all
are read."""
from nodes import Nodes
from processes import expect

ADVICE = ("zazen: each rank's listing showed only its own frames; a program that divides the list "
          "itself (files[rank::size], or lists on rank 0 and scatters) must run with "
          "ZAZEN_FILTER=off.")
STATUS = 'zazen: so the job\'s exit status is 120 (audit = "warn": only a message).'

with Nodes(4) as nodes:
    data = nodes.dataset(frames=1200, sizes=(100, 0, 333))
    nodes.start()
    nodes.push(data)
    for name, filtered_size in (("divide_the_list_c", None), ("scatter_the_list_c", 150)):
        job = nodes.mpirun(name, data)
        expect(job.status == 120, f"status {job.status}")
        job.check_bytes()
        read = {frame for output in job.ranks for frame in output.frames_read(data)}
        expect(0 < len(read) < 300, f"the filter was to lose frames here: {len(read)} were read")
        expect(filtered_size in (None, len(read)), f"{len(read)} frames were read")
        said = [line for line in job.stderr.splitlines() if line.startswith("zazen")]
        # Launchers bring the lines of different ranks in any order.
        warnings = [line for line in said if line.startswith("zazen: rank 1 opens ")]
        expect(len(warnings) == 1, f"no warning on the way: {job.stderr}")
        said.remove(warnings[0])
        lost = (f"zazen: {1200 - len(read):,} of 1,200 frames of {data.path} "
                "were not read by any rank.")
        expect(said == [lost, ADVICE, STATUS], f"the audit said {said}, not {[lost, ADVICE, STATUS]}")
        report = job.report
        expect(report["frames_listed"] == 1200 and report["frames_read"] == len(read)
               and report["frames_never_read"] == 1200 - len(read)
               and report["frames_read_twice"] == 0 and report["exactly_once"] is False
               and report["filtered"] is True and report["complete"] is True, f"{report}")

        job = nodes.mpirun(name, data, env={"ZAZEN_FILTER": "off"}).succeeded()
        job.check_bytes()
        job.check_silent()
        read = [frame for output in job.ranks for frame in output.frames_read(data)]
        expect(sorted(read) == sorted(data.frames), "without the filter all is read once")
        job.check_report(filtered=False, frames_listed=1200, frames_read=1200,
                         frames_never_read=0, frames_read_twice=0, exactly_once=True)
