#!/usr/bin/env bash
# in-network.sh COMMAND...: run a command in a network of its own, where every address of 10.77.0.0/24 is the machine's.
#
# EndpointSlices refuse loopback addresses, so a fleet of gateway processes that one must name needs addresses of
# another kind, one a gateway; in a network namespace those touch nothing of the machine. The command sees TEST_NETWORK
# (10.77.0). There is no way out of that network. Needs Linux and root or unprivileged user namespaces.
set -eu
user=
[ "$(id -u)" = 0 ] || user='--user --map-root-user'
# shellcheck disable=SC2086 # two words or none
exec unshare --net $user -- sh -c '
  ip link set lo up
  ip address add 10.77.0.1/24 dev lo
  TEST_NETWORK=10.77.0 exec "$@"
' in-network "$@"
