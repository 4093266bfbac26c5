#!/bin/sh
# Index the sample workspace into a throw-away home and ask it a few questions.
# usage: demo.sh PATH-TO-RECOLLECT
set -eu
recollect=$1
here=$(cd "$(dirname "$0")" && pwd)
RECOLLECT_HOME=$(mktemp -d)
export RECOLLECT_HOME
trap 'rm -rf "$RECOLLECT_HOME"' EXIT

run() {
    printf '\n$ recollect'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9=./_-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$recollect" -w "$here/workspace" "$@"
}

run index
run search "what to do when a task seems impossible" -n 1
run search TCK-82152 -n 1
run search "谁负责数据库迁移" -n 1
run search "東京" -n 1
run search "how do we keep backups safe" -n 1 --explain
run search "the name of the captain of the spaceship" -n 1
run status
