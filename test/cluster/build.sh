#!/usr/bin/env bash
# build.sh [NAME...]: build the programs of a Kubernetes control plane from their Go modules.
#
# Names: etcd kube-apiserver kube-controller-manager kubectl; none = all four. They go to the cache folder
# ${XDG_CACHE_HOME:-~/.cache}/weir/kube/VERSION, outside the repository; VERSION is that of mod/k8s/go.mod. A program is
# built again only when its go.mod, its go.sum, its flags or the Go version change. The first build takes some 10
# minutes on 2 cores and loads some 150 MB of modules, all of them pinned by mod/*/go.sum.
#
# build.sh pin VERSION: write mod/k8s/go.mod and go.sum for another Kubernetes version, as `build.sh pin 1.35.4`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false

command -v go >/dev/null || {
  echo 'build.sh: the Go toolchain is missing; install the Go version that test/cluster/mod/etcd/go.mod names' >&2
  exit 1
}

if [ "${1:-}" = pin ]; then
  # k8s.io/kubernetes requires its staging modules at v0.0.0 and replaces them by folders of its own repository;
  # outside of that each needs a replace to v0.MINOR.PATCH.
  version=${2:?VERSION}
  cd "$here/mod/k8s"
  rm -f go.mod go.sum
  upstream=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  {
    echo 'module weir.dev/cluster/k8s'
    echo
    grep '^go ' "$upstream"
    echo
    echo 'replace ('
    sed -n "s#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) v0.0.0\$#\t\1 => \1 v0.${version#1.}#p" "$upstream"
    echo ')'
  } >go.mod
  tools=
  for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
    tools="$tools k8s.io/kubernetes/cmd/$name@v$version"
  done
  # shellcheck disable=SC2086 # one word a tool
  go get -tool $tools
  exit
fi

version=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' "$here/mod/k8s/go.mod")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/weir/kube/${version#v}
mkdir -p "$folder"

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

for name in ${*:-etcd kube-apiserver kube-controller-manager kubectl}; do
  flags='-s -w'
  tags=
  case $name in
  etcd) module=etcd package=go.etcd.io/etcd/server/v3 ;;
  kube-apiserver | kube-controller-manager | kubectl)
    module=k8s package=k8s.io/kubernetes/cmd/$name
    # Without these the server says v0.0.0-master+$Format:%H$, and kubectl cannot tell its version.
    minor=${version#v1.}
    for x in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
      flags="$flags -X $x.gitVersion=$version -X $x.gitMajor=1 -X $x.gitMinor=${minor%%.*}"
    done
    ;;
  *)
    echo "build.sh: unknown program $name" >&2
    exit 2
    ;;
  esac
  key=$(cat "$here/mod/$module/"* <(cd "$here/mod/$module" && go version) <(echo "$flags $package$tags") | sha256 | cut -c1-16)
  [ "$(cat "$folder/.$name.key" 2>/dev/null)" = "$key" ] && [ -x "$folder/$name" ] && continue
  started=$SECONDS
  echo "building $name; the first time takes minutes" >&2
  (cd "$here/mod/$module" && go build -tags "$tags" -ldflags "$flags" -o "$folder/.$name.new" "$package")
  mv "$folder/.$name.new" "$folder/$name"
  echo "$key" >"$folder/.$name.key"
  echo "$name: $((SECONDS - started)) s, $(($(wc -c <"$folder/$name") / 1000000)) MB" >&2
done
