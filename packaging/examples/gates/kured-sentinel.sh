#!/bin/sh
# kured reboots a node when its sentinel command exits 0. This one does so only when a reboot is wanted and the GPU
# survives it; install it on the hosts as /usr/local/bin/gpuskew-kured-sentinel and start kured with
#
#   --reboot-sentinel-command=/usr/local/bin/gpuskew-kured-sentinel
#
# (kured runs it in the host's namespaces.) A host that does not reboot says why in kured's log.
test -e /var/run/reboot-required || exit 1
exec /usr/local/bin/gpuskew-agent check --next-boot
