//! Creation of accounts: by the setup link, the command, invitations, and admins.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_accounts::{AccountsSettings, SignUp};
use tallybook_mock_llm::MockLlm;

use super::kit::{ADMIN, PASSWORD, Team, Who, cookie_of, kind_of, required};
use crate::support::{Engine, Program, TestApp, execute, on_every_engine};

/// Submits a form that creates an account.
async fn fill_in(team: &Team, path: &str, token: &str, name: &str) -> reqwest::Response {
    let fields = [("token", token), ("name", name), ("password", PASSWORD)];
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = team.request(&Who::default(), Method::POST, path);
    request.header("content-type", "application/x-www-form-urlencoded").body(body).send().await.unwrap()
}

fn token_of(link: &str) -> &str {
    link.split_once("?token=").unwrap().1
}

on_every_engine! {
    async fn the_setup_link_works_once_and_other_requests_wait_for_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        // A conversation from the time before the server had accounts.
        let before = TestApp::spawn(&engine, &model).await;
        let conversation = before.create_conversation().await;
        before.shut_down().await;
        let (app, link) = TestApp::builder(&engine)
            .with_mock(&model)
            .with_accounts(required())
            .spawn_with_setup_link()
            .await;
        let (team, link, nobody) = (Team::of(app), link.unwrap(), Who::default());
        for path in ["/api/conversations", "/api/models", "/metrics", "/readyz", "/api/nowhere"] {
            let refused = team.get(&nobody, path).await;
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
            assert_eq!(kind_of(refused).await, "/problems/setup-required", "{path}");
        }
        let page = team.get(&nobody, "/").await;
        assert_eq!(page.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(page.text().await.unwrap().contains("tallybook admin create"));
        assert_eq!(team.try_sign_in("local", "").await.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(team.get(&nobody, "/healthz").await.status(), StatusCode::OK);
        assert_eq!(team.get(&nobody, "/setup?token=guessed").await.status(), StatusCode::GONE);

        assert!(team.get(&nobody, link.trim_start_matches(&team.app.address)).await.text().await.unwrap().contains("<form"));
        let token = token_of(&link);
        // Of several concurrent attempts, one succeeds.
        let tries = futures_util::future::join_all(["first", "second"].map(|name| fill_in(&team, "/setup", token, name)));
        let mut tries = tries.await;
        tries.sort_by_key(reqwest::Response::status);
        assert_eq!(tries.iter().map(|it| it.status().as_u16()).collect::<Vec<_>>(), [303, 410]);
        let admin = Who { cookie: cookie_of(&tries[0]), key: None };
        let users = team.json(&admin, Method::GET, "/api/users", Value::Null, 200).await;
        assert_eq!((users["items"].as_array().unwrap().len(), &users["items"][0]["role"]), (1, &json!("admin")));
        // Existing conversations are assigned to the first admin.
        let path = format!("/api/conversations/{conversation}");
        team.json(&admin, Method::GET, &path, Value::Null, 200).await;
        assert_eq!(team.get(&nobody, &format!("/setup?token={token}")).await.status(), StatusCode::GONE);
    }

    /// The program is started like an operator starts it for remote users: it listens on all addresses.
    async fn the_program_prints_the_setup_link_and_refuses_requests_until_it_is_used(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let mut command = Program::command(&engine, &model);
        let mut team = Team::of(TestApp::launch_command(&engine, command.env("HOST", "0.0.0.0")));
        let link = team.app.process().setup_link();
        let (origin, _) = link.split_once("/setup?token=").unwrap();
        team.app.address = origin.to_owned();
        for path in ["/api/conversations", "/api/models", "/metrics"] {
            let refused = team.get(&Who::default(), path).await;
            assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
            assert_eq!(kind_of(refused).await, "/problems/setup-required", "{path}");
        }
        let made = fill_in(&team, "/setup", token_of(&link), ADMIN).await;
        assert_eq!(made.status(), StatusCode::SEE_OTHER);
        let admin = Who { cookie: cookie_of(&made), key: None };
        assert_eq!(team.get(&admin, "/api/conversations").await.status(), StatusCode::OK);
        assert_eq!(team.get(&Who::default(), "/api/conversations").await.status(), StatusCode::UNAUTHORIZED);
    }

    /// If a public URL is set, links start with it, no matter which host the request names.
    async fn links_start_with_the_public_url(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let mut command = Program::command(&engine, &model);
        command.env("ACCOUNTS", "on").env("PUBLIC_URL", "https://chat.example.org/");
        command.env("ALLOWED_HOSTS", "chat.example.org");
        let team = Team::of(TestApp::launch_command(&engine, &mut command));
        let link = team.app.process().setup_link();
        assert!(link.starts_with("https://chat.example.org/setup?token="), "{link}");
        let made = fill_in(&team, "/setup", token_of(&link), ADMIN).await;
        let admin = Who { cookie: cookie_of(&made), key: None };
        let invitation = team.json(&admin, Method::POST, "/api/invitations", json!({}), 201).await;
        let link = invitation["url"].as_str().unwrap();
        assert!(link.starts_with("https://chat.example.org/invitation?token="), "{link}");
        assert_eq!(fill_in(&team, "/invitation", token_of(link), "ann").await.status(), StatusCode::SEE_OTHER);
    }

    async fn the_setup_link_expires_after_an_hour(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (app, link) = TestApp::builder(&engine)
            .with_mock(&model)
            .with_accounts(required())
            .spawn_with_setup_link()
            .await;
        let (team, link) = (Team::of(app), link.unwrap());
        let in_an_hour = chrono::Utc::now() + chrono::Duration::minutes(61);
        let left: Vec<(chrono::DateTime<chrono::Utc>,)> =
            crate::support::rows!(team.app, (chrono::DateTime<chrono::Utc>,), "SELECT expires_at FROM invitations");
        assert!(left.len() == 1 && left[0].0 < in_an_hour, "{left:?}");
        execute!(team.app, "UPDATE invitations SET expires_at = '2020-01-01 00:00:00'");
        assert_eq!(fill_in(&team, "/setup", token_of(&link), "late").await.status(), StatusCode::GONE);
    }

    async fn an_invitation_creates_one_account(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let made = team.json(&admin, Method::POST, "/api/invitations", json!({}), 201).await;
        let link = made["url"].as_str().unwrap();
        assert_eq!(team.get(&Who::default(), link).await.status(), StatusCode::OK);
        // An invitation does not work as a setup link. An attempt with a taken name does not use up the invitation.
        assert_eq!(fill_in(&team, "/setup", token_of(link), "eve").await.status(), StatusCode::GONE);
        assert_eq!(fill_in(&team, "/invitation", token_of(link), ADMIN).await.status(), StatusCode::CONFLICT);
        let tries = ["ann", "bob"].map(|name| fill_in(&team, "/invitation", token_of(link), name));
        let mut tries = futures_util::future::join_all(tries).await;
        tries.sort_by_key(reqwest::Response::status);
        assert_eq!(tries.iter().map(|it| it.status().as_u16()).collect::<Vec<_>>(), [303, 410]);
        let who = Who { cookie: cookie_of(&tries[0]), key: None };
        assert_eq!(team.get(&who, "/api/models").await.status(), StatusCode::OK);
        assert_eq!(team.get(&who, "/api/users").await.status(), StatusCode::FORBIDDEN);
        assert_eq!(fill_in(&team, "/invitation", "", "uninvited").await.status(), StatusCode::GONE);
    }

    async fn invitations_are_listed_and_revoked(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let made = team.json(&admin, Method::POST, "/api/invitations", json!({"role": "admin"}), 201).await;
        let used = team.json(&admin, Method::POST, "/api/invitations", json!({}), 201).await;
        let (link, other) = (made["url"].as_str().unwrap(), used["url"].as_str().unwrap());
        assert_eq!(fill_in(&team, "/invitation", token_of(other), "ann").await.status(), StatusCode::SEE_OTHER);
        let list = team.json(&admin, Method::GET, "/api/invitations", Value::Null, 200).await;
        let [open] = &list["items"].as_array().unwrap()[..] else { panic!("{list}") };
        assert_eq!((&open["id"], &open["role"], &open["created_by"]), (&made["id"], &json!("admin"), &json!(ADMIN)));
        assert!(open["expires_at"].is_string() && !list.to_string().contains(token_of(link)), "{list}");
        for (id, status) in [(&made["id"], 204), (&made["id"], 404), (&used["id"], 404)] {
            team.json(&admin, Method::DELETE, &format!("/api/invitations/{id}"), Value::Null, status).await;
        }
        assert_eq!(fill_in(&team, "/invitation", token_of(link), "eve").await.status(), StatusCode::GONE);
        let noted = crate::support::rows!(team.app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'invitation_revoked'");
        assert_eq!(noted, [(1,)]);
    }

    async fn sign_up_may_be_open_or_closed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let open = Team::start_with(&engine, &model, AccountsSettings { sign_up: SignUp::Open, ..required() }).await;
        assert_eq!(fill_in(&open, "/invitation", "", "anybody").await.status(), StatusCode::SEE_OTHER);
        let admin = open.sign_in(ADMIN).await;
        let made = open.json(&admin, Method::POST, "/api/invitations", json!({"role": "admin"}), 201).await;
        if engine.is_sqlite() {
            open.app.shut_down().await;
        }
        let closed = AccountsSettings { sign_up: SignUp::Closed, ..required() };
        let closed = Team::join(&engine, &model, closed).await;
        let token = token_of(made["url"].as_str().unwrap());
        for token in ["", token] {
            assert_eq!(fill_in(&closed, "/invitation", token, "eve").await.status(), StatusCode::FORBIDDEN);
        }
        closed.json(&admin, Method::POST, "/api/invitations", json!({}), 403).await;
    }

    async fn the_last_admin_cannot_be_removed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = &Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let own = "/api/users/1";
        for body in [json!({"role": "user"}), json!({"active": false})] {
            let refused = team.send(&admin, Method::PATCH, own, body).await;
            assert_eq!(kind_of(refused).await, "/problems/last-admin");
        }
        let (other, id) = team.user(&admin, "second").await;
        team.json(&admin, Method::PATCH, &format!("/api/users/{id}"), json!({"role": "admin"}), 200).await;
        // Each of the two admins tries to deactivate the other; only one succeeds.
        let tries = [(&admin, format!("/api/users/{id}")), (&other, own.to_owned())];
        let tries = tries.map(|(who, path)| async move { team.send(who, Method::DELETE, &path, Value::Null).await.status() });
        let done = futures_util::future::join_all(tries).await;
        assert_eq!(done.iter().filter(|status| **status == StatusCode::NO_CONTENT).count(), 1, "{done:?}");
    }

    /// An account that an operator creates in a terminal works on a running server.
    async fn the_command_creates_an_admin(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (app, _) = TestApp::builder(&engine)
            .with_mock(&model)
            .with_accounts(required())
            .spawn_with_setup_link()
            .await;
        let team = Team::of(app);
        let create = |name: &str, password: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
            command.env_clear().env("DATABASE_URL", &engine.url).args(["admin", "create", name, "--password-stdin"]);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
            let output = child.wait_with_output().unwrap();
            (output.status.success(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
        };
        let (done, said) = create("ada", "short");
        assert!(!done && said.contains("at least 12 characters") && !said.contains("short\n"), "{said}");
        let (done, said) = create("Ada", PASSWORD);
        assert!(done && said.contains("ada can sign in") && !said.contains(PASSWORD), "{said}");
        let admin = team.sign_in("ada").await;
        team.json(&admin, Method::GET, "/api/users", Value::Null, 200).await;
        let (done, said) = create("ada", PASSWORD);
        assert!(!done && said.contains("is already taken"), "{said}");
    }
}
