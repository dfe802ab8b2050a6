#!/bin/sh
# What the controller's container runs. A city that is on the volume is taken as it is; an empty volume gets one.
set -eu
city=/city
found=no
for file in city.yaml city.yml city.toml; do
  [ ! -e "$city/$file" ] || found=yes
done
[ "$found" = yes ] || gc init --template k8s --name "${GC_CITY_NAME:-city}" "$city"
exec gc start --foreground "$city"
