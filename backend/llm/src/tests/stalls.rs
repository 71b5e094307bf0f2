//! Tests of the three waits of a model request, each with its own timeout. Client and server share one runtime with a
//! paused clock. The clock advances when all tasks are idle, so the tests do not really wait.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    time::{Instant, sleep, timeout},
};

use super::{
    ModelClient, ModelError, ModelEvent, ModelSettings, PROVIDERS, ProviderKind, RetryPolicy, ask, connect, question,
    settings,
};

/// Creates a client with the default timeouts: 10 s for connecting, 60 s for each silence.
fn client(provider: ProviderKind, address: impl std::fmt::Display) -> Arc<dyn ModelClient> {
    connect(&settings(provider, &format!("http://{address}"))).unwrap()
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

/// Accepts a connection and reads the first byte of the request, which shows that a request was sent.
async fn taken(listener: &TcpListener) -> TcpStream {
    let (mut connection, _) = listener.accept().await.unwrap();
    connection.read_exact(&mut [0]).await.unwrap();
    connection
}

/// Much less than the timeout of silence.
const SOON: Duration = Duration::from_secs(10);

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// Asserts that the client times out if a server sends `answer` and then nothing more.
async fn assert_silence_ends(provider: ProviderKind, answer: &[u8]) {
    let listener = listener().await;
    let client = client(provider, listener.local_addr().unwrap());
    let server = async {
        let mut connection = taken(&listener).await;
        connection.write_all(answer).await.unwrap();
        std::future::pending::<()>().await;
    };
    let asked = ask(&*client, question());
    let (_, _, error) = tokio::select! { () = server => unreachable!(), asked = asked => asked };
    assert!(matches!(error, Some(ModelError::Timeout { seconds: 60 })), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stall_while_connecting() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(0).unwrap();
    let address = full.local_addr().unwrap();
    // Once these connections fill the queue, later connections get no response.
    let mut queue = Vec::new();
    while let Ok(connection) = timeout(Duration::from_secs(1), TcpStream::connect(address)).await {
        queue.push(connection.unwrap());
    }
    for provider in PROVIDERS {
        let (_, _, error) = ask(&*client(provider, address), question()).await;
        let Some(ModelError::Unreachable { source, .. }) = &error else { panic!("{error:?}") };
        assert!(source.is_timeout() && source.is_connect(), "{source:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_before_headers() {
    for provider in PROVIDERS {
        assert_silence_ends(provider, b"").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_between_chunks() {
    for provider in PROVIDERS {
        assert_silence_ends(provider, &[HEAD, b": one keep-alive\n\n"].concat()).await;
    }
}

/// Pings and comments only show that the connection is alive.
#[tokio::test(start_paused = true)]
async fn a_ping_starts_the_idle_timer_over() {
    for provider in PROVIDERS {
        let listener = listener().await;
        let client = client(provider, listener.local_addr().unwrap());
        let server = async {
            let mut connection = taken(&listener).await;
            connection.write_all(HEAD).await.unwrap();
            for sign in [": hello\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n"].repeat(3) {
                // This happens six times, so the total time is far beyond the timeout.
                sleep(Duration::from_secs(40)).await;
                connection.write_all(sign.as_bytes()).await.unwrap();
            }
            connection.shutdown().await.unwrap();
        };
        let ((), (_, _, error)) = tokio::join!(server, ask(&*client, question()));
        // The client read the stream until the server closed it, although the answer was incomplete.
        assert_eq!(error.unwrap().code(), "model_bad_stream");
    }
}

/// A proxy may have dropped the request, so the client retries it, as after a 529.
#[tokio::test(start_paused = true)]
async fn a_model_that_is_silent_from_the_start_is_retried() {
    for provider in PROVIDERS {
        for beginning in [&b""[..], &[HEAD, b": one keep-alive\n\n"].concat()] {
            let listener = listener().await;
            let settings = settings(provider, &format!("http://{}", listener.local_addr().unwrap()));
            let retries = RetryPolicy { retries: 1, ..RetryPolicy::default() };
            let client = connect(&ModelSettings { retries, ..settings }).unwrap();
            let server = async {
                let mut silent = taken(&listener).await;
                silent.write_all(beginning).await.unwrap();
                let mut second = taken(&listener).await;
                second.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                std::future::pending::<()>().await;
            };
            let asked = ask(&*client, question());
            let (_, events, error) = tokio::select! { () = server => unreachable!(), asked = asked => asked };
            let [ModelEvent::RetryIn(wait), ModelEvent::Attempt(2)] = events.as_slice() else { panic!("{events:?}") };
            assert_eq!((wait.code, error.unwrap().code()), ("model_timeout", "model_auth"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_falls_silent_after_text_is_not_retried() {
    let listener = listener().await;
    let settings = settings(ProviderKind::OpenAi, &format!("http://{}", listener.local_addr().unwrap()));
    let client = connect(&ModelSettings { retries: RetryPolicy::default(), ..settings }).unwrap();
    let server = async {
        let mut connection = taken(&listener).await;
        let word = b"data: {\"choices\":[{\"delta\":{\"content\":\"Well\"}}]}\n\n";
        connection.write_all(&[HEAD, word].concat()).await.unwrap();
        std::future::pending::<()>().await;
    };
    let asked = ask(&*client, question());
    let (said, events, error) = tokio::select! { () = server => unreachable!(), asked = asked => asked };
    assert_eq!((said.as_str(), events.len()), ("Well", 0));
    assert_eq!(error.unwrap().code(), "model_timeout");
}

/// Returns a stream with a stop reason, but without an end mark.
fn finished(provider: ProviderKind) -> String {
    if provider == ProviderKind::Anthropic {
        return "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Done.\"}}\n\n\
                data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
            .to_owned();
    }
    "data: {\"choices\":[{\"delta\":{\"content\":\"Done.\"}}]}\n\n\
     data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        .to_owned()
}

/// Without a time limit, the client would read as long as the server sends pings.
#[tokio::test(start_paused = true)]
async fn an_answer_with_a_stop_reason_is_complete_despite_endless_pings() {
    for provider in PROVIDERS {
        let listener = listener().await;
        let client = client(provider, listener.local_addr().unwrap());
        let server = async {
            let mut connection = taken(&listener).await;
            connection.write_all(HEAD).await.unwrap();
            connection.write_all(finished(provider).as_bytes()).await.unwrap();
            while connection.write_all(b"event: ping\ndata: {\"type\": \"ping\"}\n\n").await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        };
        let (asked_at, asked) = (Instant::now(), timeout(Duration::from_hours(1), ask(&*client, question())));
        let ((), asked) = tokio::join!(server, asked);
        assert!(asked_at.elapsed() < SOON, "the answer does not wait for the timeout of silence");
        let (said, events, error) = asked.expect("the answer is complete");
        assert!(matches!(events.last(), Some(ModelEvent::Ended { .. })) && error.is_none(), "{events:?} {error:?}");
        assert_eq!(said, "Done.");
    }
}

/// The client counts usage that is sent within the grace period.
#[tokio::test(start_paused = true)]
async fn usage_may_follow_the_finish_reason_on_an_open_connection() {
    for provider in PROVIDERS {
        let listener = listener().await;
        let client = client(provider, listener.local_addr().unwrap());
        let usage = if provider == ProviderKind::Anthropic {
            "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\n"
        } else {
            "data: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\n"
        };
        let server = async {
            let mut connection = taken(&listener).await;
            connection.write_all(HEAD).await.unwrap();
            connection.write_all(finished(provider).as_bytes()).await.unwrap();
            sleep(Duration::from_secs(1)).await;
            connection.write_all(usage.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        };
        let (asked_at, asked) = (Instant::now(), ask(&*client, question()));
        let (said, events, error) = tokio::select! { () = server => unreachable!(), asked = asked => asked };
        assert!(asked_at.elapsed() < SOON, "the answer does not wait for the timeout of silence");
        let Some(ModelEvent::Ended { usage, .. }) = events.last() else { panic!("{events:?} {error:?}") };
        assert_eq!((said.as_str(), usage.output_tokens), ("Done.", 7));
    }
}
