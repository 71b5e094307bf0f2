# The peer in Python: LangGraph's loop of model and tools behind FastAPI, with checkpoints in SQLite. It runs the same turn as
# the other peers, as its documentation shows.

import argparse
import asyncio
import json
import socket
import uuid
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel


@tool
def add(a: float, b: float) -> float:
    """Adds two numbers."""
    return a + b


class Turn(BaseModel):
    message: str


def build(model_address: str, database: str) -> FastAPI:
    model = ChatOpenAI(model="m", base_url=f"http://{model_address}/v1", api_key="none", streaming=True, max_retries=0)
    model = model.bind_tools([add])

    async def answer(state: MessagesState) -> dict:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", answer)
    graph.add_node("tools", ToolNode([add]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")

    @asynccontextmanager
    async def open_database(app: FastAPI):
        async with AsyncSqliteSaver.from_conn_string(database) as saver:
            app.state.agent = graph.compile(checkpointer=saver)
            yield

    app = FastAPI(lifespan=open_database)

    @app.post("/turn")
    async def turn(turn: Turn) -> StreamingResponse:
        config = {"configurable": {"thread_id": str(uuid.uuid4())}}
        given = {"messages": [{"role": "user", "content": turn.message}]}

        async def events():
            async for chunk, _ in app.state.agent.astream(given, config, stream_mode="messages"):
                if isinstance(chunk, AIMessageChunk) and isinstance(chunk.content, str) and chunk.content:
                    yield f"event: content_delta\ndata: {json.dumps({'delta': chunk.content})}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    @app.get("/events")
    async def idle() -> StreamingResponse:
        async def events():
            yield ": idle\n\n"
            await asyncio.Event().wait()

        return StreamingResponse(events(), media_type="text/event-stream")

    return app


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--model", required=True)
    options.add_argument("--database", required=True)
    options = options.parse_args()
    listener = socket.create_server(("127.0.0.1", 0), backlog=8192)
    server = uvicorn.Server(uvicorn.Config(build(options.model, options.database), log_level="error", backlog=8192))
    print(f"Listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    server.run(sockets=[listener])


main()
