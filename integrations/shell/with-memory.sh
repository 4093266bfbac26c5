#!/bin/sh
# with-memory.sh PROMPT COMMAND [ARGUMENT...]
#
# Pipes what memory holds about a prompt, then the prompt, into any command-line model:
#
#   with-memory.sh "how do we roll back a deploy?" llm
#   with-memory.sh "how do we roll back a deploy?" ollama run llama3.2
#
# RECOLLECT_WORKSPACE is the folder with MEMORY.md and memory/ (default: the current folder or its nearest parent that has one),
# RECOLLECT the program (recollect), BUDGET the most tokens that memory may take (800).
# If memory cannot be searched, the error goes to standard error and the prompt is passed on alone.
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
