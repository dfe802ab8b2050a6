#!/bin/sh
# Ready when this pod's controller has the city: one that waits for the lease is not.
exec gc --city /city status --json | grep -Eq '"running": ?true'
