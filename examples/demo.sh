#!/bin/sh
# `make demo`: the main job on four recorded Mac Studios, then a real ring of four ranks here.
# Usage: demo.sh FOLDER-OF-THE-PROGRAMS; results go to ./demo.
set -eu
bin=$1
mkdir -p demo

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

say "distributed_config --from fixtures/four_studios -o demo/hostfile.json"
"$bin/distributed_config" --from fixtures/four_studios -o demo/hostfile.json

say "cat demo/hostfile.json"
cat demo/hostfile.json

say "distributed_config --from fixtures/four_studios --dot >demo/ring.dot"
"$bin/distributed_config" --from fixtures/four_studios --dot >demo/ring.dot 2>/dev/null
if command -v dot >/dev/null 2>&1; then
    say "dot -Tpng demo/ring.dot >demo/ring.png"
    dot -Tpng demo/ring.dot >demo/ring.png
    echo "The picture is demo/ring.png"
else
    echo "Install Graphviz to see the picture: brew install graphviz, or apt-get install graphviz"
fi

say "distributed_launch -n 4 examples/all_sum.py"
"$bin/distributed_launch" -n 4 examples/all_sum.py
