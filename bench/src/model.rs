//! The model that all measured servers call: streaming OpenAI Chat Completions, at the pace that the question sets,
//! with a mark in each delta. The rest of a delta is constant.

use std::convert::Infallible;

use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::{listen::announce, workload::Workload};

/// The tool call that the model requests first.
const CALL: &str = concat!(
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","#,
    r#""content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}}]},"#,
    r#""finish_reason":null}]}"#,
    "\n\n",
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "\n\ndata: [DONE]\n\n",
);

/// Like [`CALL`], with a second call. The note goes between the two parts.
const CALLS: (&str, &str) = (
    concat!(
        r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","#,
        r#""content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":1,\"b\":2}"}},"#,
        r#"{"index":1,"id":"call_2","type":"function","function":{"name":"witness__note","arguments":"{\"what\":\""#,
    ),
    concat!(
        r#"\"}"}}]},"finish_reason":null}]}"#,
        "\n\n",
        r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n",
    ),
);

/// The text of a delta goes between these parts.
const DELTA: (&str, &str) = (
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":""#,
    "\"},\"finish_reason\":null}]}\n\n",
);

/// The end of an answer.
const END: &str = concat!(
    r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "\n\ndata: [DONE]\n\n",
);

/// Serves until this process is ended.
pub(crate) async fn serve(port: u16) -> Result<()> {
    let server = HttpServer::new(|| {
        App::new()
            .app_data(web::PayloadConfig::new(64 * 1024 * 1024))
            .route("/v1/chat/completions", web::post().to(answer))
            .route("/chat/completions", web::post().to(answer))
            .route("/idle", web::get().to(idle))
    })
    .workers(1)
    .backlog(8192)
    .max_connections(100_000)
    .tcp_nodelay(true)
    .bind(("127.0.0.1", port))
    .context("cannot listen")?;
    announce(*server.addrs().first().context("the server has no address")?)?;
    Ok(server.run().await?)
}

async fn answer(body: String) -> HttpResponse {
    let Some(asked) = Workload::find(&body) else {
        return HttpResponse::BadRequest().body("this model answers only questions of the bench");
    };
    let mut response = HttpResponse::Ok();
    response.content_type("text/event-stream");
    if asked.uses_tool && !body.contains("tool_call_id") {
        let (before, after) = CALLS;
        return match Workload::find_note(&body) {
            Some(note) => response.body(format!("{before}{note}{after}")),
            None => response.body(CALL),
        };
    }
    response.streaming(deltas(asked))
}

/// A stream that sends nothing but one comment.
async fn idle() -> HttpResponse {
    let nothing = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b": idle\n\n")) });
    HttpResponse::Ok().content_type("text/event-stream").streaming(stream::StreamExt::chain(nothing, stream::pending()))
}

fn deltas(asked: Workload) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let Workload { tokens, gap, .. } = asked;
    let mut pace = (!gap.is_zero()).then(|| {
        let mut pace = interval_at(Instant::now() + gap, gap);
        pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
        pace
    });
    if let Some(pace) = &mut pace {
        pace.reset_immediately();
    }
    stream::unfold((0, pace), move |(sent, mut pace)| async move {
        if sent > tokens {
            return None;
        }
        if sent == tokens {
            return Some((Ok(Bytes::from_static(END.as_bytes())), (sent + 1, pace)));
        }
        if let Some(pace) = &mut pace {
            pace.tick().await;
        }
        let (before, after) = DELTA;
        let delta = format!("{before}{}{after}", asked.token(sent));
        Some((Ok(Bytes::from(delta)), (sent + 1, pace)))
    })
}
