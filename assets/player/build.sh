#!/bin/sh
# Bundle the player into bundle.js. An installed esbuild, d3-hierarchy and gifenc are used when NODE_PATH
# names their node_modules folder; otherwise the pinned ones of package.json are installed here.
# Usage: build.sh [output file]
set -eu
cd "$(dirname "$0")"
modules="${NODE_PATH:-node_modules}"
if [ ! -x "$modules/.bin/esbuild" ]; then
    npm install --no-package-lock --no-audit --no-fund --silent
    modules=node_modules
fi
exec "$modules/.bin/esbuild" src/index.js --bundle --minify --format=iife --target=es2022 \
    --charset=utf8 --loader:.css=text --legal-comments=none --log-level=warning \
    --outfile="${1:-bundle.js}"
