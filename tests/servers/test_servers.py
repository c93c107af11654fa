"""The stand-ins for Anthropic and Google speak as their own clients read (README.md): a witness that is not ours.

What else stand-ins do is tested by what Viva does with it: tests/models, tests/judging, tests/cli/test_reasoning.py.
"""

from typing import Any

import pytest

from servers.fixtures import Serve

QUESTION = "Which of A, B, C and D is a stack?"
GOLD = {QUESTION: "B"}


@pytest.fixture
def stand(serve: Serve) -> Serve:
    """Start a stand-in: `stand("vllm", thinking=50)`; it knows the question above."""
    return lambda provider, **plan: serve("reasoning.py", provider=provider, gold=GOLD, **plan)


@pytest.mark.slow
@pytest.mark.peers("anthropic", "google.genai")
def test_the_vendors_own_clients_read_what_is_said(stand: Serve) -> None:
    import anthropic
    from google import genai

    server = stand("anthropic", redacted=True)
    turns: Any = [{"role": "user", "content": QUESTION}]
    with anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0) as client:
        adaptive: Any = {"type": "adaptive", "display": "summarized"}
        asked: Any = {"model": "claude-opus-5-5", "max_tokens": 9000, "thinking": adaptive, "messages": turns}
        whole = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        for reply in (whole, streamed):
            assert [block.type for block in reply.content] == ["thinking", "redacted_thinking", "text"]
            assert reply.usage.output_tokens_details is not None
            assert reply.usage.output_tokens_details.thinking_tokens == 3000
        assert client.models.retrieve("claude-opus-5-5").max_tokens == 128000
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs are not permitted"):
            client.messages.create(**asked, extra_body={"temperature": 0})
    server.control(provider="gemini")
    client_of_google = genai.Client(api_key="k", http_options={"base_url": server.root})
    config: Any = {"thinking_config": {"include_thoughts": True, "thinking_budget": 100}}
    parts = client_of_google.models.generate_content(model="gemini-2.5-flash", contents=QUESTION, config=config).parts
    assert parts is not None
    assert [(part.thought, len(part.text or "")) for part in parts] == [(True, 400), (None, 1)]
    cut = client_of_google.models.generate_content(
        model="gemini-2.5-pro", contents=QUESTION, config={"max_output_tokens": 50}
    )
    assert (cut.text, cut.usage_metadata and cut.usage_metadata.thoughts_token_count) == (None, 50)
