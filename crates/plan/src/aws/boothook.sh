#cloud-boothook
#!/bin/sh
# Machine pool boot stub. cloud-init runs it on every boot, before its module stages.
# It registers the node labels each time and installs the bootstrap data once.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
export PATH

region=@region@
object=@object@
node_labels=@node_labels@
config=/etc/cloud/cloud.cfg.d/99-captf-bootstrap.cfg

scratch=
cleanup() {
  # shellcheck disable=SC2086 # a list of paths without blanks
  rm -f $scratch
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

fail() {
  echo "machine pool boot stub: $*" >&2
  exit 1
}

# Sets $new to an empty file beside $1, so that a rename replaces $1 in one step.
beside() {
  new=$(mktemp "${1%/*}/.machine-pool.XXXXXXXX")
  scratch="$scratch $new"
}

begin='# captf-node-labels begin'
end='# captf-node-labels end'

# Adds the labels to the kubelet's environment file $1. The image's own line stays: the last
# assignment wins, and ours repeats its value.
label_kubelet() {
  [ -d "${1%/*}" ] || return 0
  if [ -z "$node_labels" ]; then
    grep -qx "$begin" "$1" 2>/dev/null || return 0
  fi
  beside "$1"
  if [ -f "$1" ]; then
    sed "/^$begin\$/,/^$end\$/d" "$1" >"$new"
    [ -z "$(tail -c 1 "$new")" ] || echo >>"$new"
  fi
  if [ -n "$node_labels" ]; then
    args=$(sed -n 's/^KUBELET_EXTRA_ARGS=//p' "$new" | tail -n 1)
    case $args in
      '"'*'"')
        args=${args#?}
        args=${args%?}
        ;;
      "'"*"'")
        args=${args#?}
        args=$(printf '%s' "${args%?}" | sed 's/[\\"]/\\&/g')
        ;;
    esac
    {
      echo "$begin"
      printf 'KUBELET_EXTRA_ARGS="%s%s--node-labels=%s"\n' "$args" "${args:+ }" "$node_labels"
      echo "$end"
    } >>"$new"
  fi
  chmod 0644 "$new"
  mv -f "$new" "$1"
}

# Adds the labels to the RKE2 agent's own list; "+" appends to what is configured.
label_rke2() {
  if [ -z "$node_labels" ]; then
    rm -f "$1"
    return 0
  fi
  mkdir -p "${1%/*}"
  beside "$1"
  {
    echo 'node-label+:'
    echo "$node_labels" | tr ',' '\n' | sed 's/.*/  - "&"/'
  } >"$new"
  chmod 0644 "$new"
  mv -f "$new" "$1"
}

label_kubelet /etc/default/kubelet
label_kubelet /etc/sysconfig/kubelet
label_rke2 /etc/rancher/rke2/config.yaml.d/50-captf-node-labels.yaml

umask 077
# The installed payload marks an instance that has been through this.
if [ -s "$config" ]; then
  exit 0
fi

# cloud-init reads only *.cfg here, so the scratch files are never taken for configuration.
mkdir -p "${config%/*}"
beside "$config"
fetched=$new
beside "$config"
plain=$new

attempt=1
until aws s3 cp --only-show-errors --region "$region" "$object" "$fetched" >&2; do
  [ "$attempt" -lt 60 ] || fail "cannot fetch $object, gave up after $attempt attempts"
  attempt=$((attempt + 1))
  sleep 5
done

if [ "$(od -A n -t x1 -N 2 "$fetched" | tr -d ' \n')" = 1f8b ]; then
  gzip -d -c <"$fetched" >"$plain"
else
  cat "$fetched" >"$plain"
fi

# Only cloud-config can be read as configuration; a script or MIME message would be lost in silence.
line() {
  sed -n "$1{p;q;}" "$plain" | tr -d '\r'
}
kind=$(line 1)
case $kind in
  '## template: jinja'*) kind=$(line 2) ;;
esac
case $kind in
  '#cloud-config'*) ;;
  *) fail "$object is not cloud-config, nothing is installed" ;;
esac

chmod 0600 "$plain"
mv -f "$plain" "$config"
