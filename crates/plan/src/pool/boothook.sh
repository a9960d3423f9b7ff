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
