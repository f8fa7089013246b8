#!/usr/bin/env bash
# Keeps a piece of the peer on the machine: piece.sh FOLDER, which prepare.sh --peer made; no result
set -euo pipefail
pieces=${PIECES:-/tmp/pieces}
mkdir -p "$pieces"
cp "$1"/piece-* "$pieces/"
ls -l "$pieces"
