#!/bin/sh
# Answers one hook of Claude Code through `recollect hook`. Ends well whatever happens: a memory that
# is out of order must not stop a session. RECOLLECT names the program where it is not on PATH.
command=${RECOLLECT:-recollect}
if ! command -v "$command" >/dev/null 2>&1; then
    # Once a session is enough.
    [ "$1" = session-start ] && printf '%s\n' '{"systemMessage": "Recollect: the command recollect is not on PATH. Install it from its checkout, or name it in RECOLLECT."}'
    exit 0
fi
"$command" hook "$@" || {
    code=$?
    printf '{"systemMessage": "Recollect: `recollect hook %s` ended with code %s. `recollect doctor` tells more."}\n' "$1" "$code"
}
exit 0
