#!/usr/bin/env bash
# Publish a post and sell it, with curl alone: the chain of `imprint dev` signs for its accounts.
#
#   examples/walk.sh [http://127.0.0.1:8000]
set -euo pipefail
service=${1:-http://127.0.0.1:8000}
alice=0x70997970C51812dc3A010C7d01b50e0d17dc79C8
bob=0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC

# field NAME…: a member of the JSON on standard input.
field() { python3 -c 'import json, sys; v = json.load(sys.stdin)
for n in sys.argv[1:]: v = v[int(n) if n.isdigit() else n]
print(v)' "$@"; }

node=$(curl -sS "$service/.well-known/imprint.json" | field chain rpc_url)

# ask METHOD PARAMS: the result of a JSON-RPC call.
ask() { curl -sS "$node" -d "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"$1\", \"params\": $2}" | field result; }

# sign ADDRESS ACTION: the typed data and its signature, as every write carries them.
sign() {
  local now type
  now=$(date +%s)
  type="${2^}File"
  salt='{"domain": {"name": "Imprint", "version": "1", "chainId": 31337},
    "types": {"EIP712Domain": [{"name": "name", "type": "string"},
        {"name": "version", "type": "string"}, {"name": "chainId", "type": "uint256"}],
      "'$type'": [{"name": "action", "type": "string"}, {"name": "nonce", "type": "string"},
        {"name": "timestamp", "type": "string"}]},
    "primaryType": "'$type'",
    "message": {"action": "'$2'", "nonce": "'$1_$now$RANDOM'", "timestamp": "'$now'"}}'
  signature=$(ask eth_signTypedData_v4 "[\"$1\", $salt]")
}

# log_in ADDRESS: a session of two hours.
log_in() {
  local message
  message="${service#http://} wants you to sign in with your Ethereum account:
$1


URI: $service
Version: 1
Chain ID: 31337
Nonce: $(date +%s%N)
Issued At: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
  signature=$(ask personal_sign "[\"0x$(printf %s "$message" | od -An -v -tx1 | tr -d ' \n')\", \"$1\"]")
  python3 -c 'import json, sys
print(json.dumps(dict(zip(("salt", "address", "signature"), sys.argv[1:]))))' \
    "$message" "$1" "$signature" > "$scratch/login"
  curl -sS "$service/auth/login" -H 'Content-Type: application/json' -d @"$scratch/login" | field token
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sign $alice create
cid=$(curl -sS "$service/create/group" -H 'Content-Type: application/json' \
  -d '{"salt": '"$salt"', "address": "'$alice'", "signature": "'$signature'", "content": "# Hello\n\nA first line, and a better second."}' \
  | field updatedUpload cid)
echo "Alice has a draft: $cid"

base64 -d > "$scratch/cover.png" <<< iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==
sign $alice publish
thumbnail=$(curl -sS "$service/publish/file?cid=$cid" -F "salt=$salt" -F "address=$alice" \
  -F "signature=$signature" -F 'hashtags=essays, hello' -F "file=@$scratch/cover.png" \
  | field thumbnailCid)
echo "Its thumbnail is $service/ipfs/$thumbnail"

# createPost((cid, title, thumbnail, description, price, hashtags)), price 0.01 ether.
marketplace=$(curl -sS "$service/.well-known/imprint.json" | field chain marketplace)
call=$(python3 - "$cid" "$thumbnail" <<'PYTHON'
import sys
word = lambda n: n.to_bytes(32, "big")
text = lambda t: word(len(t)) + t.encode().ljust(-(-len(t) // 32) * 32, b"\0")
parts = [text(sys.argv[1]), text("Hello"), text(sys.argv[2]), text(""), None, word(0)]
head, tail = b"", b""
for part in parts:
    head += word(10**16) if part is None else word(32 * len(parts) + len(tail))
    tail += part or b""
print("0x%s" % "9b466dcc" + (word(32) + head + tail).hex())
PYTHON
)
receipt=$(ask eth_sendTransaction '[{"from": "'$alice'", "to": "'$marketplace'", "data": "'$call'"}]')
echo "createPost() is transaction $receipt"

until curl -sS "$service/filesMetaData?cid=$cid" | grep -q '"status":"onchain"'; do sleep 0.2; done
post=$(curl -sS "$service/filesMetaData?cid=$cid" | field files 0 post_id)
echo "It is post $post now"

session=$(log_in $bob)
read_post() { curl -sS "$service/fileByPostId?user=$bob&postId=$post" -H "Authorization: Bearer $session"; }
echo "Bob may not read it yet: $(read_post | field code)"
buy=0x$(printf 'df58067d%064x' "$post")
ask eth_sendTransaction '[{"from": "'$bob'", "to": "'$marketplace'", "data": "'$buy'", "value": "0x2386f26fc10000"}]' > /dev/null
echo "Bob bought a token and reads: $(read_post | field content | tail -n 1)"
