"""Calls a gateway with the official Python SDKs: one call a line as JSON on stdin, one result a line on stdout.

Arguments: the gateway's URL and an API key. A call: {"sdk", "model", "stream", "retries", "timeout", "url", "key"},
all but the first two optional. A result: {"texts", "seconds", "error"}, the error null or its classes and fields.
"""

import json
import sys
import time

import anthropic
import openai

MESSAGES = [{"role": "user", "content": "Why do rivers bend?"}]


def call_openai(call, options, texts):
    client = openai.OpenAI(base_url=f"{call['url']}/v1", **options)
    answer = client.chat.completions.create(model=call["model"], messages=MESSAGES, stream=call["stream"])
    if not call["stream"]:
        texts.append(answer.choices[0].message.content)
        return
    for chunk in answer:
        if chunk.choices and chunk.choices[0].delta.content:
            texts.append(chunk.choices[0].delta.content)


def call_anthropic(call, options, texts):
    client = anthropic.Anthropic(base_url=call["url"], **options)
    answer = client.messages.create(
        model=call["model"], messages=MESSAGES, max_tokens=200, stream=call["stream"]
    )
    if not call["stream"]:
        texts.append(answer.content[0].text)
        return
    for event in answer:
        if event.type == "content_block_delta":
            texts.append(event.delta.text)


def describe(error):
    return {
        "classes": [each.__name__ for each in type(error).__mro__],
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "requestId": getattr(error, "request_id", None),
        "message": str(error),
    }


def run(call):
    options = {"api_key": call["key"], "max_retries": call["retries"], "timeout": call["timeout"]}
    texts = []
    error = None
    started = time.monotonic()
    try:
        (call_openai if call["sdk"] == "openai" else call_anthropic)(call, options, texts)
    except Exception as caught:
        error = describe(caught)
    return {"texts": texts, "seconds": time.monotonic() - started, "error": error}


url, key = sys.argv[1:]
defaults = {"url": url, "key": key, "stream": False, "retries": 0, "timeout": 20}
for line in sys.stdin:
    print(json.dumps(run({**defaults, **json.loads(line)})), flush=True)
