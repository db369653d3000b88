#!/bin/sh
# In the build of an OS image: fails the build when the image would boot without its driver. ROOT is the image's root
# file system, mounted; nothing in it is run.
#
#   image-ci.sh ROOT
exec /usr/local/bin/gpuskew-agent check --next-boot --expect-gpu --host-root "${1:?the root of the image}" \
  --state-directory /nonexistent
