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

@label_functions@

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
