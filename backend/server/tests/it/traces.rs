//! Traces of turns, as a collector receives them from the real program.

use std::{sync::Arc, time::Duration};

use actix_web::{App, HttpResponse, HttpServer, dev::ServerHandle, web};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::any_value::Value,
    trace::v1::{Span, status::StatusCode},
};
use parking_lot::Mutex;
use prost::Message as _;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tokio::sync::oneshot;

use crate::support::{Engine, Program, TestApp, UNREACHABLE};

/// A collector on a free port. Dropping it stops it.
pub(crate) struct Collector {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<Vec<u8>>>>,
    handle: ServerHandle,
}

impl Drop for Collector {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let (started, ready) = oneshot::channel();
        std::thread::spawn(move || actix_web::rt::System::new().block_on(serve(started)));
        ready.await.expect("the collector starts")
    }

    /// Returns the bodies that were sent, unparsed.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.got.lock().concat()
    }

    fn spans(&self) -> Vec<Span> {
        let got = self.got.lock();
        let requests = got.iter().map(|body| ExportTraceServiceRequest::decode(&**body).expect("protobuf"));
        let resources = requests.flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

async fn serve(started: oneshot::Sender<Collector>) {
    let got = web::Data::new(Mutex::new(Vec::new()));
    let data = got.clone();
    let take = async |got: web::Data<Mutex<Vec<Vec<u8>>>>, body: web::Bytes| {
        got.lock().push(body.to_vec());
        HttpResponse::Ok().content_type("application/x-protobuf").finish()
    };
    let server = HttpServer::new(move || App::new().app_data(data.clone()).route("/v1/traces", web::post().to(take)))
        .workers(1)
        .disable_signals()
        .keep_alive(Duration::from_mins(1))
        .bind("127.0.0.1:0")
        .expect("a free port");
    let url = format!("http://{}", server.addrs()[0]);
    let server = server.run();
    let _ = started.send(Collector { url, got: got.into_inner(), handle: server.handle() });
    server.await.expect("the server ends without an error");
}

fn attribute(span: &Span, name: &str) -> String {
    let value = span.attributes.iter().find(|attribute| attribute.key == name);
    match value.and_then(|attribute| attribute.value.clone()).and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_one_trace_without_any_text() {
    let (model, collector) = (MockLlm::start().await.unwrap(), Collector::start().await);
    let engine = Engine::sqlite();
    let mut command = Program::command(&engine, &model);
    let app = TestApp::launch_command(&engine, command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url));
    let conversation = app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":"71733","b":"1"}"#), tool_call("divide", r#"{"a":1,"b":0}"#)]);
    model.reply([text("canary of the answer")]);
    app.send(&conversation, "canary of the question").await.all().await;
    // At its end, the program sends the spans that are still queued.
    app.process().signal("TERM");
    assert!(app.wait());

    let spans = collector.spans();
    let of = |operation: &str| -> Vec<&Span> {
        spans.iter().filter(|span| attribute(span, "gen_ai.operation.name") == operation).collect()
    };
    let (agents, chats, tools) = (of("invoke_agent"), of("chat"), of("execute_tool"));
    assert_eq!((agents.len(), chats.len(), tools.len(), spans.len()), (1, 2, 2, 5), "{spans:?}");
    let agent = agents[0];
    assert_eq!((agent.name.as_str(), agent.parent_span_id.is_empty()), ("invoke_agent tallybook", true));
    for span in chats.iter().chain(&tools) {
        assert_eq!((&span.trace_id, &span.parent_span_id), (&agent.trace_id, &agent.span_id), "{span:?}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
    }
    for chat in chats {
        assert_eq!(chat.name, format!("chat {}", attribute(chat, "gen_ai.request.model")));
        assert_eq!(attribute(chat, "gen_ai.provider.name"), "anthropic");
        assert!(attribute(chat, "gen_ai.usage.input_tokens").parse::<i64>().is_ok(), "{chat:?}");
    }
    let is_failed = |span: &Span| span.status.as_ref().is_some_and(|status| status.code() == StatusCode::Error);
    for (name, failed) in [("add", false), ("divide", true)] {
        let span = tools.iter().find(|span| attribute(span, "gen_ai.tool.name") == name).unwrap();
        assert_eq!((span.name.clone(), is_failed(span)), (format!("execute_tool {name}"), failed), "{span:?}");
    }
    let sent = collector.bytes();
    for word in ["canary", "71733", "sk-test-secret"] {
        assert!(!sent.windows(word.len()).any(|window| window == word.as_bytes()), "{word} was sent");
    }
}

/// If the collector is unreachable, the log has one line about it, and everything else works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_collector_blocks_nothing() {
    let model = MockLlm::start().await.unwrap();
    let (engine, folder) = (Engine::sqlite(), tempfile::tempdir().unwrap());
    let log = folder.path().join("log");
    let mut command = Program::command_after(&format!("exec 2>'{}'", log.display()), &engine, &model);
    let command = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{UNREACHABLE}"));
    let app = TestApp::launch_command(&engine, command);
    let conversation = app.create_conversation().await;
    model.reply([text("Yes.")]);
    app.send(&conversation, "Well?").await.all().await;
    app.process().signal("TERM");
    assert!(app.wait());
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("cannot send traces").count(), 1, "{log}");
    assert!(!log.contains("gen_ai") && !log.contains("ERROR"), "{log}");
}
