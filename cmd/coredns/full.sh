#!/usr/bin/env bash
# Builds CoreDNS with all of its own plugins and meshvip, by the way that CoreDNS
# has for plugins of others: a line in its plugin.cfg. The sources are those of
# the version that go.mod requires, out of the module cache, and this checkout.
#
#   full.sh OUTPUT
set -euo pipefail

output=$(realpath -m "$1")
ours=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$ours"
theirs=$(go list -m -f '{{.Dir}}' github.com/coredns/coredns)
[[ -n $theirs ]] || { go mod download github.com/coredns/coredns; theirs=$(go list -m -f '{{.Dir}}' github.com/coredns/coredns); }
version=$(git describe --always --dirty 2>/dev/null || echo dev)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$theirs/." "$work"
chmod -R u+w "$work"
cd "$work"
# Before hosts, as in the slim build: after all that guards, caches and rewrites.
sed -i 's#^hosts:hosts$#meshvip:github.com/meshvip/coredns-meshvip/plugin/meshvip\n&#' plugin.cfg
grep -q '^meshvip:' plugin.cfg || { echo "plugin.cfg of $theirs has no line hosts:hosts to stand before" >&2; exit 1; }
go mod edit -require=github.com/meshvip/coredns-meshvip@v0.0.0 -replace="github.com/meshvip/coredns-meshvip=$ours"
export GOFLAGS=-mod=mod
go generate coredns.go
go build -buildvcs=false -ldflags "-X github.com/coredns/coredns/coremain.GitCommit=meshvip-$version" -o "$output" .
"$output" -plugins | grep -x meshvip >/dev/null || { echo "$output does not have the plugin" >&2; exit 1; }
echo "$output has all of CoreDNS's plugins, and meshvip"
