# What the scenarios share; bash reads it before each command.

# watching COMMAND...: starts a watch, whose lines `lines` takes one by one.
watching() {
  exec 3< <(exec "$@" 2>&1)
  watcher=$!
  trap 'kill "$watcher" 2>/dev/null' EXIT
}

# lines N: the next N lines of the watch.
lines() {
  local line
  for ((; $1 > 0; )); do
    IFS= read -r -t 20 -u 3 line || { echo "no line within 20 s"; return 1; }
    printf '%s\n' "$line"
    set -- $(($1 - 1))
  done
}

# lines_after COMMAND: runs COMMAND, a growing number appended, until the watch tells of it. A watch
# that shows only changes says nothing when it starts.
lines_after() {
  local beat=0 line
  until "${@:1:$#-1}" "${!#}$((++beat))" >/dev/null && IFS= read -r -t 1 -u 3 line; do :; done
}

# line_like PATTERN: the next line of the watch that is like it.
line_like() {
  local line
  while IFS= read -r -t 20 -u 3 line; do
    # shellcheck disable=SC2053
    [[ $line == $1 ]] && { printf '%s\n' "$line"; return; }
  done
  echo "no line like $1 within 20 s"
}

# widget NAME REPLICAS: a manifest.
widget() {
  cat <<EOF
apiVersion: example.com/v1
kind: Widget
metadata:
  name: $1
spec:
  replicas: $2
EOF
}

# configmap NAME KEY=VALUE...: a manifest.
configmap() {
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n' "$1"
  shift
  local pair
  for pair; do printf '  %s: "%s"\n' "${pair%%=*}" "${pair#*=}"; done
}

# node NAME LABEL: a manifest.
node() { printf 'apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {%s}}\n' "$1" "${2/=/: }"; }

# pod NAME NODE APP: a manifest.
pod() {
  printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: %s}}\n' "$1" "$3"
  printf 'spec: {nodeName: %s, containers: [{name: c, image: i}]}\n' "$2"
}

# owned NAME WIDGET: a ConfigMap that a Widget owns.
owned() {
  local uid
  uid=$(kubectl get widget "$2" -o jsonpath='{.metadata.uid}')
  configmap "$1" a=1 | sed "s/^metadata:/&\n  ownerReferences:\n  - {apiVersion: example.com\/v1, kind: Widget, name: $2, uid: $uid, blockOwnerDeletion: true}/"
}

# labelled NAME LABEL, finalized NAME FINALIZER: a Widget that has one.
labelled() { widget "$1" 1 | sed "s/^metadata:/&\n  labels: {${2/=/: }}/"; }
finalized() { widget "$1" 1 | sed "s|^metadata:|&\n  finalizers: [$2]|"; }

# csr NAME SIGNER USAGE: a manifest.
csr() {
  local request
  request=$(openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/O=team/CN=$1" -keyout key.pem 2>/dev/null | base64 -w0)
  printf 'apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: %s}\n' "$1"
  printf 'spec: {signerName: %s, usages: [%s], request: %s}\n' "$2" "$3" "$request"
}

# event NAME TYPE REASON MESSAGE: a manifest of an event about widget w of this namespace.
event() {
  local now namespace uid
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  namespace=$(kubectl config view --minify -o jsonpath='{..namespace}')
  uid=$(kubectl get widget w -o jsonpath='{.metadata.uid}')
  cat <<EOF
apiVersion: v1
kind: Event
metadata: {name: $1}
involvedObject: {apiVersion: example.com/v1, kind: Widget, name: w, namespace: $namespace, uid: $uid}
type: $2
reason: $3
message: $4
source: {component: turner}
count: 1
firstTimestamp: $now
lastTimestamp: $now
EOF
}
