import os

from openai import OpenAI

client = OpenAI(base_url=os.environ["TALLYBOOK_URL"] + "/v1", api_key=os.environ["TALLYBOOK_KEY"])
model = client.models.list().data[0].id
question = [{"role": "user", "content": "What is 0.1 + 0.2?"}]
for chunk in client.chat.completions.create(model=model, messages=question, stream=True):
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
print()
