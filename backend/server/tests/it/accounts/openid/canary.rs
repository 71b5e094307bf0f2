//! The client secret for the identity provider must not appear in any log, row, page, statistic, trace or error,
//! whatever goes wrong at the provider.

use reqwest::StatusCode;
use tallybook_accounts::{Accounts, Password};
use tallybook_mock_llm::{MockLlm, text};

use super::{
    super::kit::{ADMIN, PASSWORD, Team, required},
    browser::Browser,
    key::base64,
    provider::{CLIENT_ID, CLIENT_SECRET, Fault, MockIdentityProvider},
};
use crate::{
    secrets::assert_not_kept,
    support::{Engine, Program, TestApp, on_every_engine},
    traces::Collector,
};

/// Prefix of the secret, which all its encodings share.
const CANARY: &str = "client-secret-canary";

/// Fails if a text contains the secret, plain or as it is sent to the identity provider.
fn assert_lacks(what: &str, text: &str) {
    let pair = format!("{CLIENT_ID}:{CANARY}");
    let encoded = base64(&pair.as_bytes()[..pair.len() / 3 * 3]);
    for secret in [CANARY, &encoded] {
        let line = text.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "{what}: {line:?}");
    }
}

on_every_engine! {
    async fn the_client_secret_is_sent_only_to_the_provider(engine: Engine) {
        let accounts = Accounts::new(engine.database().await, required());
        accounts.create_admin(ADMIN, Password::new(PASSWORD)).await.unwrap();
        let (model, provider, collector) = (MockLlm::start().await.unwrap(), MockIdentityProvider::start().await, Collector::start().await);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut command = Program::command_after(&format!("exec 2>'{}'", log.display()), &engine, &model);
        command.env("RUST_LOG", "trace").env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url).env("ACCOUNTS", "on");
        command.env("SIGN_UP", "open").env("OIDC_ISSUER", provider.url()).env("OIDC_SCOPES", "email");
        command.env("OIDC_CLIENT_ID", CLIENT_ID).env("OIDC_CLIENT_SECRET", CLIENT_SECRET);
        let team = Team::of(TestApp::launch_command(&engine, &mut command));
        let mut browser = Browser::new(&team);
        assert_eq!(browser.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER, "the provider accepts it");
        for fault in [Fault::RepeatsSecret, Fault::NoIdToken, Fault::WrongSignature, Fault::Denied] {
            provider.fail(fault);
            let answer = Browser::new(&team).sign_in("/sign-in/away").await;
            assert!(answer.status().is_client_error() || answer.status().is_server_error(), "{fault:?}");
            assert_lacks("an error", &answer.text().await.unwrap());
        }
        provider.fail(Fault::Down);
        assert_lacks("an error", &Browser::new(&team).get("/sign-in/away").await.text().await.unwrap());

        let root = team.sign_in(ADMIN).await;
        let conversation = team.conversation(&root).await;
        model.reply([text("Yes.")]);
        team.ask(&root, &conversation, "Well?").await;
        for address in ["/", "/sign-in", "/settings", "/admin", "/api/me", "/api/identities", "/api/users", "/metrics"] {
            let answer = team.get(&root, address).await;
            assert!(!answer.status().is_server_error(), "{address}");
            assert_lacks(address, &answer.text().await.unwrap());
        }
        // Traces that wait to be sent to the collector are sent at shutdown.
        team.app.process().signal("TERM");
        assert!(team.app.wait());
        let (log, traces) = (std::fs::read_to_string(&log).unwrap(), collector.bytes());
        assert!(log.contains("TRACE") && !traces.is_empty(), "the test collected output");
        assert_lacks("the log", &log);
        assert_lacks("a trace", &String::from_utf8_lossy(&traces));
        assert_not_kept(&engine, CANARY).await;
    }
}
