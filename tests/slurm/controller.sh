#!/usr/bin/env bash
# A Slurm controller with one node on this machine, for tests: everything in one folder, no system service touched.
#
#   apt-get install slurmctld slurmd slurm-client munge
#   tests/slurm/controller.sh start FOLDER    then: export SLURM_CONF=FOLDER/slurm.conf
#   tests/slurm/controller.sh stop FOLDER
#
# Must run as root, because the node starts jobs for their users. PREFIX names a folder that the packages were unpacked
# into (dpkg -x) where they are not installed; then PATH and LD_LIBRARY_PATH must lead there too.
set -euo pipefail
action=${1:?start or stop} folder=${2:?the folder of the controller}
prefix=${PREFIX:-}
plugins=$prefix/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")/slurm-wlm

program() { # Debian calls them slurmd-wlm and links slurmd to that
  for name in "$prefix/usr/sbin/$1" "$prefix/usr/sbin/$1-wlm"; do
    [ -x "$name" ] && echo "$name" && return
  done
  echo "$1 is not installed: apt-get install slurmctld slurmd slurm-client munge" >&2
  exit 1
}

start() {
  mkdir -p "$folder"/{state,spool,munge}
  folder=$(cd "$folder" && pwd)
  chmod 755 "$folder" "$folder/munge"
  head -c 1024 /dev/urandom >"$folder/munge/key"
  chmod 600 "$folder/munge/key"
  "$(program munged)" --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  local host port
  host=$(hostname -s)
  port=$((20000 + RANDOM % 20000))
  cat >"$folder/slurm.conf" <<CONF
ClusterName=gotta
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
PluginDir=$plugins
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2
ReturnToService=2
JobRequeue=1
KillWait=5
MinJobAge=300
MaxArraySize=3
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
  export SLURM_CONF=$folder/slurm.conf
  "$(program slurmctld)" -c
  "$(program slurmd)" -c -d "$(program slurmstepd)"
  for _ in $(seq 60); do
    sinfo --noheader --format=%t 2>/dev/null | grep -qE '^(idle|mix|alloc)$' && echo "export SLURM_CONF=$SLURM_CONF" && return
    sleep 0.5
  done
  echo "the node did not come up; see $folder/slurmctld.log and $folder/slurmd.log" >&2
  exit 1
}

stop() {
  for name in slurmd slurmctld munge/; do
    local file=$folder/$name.pid
    [ "$name" = munge/ ] && file=$folder/munge/pid
    if [ -f "$file" ]; then kill "$(cat "$file")" 2>/dev/null || true; fi
  done
}

"$action"
