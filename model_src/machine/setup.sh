#!/bin/bash
# Sets up a machine of hosting.mode ec2: Python, the model, two services. The user data runs it once; it may run again.
#
# $SLIPWAY_HOME (default /opt/slipway) already holds inference_api/, generation/, machine/, log/ and the file
# `environment`: the services' variables as systemd reads them, one NAME=value a line, without quotes.
set -euo pipefail

export SLIPWAY_HOME="${SLIPWAY_HOME:-/opt/slipway}"
units=(slipway-model.service slipway-worker.service)

step() { echo "$(date -u +%FT%TZ) $*"; }

place() { # copies a file of machine/, with this machine's folder and log group in it
    sed -e "s|/opt/slipway|$SLIPWAY_HOME|g" -e "s|@LOG_GROUP@|$LOG_GROUP|g" "$SLIPWAY_HOME/machine/$1" >"$SLIPWAY_HOME/$1"
}

fail_with_log() { # model or worker
    echo "slipway-$1.service did not become ready. The end of its log:"
    tail -c 1000 "$SLIPWAY_HOME/log/$1.log"
    exit 1
}

while IFS= read -r line; do
    export "${line?}"
done < <(grep -E '^[A-Za-z_]+=' "$SLIPWAY_HOME/environment")

step "installing Amazon Linux's packages"
# With pip, because ensurepip may not come with Python.
dnf install -y -q python3.11 python3.11-pip amazon-cloudwatch-agent

step "sending the logs to $LOG_GROUP"
place cloudwatch-agent.json
amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c "file:$SLIPWAY_HOME/cloudwatch-agent.json"
systemctl enable amazon-cloudwatch-agent.service

step "installing torch for CPU and transformers"
python3.11 -m venv "$SLIPWAY_HOME/venv"
"$SLIPWAY_HOME/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --only-binary :all: \
    --require-hashes -r "$SLIPWAY_HOME/machine/torch.txt" -r "$SLIPWAY_HOME/machine/requirements.txt"

step "preparing the model $MODEL_ID"
# -P: import from PYTHONPATH, not from the working folder.
PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$SLIPWAY_HOME" "$SLIPWAY_HOME/venv/bin/python" -P -m generation.prepare

step "starting the services"
for user in slipway slipway-model; do
    id -u "$user" >/dev/null 2>&1 || useradd --system --no-create-home --shell /sbin/nologin "$user"
done
for unit in "${units[@]}"; do
    place "$unit"
    systemctl link "$SLIPWAY_HOME/$unit"
done
systemctl enable "${units[@]}"
# The worker starts last: its row takes the number of the machine that this one may replace.
systemctl restart slipway-model.service
curl -fsS --retry 300 --retry-delay 1 --retry-connrefused --retry-max-time 300 \
    "http://127.0.0.1:${MODEL_PORT:-8080}/ping" || fail_with_log model
worker_log="$SLIPWAY_HOME/log/worker.log"
touch "$worker_log"
earlier=$(wc -c <"$worker_log")
systemctl restart slipway-worker.service
for ((tries = 0; ; tries++)); do
    if tail -c "+$((earlier + 1))" "$worker_log" | grep '"state": "idle"' >/dev/null; then break; fi
    ((tries < 240)) || fail_with_log worker
    sleep 0.5
done

step "ready"
