# shellcheck shell=bash
# The parts of a control plane in $dir, for kube-up, kube-down and kube-restart: each is a program that leads its own
# session, started by $dir/run/PART, noted in $dir/pids/PART.pid as "pid start-time", logging to $dir/log/PART.log.

parts=(etcd kube-apiserver kube-controller-manager kube-scheduler)

# When the process $1 started, in ticks since boot; nothing when it is gone or a zombie. A pid alone is used again.
start_of() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" {print $20}'; }

is_running() {
  local pid started
  [[ -r $dir/pids/$1.pid ]] && read -r pid started <"$dir/pids/$1.pid" && [[ $(start_of "$pid") == "$started" ]]
}

# Writes the command line after the part's name $1 down as $dir/run/$1.
write_part() {
  local part=$1
  shift
  {
    echo '#!/bin/bash'
    printf 'cd %q && exec' "$dir"
    printf ' %q' "$@"
    echo
  } >"$dir/run/$part"
  chmod 700 "$dir/run/$part"
}

start_part() {
  setsid "$dir/run/$1" >>"$dir/log/$1.log" 2>&1 </dev/null &
  echo "$! $(start_of $!)" >"$dir/pids/$1.pid"
}

# Ends the part $1 and what it started: with the signal $2 (TERM), after ten seconds with KILL.
stop_part() {
  local pid started tick
  if is_running "$1"; then
    read -r pid started <"$dir/pids/$1.pid"
    kill "-${2:-TERM}" -- "-$pid" 2>/dev/null || true
    for ((tick = 0; tick < 300; ++tick)); do
      [[ $(start_of "$pid") == "$started" ]] || break
      ((tick != 200)) || kill -KILL -- "-$pid" 2>/dev/null || true
      sleep 0.05
    done
    if ((tick == 300)); then
      echo "$1 (pid $pid) does not end" >&2
      return 1
    fi
  fi
  rm -f "$dir/pids/$1.pid"
}

# Asks the server of the part $1 at the path $2, without a login or with the curl arguments after them.
ask() {
  local part=$1 path=$2
  shift 2
  # shellcheck source=/dev/null
  source "$dir/ports"
  local url=https://127.0.0.1
  case $part in
    etcd) url=http://127.0.0.1:$etcd_port ;;
    kube-apiserver) url+=:$apiserver_port ;;
    kube-controller-manager) url+=:$controller_manager_port ;;
    kube-scheduler) url+=:$scheduler_port ;;
  esac
  curl --silent --fail --noproxy '*' --max-time 5 --cacert "$dir/pki/ca.crt" "$@" "$url$path"
}

answers() {
  local path=/healthz
  case $1 in
    etcd) path=/health ;;
    kube-apiserver) path=/readyz ;;
  esac
  ask "$1" "$path" >/dev/null
}

# Waits until the command after the part $1 and the words for it, $2, succeeds; fails when the part ends or at $wait_s.
wait_for() {
  local part=$1 what=$2 deadline=$((SECONDS + wait_s))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! is_running "$part" || ((SECONDS >= deadline)); then
      echo "no $what within $wait_s s; the last lines of $dir/log/$part.log:" >&2
      tail -n 15 "$dir/log/$part.log" >&2
      return 1
    fi
    sleep 0.1
  done
}
