#!/bin/sh
# with-memory.sh PROMPT COMMAND [ARGUMENT...]
#
# Gives any command-line model what memory holds on a prompt, and then the prompt, on standard input:
#
#   with-memory.sh "how do we roll back a deploy?" llm
#   with-memory.sh "how do we roll back a deploy?" ollama run llama3.2
#
# RECOLLECT_WORKSPACE names the folder with MEMORY.md and memory/ (default: the nearest one from the
# current folder up), RECOLLECT the program (recollect), BUDGET the most tokens that memory may take (800).
# Where memory cannot be asked, that is said on standard error and the prompt goes on alone.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: with-memory.sh PROMPT COMMAND [ARGUMENT...]" >&2
    exit 2
fi
prompt=$1
shift

memory=$("${RECOLLECT:-recollect}" recall --budget "${BUDGET:-800}" -- "$prompt") || memory=

{
    if [ -n "$memory" ]; then
        printf '%s\n\n' "$memory"
    fi
    printf '%s\n' "$prompt"
} | "$@"
