//! A server with accounts, and users who send requests to it.

use chrono::{TimeDelta, Utc};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, redirect::Policy};
use serde_json::{Value, json};
use tallybook_accounts::{Accounts, AccountsSettings, Password};
use tallybook_conversations::UserLimits;
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, Form, TestApp, execute};

/// Password of every user in these tests.
pub(crate) const PASSWORD: &str = "a password of some length";

/// Extends all current sign-in delays beyond the duration of a test.
pub(crate) const BLOCKED: &str =
    "UPDATE sign_in_attempts SET blocked_until = '2037-01-01 00:00:00' WHERE blocked_until IS NOT NULL";

/// Name of the admin that every team starts with.
pub(crate) const ADMIN: &str = "root";

/// Returns the settings of a server that requires accounts.
pub(crate) fn required() -> AccountsSettings {
    AccountsSettings { required: true, sharing: true, ..AccountsSettings::default() }
}

/// Credentials of a request. The default has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Who {
    pub(crate) cookie: Option<String>,
    pub(crate) key: Option<String>,
}

/// Creates the admin in the engine's database.
pub(crate) async fn with_admin(engine: &Engine) {
    let accounts = Accounts::new(engine.database().await, required());
    accounts.create_admin(ADMIN, Password::new(PASSWORD)).await.expect("the first admin");
}

/// A server with accounts.
pub(crate) struct Team {
    pub(crate) app: TestApp,
    /// Follows no redirects and keeps no cookies.
    pub(crate) client: Client,
}

impl Team {
    /// Starts a server with an admin.
    pub(crate) async fn start(engine: &Engine, model: &MockLlm) -> Self {
        Self::start_with(engine, model, required()).await
    }

    pub(crate) async fn start_with(engine: &Engine, model: &MockLlm, settings: AccountsSettings) -> Self {
        with_admin(engine).await;
        Self::join(engine, model, settings).await
    }

    /// Starts a server on a database that already has an admin.
    pub(crate) async fn join(engine: &Engine, model: &MockLlm, settings: AccountsSettings) -> Self {
        let (app, link) =
            TestApp::builder(engine).with_mock(model).with_accounts(settings).spawn_with_setup_link().await;
        assert_eq!(link, None, "there is an admin");
        Self::of(app)
    }

    /// Starts two servers on one database. Also signs their admin in.
    pub(crate) async fn start_two(engine: &Engine, model: &MockLlm) -> (Self, Self, Who) {
        let here = Self::start(engine, model).await;
        let there = Self::join(engine, model, required()).await;
        let admin = here.sign_in(ADMIN).await;
        (here, there, admin)
    }

    /// Starts a server with limits per user, and with the built-in tools, on a database that already has an admin.
    pub(crate) async fn join_limited(engine: &Engine, model: &MockLlm, limits: UserLimits) -> Self {
        let tools = tallybook_tools::builtin().expect("the built-in tools");
        let app = TestApp::builder(engine).with_mock(model).with_tools(tools).with_accounts(required());
        Self::of(app.with_user_limits(limits).spawn().await)
    }

    pub(crate) fn of(app: TestApp) -> Self {
        let client = Client::builder().tls_certs_only([]).no_proxy().redirect(Policy::none());
        Self { app, client: client.build().expect("a client") }
    }

    /// Creates a request with these credentials, without sending it.
    pub(crate) fn request(&self, who: &Who, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.client.request(method, self.app.url(path));
        if let Some(cookie) = &who.cookie {
            request = request.header("cookie", cookie);
        }
        if let Some(key) = &who.key {
            request = request.bearer_auth(key);
        }
        request
    }

    pub(crate) async fn get(&self, who: &Who, path: &str) -> Response {
        self.request(who, Method::GET, path).send().await.expect("the server answers")
    }

    pub(crate) async fn send(&self, who: &Who, method: Method, path: &str, body: Value) -> Response {
        self.request(who, method, path).json(&body).send().await.expect("the server answers")
    }

    /// Sends a request, fails unless the response has this status, and returns the JSON of the response (null if it is
    /// not JSON).
    pub(crate) async fn json(&self, who: &Who, method: Method, path: &str, body: Value, status: u16) -> Value {
        let response = self.send(who, method.clone(), path, body).await;
        let found = response.status();
        let text = response.text().await.expect("a text");
        assert_eq!(found.as_u16(), status, "{method} {path}: {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Sends a form. Returns the status and the page.
    pub(crate) async fn submit(&self, who: &Who, form: &Form) -> (u16, String) {
        let request = self.request(who, Method::POST, &form.action);
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form.body());
        let response = request.send().await.expect("the server answers");
        (response.status().as_u16(), response.text().await.expect("a page"))
    }

    /// Opens a page, and reads its form that is sent to the same address.
    pub(crate) async fn open_form(&self, who: &Who, path: &str) -> Form {
        Form::read(&self.get(who, path).await.text().await.expect("a page"), path)
    }

    /// Tries to sign in, and returns the response.
    pub(crate) async fn try_sign_in(&self, name: &str, password: &str) -> Response {
        let body = json!({"name": name, "password": password});
        self.send(&Who::default(), Method::POST, "/api/session", body).await
    }

    /// Submits the form behind a setup link or an invitation, and returns the signed-in user.
    pub(crate) async fn sign_up(&self, link: &str, name: &str, password: &str) -> Who {
        let (path, token) = link.split_once("?token=").expect("a link with a token");
        let body = format!("token={token}&name={name}&password={password}");
        let request = self.request(&Who::default(), Method::POST, &path[path.rfind('/').expect("a path")..]);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let created = request.body(body).send().await.expect("the server answers");
        assert_eq!(created.status(), StatusCode::SEE_OTHER, "{name} signs up");
        Who { cookie: cookie_of(&created), key: None }
    }

    /// Signs a user in with a new session.
    pub(crate) async fn sign_in(&self, name: &str) -> Who {
        let response = self.try_sign_in(name, PASSWORD).await;
        assert_eq!(response.status(), StatusCode::OK, "{name} signs in");
        Who { cookie: Some(cookie_of(&response).expect("a session")), key: None }
    }

    /// Creates an account and signs it in. Also returns the user's id.
    pub(crate) async fn user(&self, admin: &Who, name: &str) -> (Who, i64) {
        let body = json!({"name": name, "password": PASSWORD});
        let user = self.json(admin, Method::POST, "/api/users", body, 201).await;
        (self.sign_in(name).await, user["id"].as_i64().expect("an id"))
    }

    /// Creates an API key for a user with the usual password.
    pub(crate) async fn program(&self, who: &Who) -> Who {
        self.program_by(who, PASSWORD).await
    }

    /// Creates an API key for a user with this password.
    pub(crate) async fn program_by(&self, who: &Who, password: &str) -> Who {
        let body = json!({"name": "a program", "password": password});
        let made = self.json(who, Method::POST, "/api/keys", body, 201).await;
        Who { cookie: None, key: Some(made["key"].as_str().expect("a key").to_owned()) }
    }

    /// Sets the start of all sessions to eleven minutes ago. Then they no longer count as recent sign-ins.
    pub(crate) async fn age_sessions(&self) {
        let long_ago = (Utc::now() - TimeDelta::minutes(11)).format("%Y-%m-%d %H:%M:%S");
        execute!(self.app, sqlx::AssertSqlSafe(format!("UPDATE sessions SET created_at = '{long_ago}'")));
    }

    /// Creates a conversation for a user and returns its UUID.
    pub(crate) async fn conversation(&self, who: &Who) -> String {
        let made = self.json(who, Method::POST, "/api/conversations", json!({}), 201).await;
        made["uuid"].as_str().expect("a uuid").to_owned()
    }

    /// Sends a message, and returns the response without waiting for the answer.
    pub(crate) async fn post_message(&self, who: &Who, conversation: &str) -> Response {
        let path = format!("/api/conversations/{conversation}/messages");
        self.send(who, Method::POST, &path, json!({"content": "Go?"})).await
    }

    /// Sends a message and waits for the end of its answer.
    pub(crate) async fn ask(&self, who: &Who, conversation: &str, content: &str) {
        let path = format!("/api/conversations/{conversation}/messages");
        let answer = self.send(who, Method::POST, &path, json!({"content": content})).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let events = answer.text().await.expect("its events");
        assert!(events.contains("event: message_end"), "{events}");
    }
}

/// Returns the cookie that a response sets, as a browser sends it back. `None` if it sets none.
pub(crate) fn cookie_of(response: &Response) -> Option<String> {
    let cookie = response.headers().get("set-cookie")?.to_str().expect("in ASCII");
    cookie.split(';').next().map(str::to_owned)
}

/// Returns the type of a problem response.
pub(crate) async fn kind_of(response: Response) -> String {
    let problem: Value = response.json().await.expect("a problem");
    problem["type"].as_str().expect("its kind").to_owned()
}
