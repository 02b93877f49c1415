#!/bin/sh
# Runs in a clean Debian root with the packages in /packages (tests/tests/attached/packages.rs): install, run the command of the unit as
# its user on a simulated fabric, import an OpenSM configuration, plan, take over, lose a link, upgrade, downgrade, purge. Each step prints
# a line; the first one that fails ends the script.
# shellcheck disable=SC2086  # commands in variables
set -eu
# Only what the packages install is used, and no program outlives the script.
unset FERROSM_ATTACH_LIB FERROSM_BIN
sim= opensm= service=
trap 'kill $sim $opensm $service 2>/dev/null || true' EXIT

step() { echo "== $*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
# Variables and not functions, so that `$!` is the program and not a shell that waits for it.
as_service="setpriv --reuid ferrosm --regid ferrosm --clear-groups --"
attached="ferrosm-simulator attach"
FERROSM_SIM_SOCKET=/run/sim/socket
export FERROSM_SIM_SOCKET
# Waits until a command succeeds.
until_true() {
    tries=0
    until "$@" >/tmp/last 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "$*: $(cat /tmp/last)"
        sleep 0.1
    done
}

step "install"
dpkg -i /packages/1/*.deb >/tmp/install 2>&1 || fail "dpkg -i: $(cat /tmp/install)"
[ "$(stat -c '%U %G %a' /etc/ferrosm/ferrosm.toml)" = "ferrosm ferrosm 600" ] || fail "$(stat /etc/ferrosm/ferrosm.toml)"
[ "$(stat -c '%U %G %a' /etc/ferrosm)" = "ferrosm ferrosm 750" ] || fail "$(stat /etc/ferrosm)"
ferrosm config check
[ -e /usr/share/man/man1/ferrosm-run.1.gz ] || fail "no manual page"
for unit in ferrosm.service ferrosm@.service; do
    exposure=$(systemd-analyze security --offline=yes "/usr/lib/systemd/system/$unit" 2>/dev/null | sed -n 's/.*level for.*: \([0-9.]*\) .*/\1/p')
    echo "$unit: exposure $exposure"
    awk -v e="$exposure" 'BEGIN { exit !(e != "" && e <= 3.0) }' || fail "exposure of $unit: $exposure"
done

step "import the configuration of OpenSM"
mkdir -p /etc/opensm
printf 'sm_priority 7\nsweep_interval 20\nrouting_engine updn\npartition_config_file /etc/opensm/partitions.conf\n' >/etc/opensm/opensm.conf
printf 'Default=0x7fff, ipoib : ALL=full;\nTenantA=0x8051 : 0x2c9000000000001=full;\n' >/etc/opensm/partitions.conf
ferrosm config import /etc/opensm/opensm.conf -o /tmp/ferrosm.toml || [ $? = 1 ] || fail "import"
grep -q '^priority = 7' /tmp/ferrosm.toml || fail "$(cat /tmp/ferrosm.toml)"
install -o ferrosm -g ferrosm -m 600 /tmp/ferrosm.toml /etc/ferrosm/ferrosm.toml
ferrosm config check

step "a simulated fabric, with OpenSM as master"
mkdir -p /run/sim /run/ferrosm /var/lib/ferrosm
chown ferrosm:ferrosm /run/sim /run/ferrosm /var/lib/ferrosm
$as_service ferrosm-simulator sim fat-tree:4 --socket /run/sim/socket >/tmp/sim.log 2>&1 &
sim=$!
until_true test -S /run/sim/socket
$attached --node "host-3-1-1 mlx5_0" -- opensm -e -f /tmp/opensm.log -F /etc/opensm/opensm.conf >/tmp/opensm.out 2>&1 &
opensm=$!
until_true grep -q 'SUBNET UP' /tmp/opensm.log

step "plan, while OpenSM is master"
$as_service $attached -- ferrosm plan >/tmp/plan 2>&1 || [ $? = 1 ] || fail "plan: $(cat /tmp/plan)"
cat /tmp/plan
grep -qi 'opensm\|other SM\|master' /tmp/plan || fail "the plan names no other SM: $(cat /tmp/plan)"

step "take over from OpenSM"
kill "$opensm"
wait "$opensm" || true
opensm=
run="$as_service $attached -- $(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/ferrosm.service)"
$run >/tmp/ferrosm.log 2>&1 &
service=$!
until_true ferrosm health
ferrosm status

step "a lost link, and why"
ferrosm-simulator sim-ctl 'cut "leaf-0-0"[3]'
until_true sh -c 'ferrosm links --problems | grep -q down'
ferrosm links --problems
ferrosm changes --since 5m
ferrosm-simulator sim-ctl 'restore "leaf-0-0"[3]'
until_true ferrosm health

step "upgrade to the next version"
before=$(ferrosm status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')
dpkg -i /packages/2/*.deb >/tmp/upgrade 2>&1 || fail "upgrade: $(cat /tmp/upgrade)"
[ "$(ferrosm status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')" = "$before" ] || fail "the upgrade stopped the service"
ferrosm upgrade check
kill "$service"
wait "$service" || true
$run >/tmp/ferrosm-2.log 2>&1 &
service=$!
until_true ferrosm health
# Nothing that the fabric notices: no LFT block is written, and no LID changes.
grep -o '"lft_blocks_written":[0-9]*\|"lids_written":[0-9]*' /tmp/ferrosm-2.log | sort -u | tee /tmp/written
[ "$(cat /tmp/written)" = '"lft_blocks_written":0
"lids_written":0' ] || fail "the restart wrote: $(cat /tmp/written) $(cat /tmp/ferrosm-2.log)"

step "a downgrade is refused"
if dpkg -i /packages/1/ferrosm_*.deb >/tmp/downgrade 2>&1; then fail "the downgrade was not refused"; fi
grep -q 'is older' /tmp/downgrade || fail "$(cat /tmp/downgrade)"
ferrosm health

step "purge"
kill "$service"
wait "$service" || true
kill "$sim"
wait "$sim" || true
sim= service=
dpkg --purge ferrosm ferrosm-simulator >/tmp/purge 2>&1 || fail "purge: $(cat /tmp/purge)"
left=$(find / -xdev \( -path /proc -o -path /tmp -o -path /packages -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \) -prune \
    -o -name '*ferrosm*' -print)
[ -z "$left" ] || fail "left: $left"
! getent passwd ferrosm || fail "the user is left"
step "done"
