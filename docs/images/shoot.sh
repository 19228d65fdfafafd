#!/usr/bin/env bash
# Makes the README's pictures from frames of the real dashboard: runs the demo
# in tmux at a fixed size, captures what the terminal shows, and draws it as
# SVG. Needs tmux and npx (svg-term-cli). Run it from the project's root.
set -euo pipefail
out=docs/images
tmux="tmux -L veltui-shoot"
svg_term=${SVG_TERM:-npx --yes svg-term-cli@2.1.1}

shoot() { # name: the present screen as an asciicast with one event, drawn as SVG
  $tmux capture-pane -t shoot -e -p | python3 -c '
import json, sys
width, height = int(sys.argv[1]), int(sys.argv[2])
text = sys.stdin.read().rstrip("\n").replace("\n", "\r\n")
print(json.dumps({"version": 2, "width": width, "height": height, "env": {"TERM": "xterm-256color"}}))
print(json.dumps([0.1, "o", "\x1b[?25l" + text]))
print(json.dumps([1.0, "o", ""]))' 96 26 >"$out/$1.cast"
  $svg_term --in "$out/$1.cast" --out "$out/$1.svg" --window --no-cursor --at 500
  rm "$out/$1.cast"
}

wait_for() { until $tmux capture-pane -t shoot -p | grep -q -- "$1"; do sleep 0.2; done; }

trap '$tmux kill-server 2>/dev/null || true' EXIT
$tmux new-session -d -s shoot -x 96 -y 26 "bin/veltui demo"
wait_for "crm-rollback"
wait_for "Volumes" # until the stage is well filled
sleep 20
shoot dashboard
$tmux send-keys -t shoot Enter
wait_for "Overview"
shoot job
$tmux send-keys -t shoot f
wait_for "enter type the name" # the dialog listens
shoot finalize
$tmux send-keys -t shoot Escape
$tmux send-keys -t shoot q
