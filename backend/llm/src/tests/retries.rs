//! Tests of retries of model requests: which failures are retried, how often and how soon.

use std::{io, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tallybook_mock_llm::{MockLlm, Reply, cut, end_of_file, fault, text, thinking};
use tokio::time::timeout;

use super::{
    KEY, ModelError, ModelEvent, PROVIDERS, ProviderKind, RetryPolicy, UNREACHABLE, ask, client_with_retries, question,
};

/// Timeout after which a test fails.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Retries without delays.
const AT_ONCE: RetryPolicy = RetryPolicy { retries: 3, first_delay: Duration::ZERO, max_delay: Duration::ZERO };
/// Retries with delays that are longer than any test.
const FOR_EVER: RetryPolicy =
    RetryPolicy { retries: 3, first_delay: Duration::from_hours(9), max_delay: Duration::from_hours(9) };

/// Sends a request to a model with these scripted replies. Returns the text, the number of the last attempt, the error,
/// and the number of requests.
async fn asked(
    provider: ProviderKind,
    retries: RetryPolicy,
    replies: Vec<Reply>,
) -> (String, u32, Option<ModelError>, usize) {
    let model = MockLlm::start().await.unwrap();
    let scripted = replies.len();
    for reply in replies {
        model.reply(reply);
    }
    let client = client_with_retries(provider, &model.url(), retries);
    let answer = timeout(TIMEOUT, ask(&*client, question()));
    let (said, events, error) = answer.await.expect("the provider is not asked again");
    let attempts = events.iter().filter_map(|event| match event {
        ModelEvent::Attempt(attempt) => Some(*attempt),
        _ => None,
    });
    (said, attempts.max().unwrap_or(1), error, scripted - model.unused_replies())
}

fn named(name: &str) -> Reply {
    fault(name).unwrap()
}

fn answer() -> Reply {
    [text("Here I am.")].into()
}

#[tokio::test]
async fn statuses_408_409_429_5xx_and_529_are_retried() {
    for provider in PROVIDERS {
        for name in [
            "request_timeout",
            "conflict",
            "retry_after_ms",
            "server_error",
            "bad_gateway",
            "unavailable",
            "gateway_timeout",
            "overloaded",
        ] {
            let replies = vec![named(name), named(name), answer()];
            let (said, attempt, error, asked) = asked(provider, AT_ONCE, replies).await;
            assert!(error.is_none(), "{name}: {error:?}");
            assert_eq!((said.as_str(), attempt, asked), ("Here I am.", 3, 3), "{name}");
        }
    }
}

#[tokio::test]
async fn a_retry_is_reported_with_its_reason() {
    for provider in PROVIDERS {
        for (name, why) in [
            ("retry_after_ms", "model_busy"),
            ("unavailable", "model_busy"),
            ("overloaded_in_stream", "model_busy"),
            ("server_error", "model_failing"),
            ("bad_gateway", "model_failing"),
            ("cut_at_once", "model_bad_stream"),
        ] {
            let model = MockLlm::start().await.unwrap();
            model.reply(named(name));
            model.reply(answer());
            let (_, events, error) = ask(&*client_with_retries(provider, &model.url(), AT_ONCE), question()).await;
            let told = events.iter().find_map(|event| match event {
                ModelEvent::RetryIn(wait) => Some(wait.code),
                _ => None,
            });
            assert_eq!(told, Some(why), "{name}: {error:?}");
        }
    }
}

#[tokio::test]
async fn retries_stop_at_the_configured_maximum() {
    for provider in PROVIDERS {
        for retries in [0, 2] {
            let replies = std::iter::repeat_with(|| named("overloaded")).take(5).collect();
            let policy = RetryPolicy { retries, ..AT_ONCE };
            let (_, attempt, error, asked) = asked(provider, policy, replies).await;
            assert_eq!((attempt, asked), (retries + 1, retries as usize + 1));
            assert_eq!(
                error.unwrap().to_string(),
                "The model provider cannot answer right now (529: Overloaded). Try again in a moment."
            );
        }
    }
}

#[tokio::test]
async fn statuses_400_401_403_404_and_413_and_an_account_without_credit_are_final() {
    for provider in PROVIDERS {
        for (name, code) in [
            ("bad_request", "model_refused_request"),
            ("unauthorized", "model_auth"),
            ("forbidden", "model_refused_request"),
            ("unknown_model", "model_not_found"),
            ("too_large", "model_refused_request"),
            ("out_of_credit", "model_out_of_credit"),
            ("tools_unsupported", "model_without_tools"),
        ] {
            let reply = named(name).header("retry-after", "0");
            let (_, attempt, error, asked) = asked(provider, AT_ONCE, vec![reply, answer()]).await;
            assert_eq!((attempt, asked, error.unwrap().code()), (1, 1, code), "{name}");
        }
    }
}

#[tokio::test]
async fn retry_after_is_honored_and_milliseconds_come_first() {
    for provider in PROVIDERS {
        for headers in [
            vec![("retry-after-ms", "1")],
            vec![("retry-after", "0")],
            vec![("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")],
            vec![("retry-after", "3600"), ("retry-after-ms", "1.5")],
        ] {
            let busy = headers.iter().fold(Reply::fail(429, "{}"), |reply, (name, value)| reply.header(*name, *value));
            let (said, attempt, error, _) = asked(provider, FOR_EVER, vec![busy, answer()]).await;
            assert_eq!((said.as_str(), attempt), ("Here I am.", 2), "{headers:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_retry_after_beyond_a_minute_fails_at_once() {
    for provider in PROVIDERS {
        for (name, value) in [
            ("retry-after", "61"),
            ("retry-after", "60.001"),
            ("retry-after", "1000000000000000000000000000000"),
            ("retry-after", "1e999"),
            ("retry-after", "9".repeat(1000).as_str()),
            ("retry-after-ms", "60001"),
            ("retry-after-ms", "1000000000000000000000000000000"),
            ("retry-after", "Fri, 31 Dec 2100 23:59:59 GMT"),
            ("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"),
            ("retry-after", "Friday, 31-Dec-60 23:59:59 GMT"),
            ("retry-after", "Fri Dec 31 23:59:59 2060"),
        ] {
            let busy = Reply::fail(429, "{}").header(name, value);
            let (_, attempt, error, asked) = asked(provider, AT_ONCE, vec![busy, answer()]).await;
            assert_eq!((attempt, asked), (1, 1), "{value}");
            let said = error.unwrap().to_string();
            assert!(said.contains("the provider asks to wait"), "{said}");
        }
    }
}

#[tokio::test]
async fn overloaded_error_after_http_200_before_any_text_is_retried() {
    for provider in PROVIDERS {
        let (said, attempt, error, _) = asked(provider, AT_ONCE, vec![named("overloaded_in_stream"), answer()]).await;
        assert_eq!((said.as_str(), attempt), ("Here I am.", 2), "{error:?}");
        // Reasoning before the error does not prevent a retry.
        let reasoning = named("overloaded_after_thinking");
        let (said, attempt, error, _) = asked(provider, AT_ONCE, vec![reasoning, answer()]).await;
        assert_eq!((said.as_str(), attempt), ("Here I am.", 2), "{error:?}");
    }
}

#[tokio::test]
async fn overloaded_error_after_text_keeps_the_text_and_is_final() {
    for provider in PROVIDERS {
        let broken = named("overloaded_after_text");
        let (said, attempt, error, asked) = asked(provider, AT_ONCE, vec![broken, answer()]).await;
        assert_eq!((said.as_str(), attempt, asked), ("The beginning of an answer, ", 1, 1));
        assert_eq!(error.unwrap().code(), "model_busy");
    }
}

#[tokio::test]
async fn an_answer_that_is_aborted_before_any_text_is_retried() {
    for provider in PROVIDERS {
        let (said, attempt, error, _) = asked(provider, AT_ONCE, vec![named("cut_at_once"), answer()]).await;
        assert_eq!((said.as_str(), attempt), ("Here I am.", 2), "{error:?}");
        // The same applies if the body ends cleanly, with or without content.
        for nothing in [[end_of_file()].into(), Reply::raw_stream(""), [thinking("hm", "c2ln"), end_of_file()].into()] {
            let (said, attempt, error, _) = asked(provider, AT_ONCE, vec![nothing, answer()]).await;
            assert_eq!((said.as_str(), attempt), ("Here I am.", 2), "{error:?}");
        }
        // After text, the request is not retried.
        for begun in [[text("Well"), end_of_file()].into(), [text("Well"), cut()].into()] {
            let (said, attempt, error, asked) = asked(provider, AT_ONCE, vec![begun, answer()]).await;
            assert_eq!((said.as_str(), attempt, asked), ("Well", 1, 1), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_failed_connection_is_retried() {
    for provider in PROVIDERS {
        let client = client_with_retries(provider, UNREACHABLE, AT_ONCE);
        let (_, events, error) = ask(&*client, question()).await;
        let told: Vec<_> = events
            .iter()
            .map(|event| match event {
                ModelEvent::RetryIn(wait) => ("waits for", wait.attempt, wait.attempts, wait.code),
                ModelEvent::Attempt(attempt) => ("makes", *attempt, 4, "model_unreachable"),
                other => panic!("{other:?}"),
            })
            .collect();
        let attempt = |attempt| ["waits for", "makes"].map(|does| (does, attempt, 4, "model_unreachable"));
        assert_eq!((told, error.unwrap().code()), ([2, 3, 4].map(attempt).concat(), "model_unreachable"));
    }
}

#[tokio::test]
async fn stopping_ends_the_wait() {
    let model = MockLlm::start().await.unwrap();
    model.reply(named("overloaded"));
    model.reply(answer());
    let mut stream = client_with_retries(ProviderKind::Anthropic, &model.url(), FOR_EVER).stream(question());
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::RetryIn(_)))));
    let waiting = tokio::spawn(async move { stream.next().await });
    waiting.abort();
    assert!(timeout(TIMEOUT, waiting).await.unwrap().unwrap_err().is_cancelled());
    assert_eq!(model.unused_replies(), 1);
}

/// The captured log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn each_retry_is_logged_with_attempt_and_delay_and_without_the_key() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // `tracing` caches whether a message has a subscriber when the message is first written. That may have happened in
    // a parallel test, which has no subscriber. So the cache is rebuilt after the first request.
    asked(ProviderKind::Anthropic, AT_ONCE, vec![named("overloaded"), answer()]).await;
    tracing::callsite::rebuild_interest_cache();
    for provider in PROVIDERS {
        let body = format!("{{\"error\":{{\"message\":\"slow down, {KEY}\"}}}}");
        let busy = || Reply::fail(429, body.clone()).header("retry-after-ms", "7");
        asked(provider, AT_ONCE, vec![busy(), busy(), answer()]).await;
    }
    let said = log.text();
    for words in ["WARN", "attempt=1 attempts=4 delay_ms=7", "attempt=2 attempts=4 delay_ms=7", "slow down, [key]"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains(KEY), "{said}");
}
