#!/bin/sh
# Answers one Claude Code hook with `recollect hook`. Always exits with 0: a broken memory must not stop
# a session. RECOLLECT names the program if it is not on PATH.
command=${RECOLLECT:-recollect}
if ! command -v "$command" >/dev/null 2>&1; then
    # Say it once per session.
    [ "$1" = session-start ] && printf '%s\n' '{"systemMessage": "Recollect: the command recollect is not on PATH. Install it from its checkout, or set RECOLLECT to its path."}'
    exit 0
fi
"$command" hook "$@" || {
    code=$?
    printf '{"systemMessage": "Recollect: `recollect hook %s` failed with code %s. Run `recollect doctor`."}\n' "$1" "$code"
}
exit 0
