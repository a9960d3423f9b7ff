#!/bin/sh
# Machine pool boot hook. cloud-init runs it on every boot, before its module stages.
# It writes the cloud provider's file once and registers the node labels each time.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin
export PATH

captf_node_labels=@node_labels@
cloud_provider_config=@cloud_provider_config@

scratch=
cleanup() {
  # shellcheck disable=SC2086 # a list of paths without blanks
  rm -f $scratch
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

node_labels=$captf_node_labels

@label_functions@

# What a payload or an earlier boot has written stays.
provider=/etc/kubernetes/azure.json
if [ ! -e "$provider" ]; then
  mkdir -p -m 0755 "${provider%/*}"
  beside "$provider"
  printf '%s\n' "$cloud_provider_config" >"$new"
  chmod 0644 "$new"
  mv -f "$new" "$provider"
fi
