//! The floor: the least work with which a server in actix-web and reqwest can do a turn with a tool. It calls the
//! model, adds two numbers, calls the model again, and sends the deltas as events. It has no database, no accounts, and
//! no limits, and does not check its input.

use std::convert::Infallible;

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::listen::announce;

/// The model to call.
#[derive(Clone)]
struct Model {
    client: reqwest::Client,
    url: String,
}

#[derive(Deserialize)]
struct Turn {
    message: String,
}

/// Serves until this process is ended.
pub(crate) async fn serve(model: &str) -> Result<()> {
    let client = reqwest::Client::builder().tcp_nodelay(true).build()?;
    let model = Model { client, url: format!("http://{model}/v1/chat/completions") };
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(model.clone()))
            .route("/turn", web::post().to(turn))
            .route("/events", web::get().to(events))
    })
    .workers(1)
    .backlog(8192)
    .max_connections(100_000)
    .tcp_nodelay(true)
    .bind(("127.0.0.1", 0))
    .context("cannot listen")?;
    announce(*server.addrs().first().context("the server has no address")?)?;
    Ok(server.run().await?)
}

async fn turn(model: web::Data<Model>, turn: web::Json<Turn>) -> HttpResponse {
    match answer(&model, &turn.message).await {
        Ok(events) => HttpResponse::Ok().content_type("text/event-stream").streaming(events),
        Err(error) => HttpResponse::BadGateway().body(format!("{error:#}")),
    }
}

async fn events() -> HttpResponse {
    let hello = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b": idle\n\n")) });
    HttpResponse::Ok().content_type("text/event-stream").streaming(hello.chain(stream::pending()))
}

async fn answer(model: &Model, message: &str) -> Result<impl Stream<Item = Result<Bytes, Infallible>> + use<>> {
    let mut messages = vec![json!({"role": "user", "content": message})];
    let mut chunks = Box::pin(ask(model, &messages).await?);
    // The first chunk shows whether there is a tool call.
    let first = chunks.next().await.context("the model sent nothing")?;
    let call = first["choices"][0]["delta"]["tool_calls"][0].clone();
    if call.is_null() {
        return Ok(sse_chunks(stream::once(async { first }).chain(chunks).boxed_local()));
    }
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or_default())?;
    let sum = arguments["a"].as_f64().unwrap_or(0.0) + arguments["b"].as_f64().unwrap_or(0.0);
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": sum.to_string()}));
    while chunks.next().await.is_some() {}
    Ok(sse_chunks(ask(model, &messages).await?.boxed_local()))
}

/// Turns the deltas into events.
fn sse_chunks(chunks: impl Stream<Item = Value>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    chunks.filter_map(async |chunk: Value| {
        let text = chunk["choices"][0]["delta"]["content"].as_str()?;
        let event = format!("event: content_delta\ndata: {}\n\n", json!({"delta": text}));
        Some(Ok(Bytes::from(event)))
    })
}

/// Calls the model and returns the chunks.
async fn ask(model: &Model, messages: &[Value]) -> Result<impl Stream<Item = Value> + use<>> {
    let tools = json!([{"type": "function", "function": {"name": "add", "description": "Adds two numbers.",
        "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}}}]);
    let request = json!({"model": "m", "stream": true, "messages": messages, "tools": tools});
    let response = model.client.post(&model.url).json(&request).send().await?.error_for_status()?;
    let lines = Lines { body: Box::pin(response.bytes_stream()), buffer: Vec::new(), read: 0 };
    let datas = stream::unfold(lines, |mut lines| async move {
        loop {
            let line = lines.next().await?;
            if let Some(data) = line.strip_prefix("data: ").filter(|data| *data != "[DONE]")
                && let Ok(chunk) = serde_json::from_str(data)
            {
                return Some((chunk, lines));
            }
        }
    });
    Ok(datas)
}

/// Splits a body into lines.
struct Lines<S> {
    body: S,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were read.
    read: usize,
}

impl<S: Stream<Item = reqwest::Result<Bytes>> + Unpin> Lines<S> {
    async fn next(&mut self) -> Option<String> {
        loop {
            let rest = self.buffer.get(self.read..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let line = String::from_utf8_lossy(&rest[..end]).into_owned();
                self.read += end + 1;
                return Some(line);
            }
            self.buffer.drain(..self.read);
            self.read = 0;
            self.buffer.extend_from_slice(&self.body.next().await?.ok()?);
        }
    }
}
