#!/bin/bash
# First start of a machine of hosting.mode ec2: sets it up, and tells CloudFormation how that went.
# Renewal @RENEWAL@: another number makes another launch template, hence another machine.
export SLIPWAY_HOME="${SLIPWAY_HOME:-/opt/slipway}" AWS_REGION='@REGION@'
metadata="${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254}"
mkdir -p "$SLIPWAY_HOME/log"
cd "$SLIPWAY_HOME"

# In a subshell that no condition tests: there `set -e` ends at the first step that fails.
(
    set -euo pipefail
    cat >environment <<'END_OF_ENVIRONMENT'
@ENVIRONMENT@
END_OF_ENVIRONMENT
    tries=1  # IAM may not yet know that the role may read this archive
    until aws s3 cp --no-progress '@CODE@' machine.zip; do
        status=$?
        [ "$((tries++))" -lt 5 ] || exit "$status"
        sleep 5
    done
    python3 -m zipfile -e machine.zip .
    # Less than CloudFormation waits, which would not say why.
    left=$((@TIMEOUT@ - 60 - SECONDS))
    timeout -k 10 "$((left > 0 ? left : 1))" bash machine/setup.sh || {
        status=$?
        case $status in 124 | 137) echo "stopped: too slow for hosting.startup_timeout_in_seconds: @TIMEOUT@" ;; esac
        exit "$status"
    }
) >log/setup.log 2>&1 </dev/null
status=$?

token=$(curl -sS -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$metadata/latest/api/token")
instance=$(curl -sS -m 5 -H "X-aws-ec2-metadata-token: $token" "$metadata/latest/meta-data/instance-id")

# CloudFormation takes 4,096 bytes: 1,500 of the log, each escaped by at most one more.
python3 - "$status" "${instance:-machine-@NUMBER@}" "$SECONDS" >signal.json <<'END_OF_PROGRAM'
import json, re, sys

status, instance, seconds = sys.argv[1:]
with open("log/setup.log", "rb") as log:
    end = re.sub(rb"[^\n -~]", b"?", log.read()[-1500:]).decode()
failed = "The set-up of machine @NUMBER@ ended with status %s after %s s. The end of its log:\n%s" % (status, seconds, end)
signal = {
    "Status": "SUCCESS" if status == "0" else "FAILURE",
    "Reason": "Machine @NUMBER@ is set up" if status == "0" else failed,
    "UniqueId": instance,
    "Data": seconds + " s",
}
print(json.dumps(signal))
END_OF_PROGRAM
# Without a content type, as the address is signed.
curl -sS -m 30 --retry 8 -X PUT -H 'Content-Type:' --data-binary @signal.json '@SIGNAL_URL@'
exit "$status"
