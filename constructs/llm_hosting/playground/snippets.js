// Writes the same call as code to copy: curl, Python, and Python that signs.
import { streamOf } from "./requests.js";

/** The snippets of a request, { curl, python, boto3 }, that fit the API's authorization. They name a key and never show it. */
export function snippets({ body, streamed }, kind, config, url) {
  const hold = Math.min(25, config.longest_wait_in_seconds), asked = short(streamed ?? body);
  const path = streamed ? streamOf(kind, config) : config.jobs ? `jobs?wait=${hold}` : "generate";
  const own = config.signed_by_proxy ? "" : config.auth;  // the proxy signs, or adds the key
  const header = streamed ? "authorization" : "x-api-key", scheme = streamed ? "Bearer " : "";
  const curl = [
    `curl ${streamed ? "-N " : ""}-sS '${url}${path}'`,
    ...(own === "iam" ? [`--aws-sigv4 "aws:amz:${config.region}:execute-api"`,
      '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"', '-H "x-amz-security-token: $AWS_SESSION_TOKEN"'] : []),
    ...(own === "api-key" ? [`-H "${header}: ${scheme}$API_KEY"`] : []),
    "-H 'content-type: application/json'",
    `-d '${JSON.stringify(asked).replaceAll("'", "'\\''")}'`,
  ].join(" \\\n  ");
  const printing = streamed ? printsChunks(kind) : "print(json.load(urllib.request.urlopen(request)))\n";
  const secret = own === "api-key" ? `, "${header}": ${scheme && '"Bearer " + '}os.environ["API_KEY"]` : "";
  const python = `import json
${secret ? "import os\n" : ""}import urllib.request

body = ${literal(asked)}
headers = {"content-type": "application/json"${secret}}
request = urllib.request.Request("${url}${path}", json.dumps(body).encode(), headers)
${printing}`;
  const boto3 = `import json
import urllib.request

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

body = json.dumps(${literal(asked)}).encode()
signed = AWSRequest("POST", "${config.api_url ?? url}${path}", {"content-type": "application/json"}, body)
SigV4Auth(boto3.Session().get_credentials(), "execute-api", "${config.region}").add_auth(signed)
request = urllib.request.Request(signed.url, body, dict(signed.headers))
${printing}`;
  return { curl, ...(own !== "iam" && { python }), ...(config.auth === "iam" && { boto3 }) };
}

/** The body with the beginning of each picture in its place. */
function short(body) {
  const cut = (_, value) => (typeof value === "string" && value.startsWith("data:") ? `${value.slice(0, 30)}...` : value);
  return JSON.parse(JSON.stringify(body, cut));
}

function printsChunks(kind) {
  const text = kind === "chat" ? 'choice["delta"].get("content") or ""' : 'choice["text"]';
  return `for line in urllib.request.urlopen(request):
    if line.startswith(b"data: {"):
        for choice in json.loads(line[6:]).get("choices", []):
            print(${text}, end="", flush=True)
print()
`;
}

function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`).join(", ")}}`;
}
