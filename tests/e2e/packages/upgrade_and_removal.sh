#!/bin/sh
# Runs in a Debian 12 tree (packages_upgrade_while_a_job_reads.py). /packages has two versions.
set -eu
export DEBIAN_FRONTEND=noninteractive
fail() { echo "FAILED: $*"; exit 1; }
apt-get -qq update
apt-get -qq install -y --no-install-recommends /packages/old/*.deb >/packages/apt.log 2>&1 ||
  { tail -n 20 /packages/apt.log; fail "install"; }

mkdir -p /frames /etc/zazen /run/zazen /var/cache/zazen
for i in $(seq 0 19); do head -c 40000 /dev/urandom >/frames/f"$i"; done
cat >/etc/zazen/zazen.toml <<'END'
cache = "/var/cache/zazen"
runtime = "/run/zazen"
keep_free = "1%"
[[dataset]]
path = "/frames"
frames = "f{seq}"
END
start() { zazend --daemonize --config /etc/zazen/zazen.toml; }
stop() {
  pid=$(zazenctl status --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p')
  kill "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}
start
zazenctl push /frames >/dev/null
zazenctl doctor /bin/cat >/packages/doctor.log 2>&1 || { cat /packages/doctor.log; fail doctor; }

# The job reads all frames again and again, until the upgrade is over.
cat /frames/* | sha256sum >/packages/wanted
zazenctl run --quiet -- sh -c '
  until [ -e /packages/stop ]; do
    cat /frames/* | sha256sum | cmp -s - /packages/wanted || { echo other bytes; exit 1; }
    echo round >>/packages/rounds
  done' >/packages/job.log 2>&1 &
job=$!
rounds() { wc -l </packages/rounds 2>/dev/null || echo 0; }
await_rounds() {
  wanted=$(($(rounds) + 5))
  while [ "$(rounds)" -lt "$wanted" ]; do
    kill -0 $job || { cat /packages/job.log; fail "the job has ended"; }
    sleep 0.1
  done
}
await_rounds
python3 -c 'import zazen; assert len(zazen.own_frames("/frames")) == 20 and zazen.status()["healthy"]' ||
  fail "the Python package"
dpkg -i /packages/new/*.deb >/packages/dpkg.log 2>&1 || { cat /packages/dpkg.log; fail upgrade; }
await_rounds  # the old shim and the old daemon
stop
await_rounds  # no daemon
start
await_rounds  # the old shim and the new daemon
touch /packages/stop
wait $job || { cat /packages/job.log; fail "the job's status"; }
dpkg-query --show zazen zazend libbodhi-dev python3-zazen | grep -qv '0\.1\.1$' && fail "not upgraded"
zazenctl run --quiet -- sh -c 'cat /frames/* | sha256sum' | cmp - /packages/wanted
zazenctl status --json | grep -q '"hits": 0,' && fail "nothing was read from the cache"
stop

dpkg --remove zazend zazen libbodhi-dev python3-zazen >/packages/dpkg.log 2>&1
[ -e /var/cache/zazen/frames/f0 ] || fail "a removal took the copies"
dpkg --purge zazend zazen libbodhi-dev python3-zazen >/packages/dpkg.log 2>&1
[ -e /etc/zazen/zazen.toml ] || fail "the administrator's configuration is gone"
[ ! -e /var/cache/zazen ] || fail "the cache is left"
[ ! -e /run/zazen ] || fail "the runtime directory is left"
left=$(find / -xdev -path /packages -prune -o -path /proc -prune -o -path /etc/zazen -prune -o \
  \( -name '*zazen*' -o -name '*bodhi*' \) ! -path '*/apt/*' -print)
[ -z "$left" ] || fail "left: $left"
echo "all went well"
