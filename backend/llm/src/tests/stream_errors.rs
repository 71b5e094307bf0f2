//! Tests of errors that a server sends in the stream after HTTP 200, in the forms that servers use. An answer with such
//! an error never counts as complete, whatever end mark follows.

use tallybook_mock_llm::{MockLlm, Reply, text};

use super::{ModelError, ProviderKind, RetryPolicy, ask, client_with_retries, question};

/// Retries without delays.
const AT_ONCE: RetryPolicy =
    RetryPolicy { retries: 1, first_delay: std::time::Duration::ZERO, max_delay: std::time::Duration::ZERO };

const SAID: &str = r#"data: {"choices":[{"index":0,"delta":{"content":"The beginning"}}]}"#;
const DONE: &str = "data: [DONE]";

fn stream(frames: &[&str]) -> Reply {
    Reply::raw_stream(format!("{}\n\n", frames.join("\n\n")))
}

/// Returns the text, the error, and the number of requests.
async fn played(provider: ProviderKind, reply: Reply) -> (String, Option<ModelError>, usize) {
    let model = MockLlm::start().await.unwrap();
    model.reply(reply);
    model.reply([text("Here I am.")]);
    let (said, _, error) = ask(&*client_with_retries(provider, &model.url(), AT_ONCE), question()).await;
    (said, error, model.requests().len())
}

#[tokio::test]
async fn an_error_frame_of_a_chat_completions_server_is_never_a_finished_answer() {
    for (frame, code) in [
        // vLLM, older and newer.
        (
            r#"data: {"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#,
            "model_refused_request",
        ),
        (
            r#"data: {"error":{"message":"m","type":"BadRequestError","param":null,"code":400}}"#,
            "model_refused_request",
        ),
        (r#"data: {"object":"error","message":"m","type":"InternalServerError","code":500}"#, "model_failing"),
        (r#"data: {"object":"error","message":"m","type":"NotFoundError","code":404}"#, "model_not_found"),
        // OpenAI.
        (r#"data: {"error":{"message":"m","type":"server_error","param":null,"code":null}}"#, "model_failing"),
        (r#"data: {"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}}"#, "model_busy"),
        (r#"data: {"error":{"message":"m","type":"invalid_request_error","code":null}}"#, "model_refused_request"),
        // OpenRouter.
        (
            r#"data: {"id":"g","error":{"code":429,"message":"m"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
            "model_busy",
        ),
        // text-generation-inference.
        (r#"data: {"error":"m","error_type":"overloaded"}"#, "model_busy"),
        // Groq and others set the event name.
        ("event: error\ndata: {\"error\":{\"message\":\"m\",\"type\":\"internal_server_error\"}}", "model_failing"),
        ("event: error\ndata: {\"message\":\"m\",\"code\":\"503\"}", "model_busy"),
        ("event: error\ndata: m", "model_bad_stream"),
        (r#"data: {"type":"error","message":"m","code":"novelty"}"#, "model_bad_stream"),
        (r#"data: {"object":"error"}"#, "model_bad_stream"),
        (r#"data: {"error":{"code":1e999,"message":"m"}}"#, "model_bad_stream"),
        // Gemini.
        (r#"data: [{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]"#, "model_busy"),
        // MiniMax, Alibaba, SiliconFlow, FastAPI, gateways.
        (r#"data: {"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}"#, "model_out_of_credit"),
        (r#"data: {"code":"InvalidParameter","message":"m","request_id":"r"}"#, "model_bad_stream"),
        (r#"data: {"code":429,"message":"m","data":null}"#, "model_busy"),
        (r#"data: {"detail":"m"}"#, "model_bad_stream"),
        (r#"data: {"errors":[{"message":"m"}]}"#, "model_bad_stream"),
        // The text says more than the code.
        (
            r#"data: {"error":{"message":"This model's maximum context length is 4096 tokens.","code":null}}"#,
            "model_context_too_long",
        ),
    ] {
        let (said, error, asked) = played(ProviderKind::OpenAi, stream(&[SAID, frame, DONE])).await;
        let error = error.unwrap_or_else(|| panic!("{frame} counts as complete"));
        assert_eq!((said.as_str(), error.code(), asked), ("The beginning", code, 1), "{frame}: {error}");

        // Before any text, the request is retried if that is likely to help.
        let (said, error, asked) = played(ProviderKind::OpenAi, stream(&[frame, DONE])).await;
        match code {
            "model_busy" | "model_failing" => {
                assert_eq!((said.as_str(), asked), ("Here I am.", 2), "{frame}: {error:?}");
            }
            code => assert_eq!((error.map(|error| error.code()), asked), (Some(code), 1), "{frame}"),
        }
    }
}

#[tokio::test]
async fn an_error_frame_of_a_messages_server_is_never_a_finished_answer() {
    let end = r#"data: {"type":"message_stop"}"#;
    for (frame, code) in [
        (r#"data: {"type":"error","error":{"type":"invalid_request_error","message":"m"}}"#, "model_refused_request"),
        (r#"data: {"error":{"message":"m","type":"InternalServerError","code":500}}"#, "model_failing"),
        (r#"data: {"object":"error","message":"m","type":"ServiceUnavailableError","code":503}"#, "model_busy"),
        ("event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"m\"}", "model_busy"),
        ("event: error\ndata: m", "model_bad_stream"),
    ] {
        let start = r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hm"}}"#;
        let (said, error, asked) = played(ProviderKind::Anthropic, stream(&[start, frame, end])).await;
        let error = error.unwrap_or_else(|| panic!("{frame} counts as complete"));
        assert_eq!((said.as_str(), error.code(), asked), ("Hm", code, 1), "{frame}: {error}");
    }
}

#[tokio::test]
async fn fields_that_mean_no_error_are_ignored() {
    for field in [
        r#""error":null"#,
        r#""error":false"#,
        r#""error":"""#,
        r#""error":{}"#,
        r#""error":[]"#,
        r#""base_resp":{"status_code":0,"status_msg":""}"#,
        r#""code":0,"message":"ok""#,
        r#""detail":null,"errors":[]"#,
    ] {
        let chunk = format!("data: {{{field},\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"Fine.\"}}}}]}}");
        let (said, error, asked) = played(ProviderKind::OpenAi, stream(&[&chunk, DONE])).await;
        assert_eq!((said.as_str(), asked), ("Fine.", 1), "{field}: {error:?}");
        assert!(error.is_none(), "{field}: {error:?}");
    }
}
