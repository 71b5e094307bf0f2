import os

from openai import OpenAI

client = OpenAI(base_url=os.environ["TALLYBOOK_URL"] + "/v1", api_key=os.environ["TALLYBOOK_KEY"])
model = client.models.list().data[0].id
question = [{"role": "user", "content": "What is 0.1 + 0.2?"}]
answer = client.chat.completions.create(model=model, messages=question)
print(answer.choices[0].message.content)
