//! Server under test, and an HTTP client for it.

use std::{net::IpAddr, process::Command, sync::Arc, time::Duration};

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook::{
    application::Application,
    config::{LogFormat, Settings},
    http,
};
use tallybook_accounts::AccountsSettings;
use tallybook_agent::{Limits, SystemPrompt};
use tallybook_conversations::{
    MemorySettings, PlanSettings, UserLimits,
    models::{ModelChoice, ModelEntry, ReviewSettings},
};
use tallybook_database::Database;
use tallybook_files::FilesSettings;
use tallybook_llm::{ApiKey, ModelSettings, ProviderKind, RetryPolicy};
use tallybook_mcp::ToolServersSettings;
use tallybook_mock_llm::MockLlm;
use tallybook_tools::{Secrets, ToolRegistry};
use tokio::{sync::oneshot, task::JoinHandle};

use super::{Engine, EventReader, Pool, Program};

/// Provider whose wire format the model uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
}

impl Provider {
    pub(crate) const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    pub(crate) fn settings(self, base_url: String) -> ModelSettings {
        let kind = match self {
            Self::Anthropic => ProviderKind::Anthropic,
            Self::OpenAi => ProviderKind::OpenAi,
        };
        ModelSettings {
            base_url: Some(base_url),
            api_key: Some(ApiKey::new("sk-test-secret")),
            model: Some("test-model".to_owned()),
            idle_timeout: Duration::from_secs(20),
            retries: RetryPolicy { retries: 0, ..RetryPolicy::default() },
            ..ModelSettings::new(kind)
        }
    }
}

fn settings(engine: &Engine) -> Settings {
    Settings {
        host: IpAddr::from([127, 0, 0, 1]),
        port: 0,
        allowed_hosts: Vec::new(),
        public_url: None,
        metrics_token: None,
        secret_key: Some("a secret key of these tests, 32 characters".into()),
        accounts: AccountsSettings::default(),
        http_limits: http::Limits::default(),
        tool_history_page_time: Duration::from_secs(1),
        database_url: engine.url.parse().expect("its address"),
        is_database_named: true,
        models: Vec::new(),
        model_defaults: ModelSettings::new(ProviderKind::OpenAi),
        review: None,
        memory: MemorySettings::OFF,
        plan: PlanSettings::default(),
        titles: false,
        limits: Limits::default(),
        user_limits: UserLimits::default(),
        system_prompt: SystemPrompt::BuiltIn,
        tool_servers: ToolServersSettings::default(),
        secrets: Secrets::default(),
        // Short, for tests that wait for a keep-alive. But a reader that accepts no data for twelve intervals is
        // dropped, and a reader in a test may have to wait for a processor.
        keep_alive: Duration::from_millis(500),
        consent_wait_hours: 0.0,
        journal_retention: Some(Duration::from_hours(24)),
        fetch_page: false,
        fetch_page_hosts: Vec::new(),
        files: FilesSettings::with_program(env!("CARGO_BIN_EXE_tallybook").into()),
        retention_days: 1.0,
        set_in_file: Vec::new(),
        traces: None,
        log_format: LogFormat::Text,
        turn_lease: Duration::from_secs(2),
        shutdown_grace: Duration::from_millis(1),
        file: None,
        remarks: Vec::new(),
    }
}

/// A server that listens on a free port.
pub(crate) struct TestApp {
    pub(crate) address: String,
    pub(crate) client: reqwest::Client,
    engine: Engine,
    server: Server,
}

/// The place where a server under test runs.
enum Server {
    /// In the test's process, until the sender is dropped.
    Here { stop: oneshot::Sender<()>, serving: JoinHandle<()> },
    /// In its own process.
    Process(Program),
}

impl TestApp {
    /// Starts a server with the model `model`, which uses Anthropic's format.
    pub(crate) async fn spawn(engine: &Engine, model: &MockLlm) -> Self {
        Self::builder(engine).with_mock(model).spawn().await
    }

    /// Starts building a server with other settings.
    pub(crate) fn builder(engine: &Engine) -> Builder<'_> {
        Builder { engine, settings: settings(engine), tools: None, page: None }
    }

    fn serve(engine: &Engine, app: Application) -> Self {
        let address = format!("http://{}", app.address());
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            app.run_until(stopped).await.expect("the server ends without an error");
        });
        Self::new(address, engine, Server::Here { stop, serving })
    }

    /// Starts the real program in its own process.
    pub(crate) fn launch(engine: &Engine, model: &MockLlm) -> Self {
        Self::launch_command(engine, &mut Program::command(engine, model))
    }

    /// Starts the program with this command.
    pub(crate) fn launch_command(engine: &Engine, command: &mut Command) -> Self {
        let program = Program::start(command);
        Self::new(program.address.clone(), engine, Server::Process(program))
    }

    fn new(address: String, engine: &Engine, server: Server) -> Self {
        // The client needs a TLS provider even though the tests speak plain HTTP.
        tallybook_http_client::install_crypto_provider();
        let client = reqwest::Client::builder().tls_certs_only([]).no_proxy();
        Self { address, client: client.build().expect("a client"), engine: engine.clone(), server }
    }

    /// Shuts the server down, as SIGTERM does, and waits until it has ended.
    pub(crate) async fn shut_down(self) {
        let Server::Here { stop, serving } = self.server else {
            panic!("a program in its own process is killed, not shut down")
        };
        drop(stop);
        serving.await.expect("the server's task ends");
    }

    /// Returns the process in which the server runs.
    pub(crate) fn process(&self) -> &Program {
        let Server::Process(program) = &self.server else { panic!("the server runs in this process") };
        program
    }

    /// Waits until the server's process has ended by itself. Returns `true` if it succeeded.
    pub(crate) fn wait(self) -> bool {
        let Server::Process(program) = self.server else { panic!("the server runs in this process") };
        program.wait()
    }

    /// Kills the server's process with SIGKILL.
    pub(crate) fn kill(self) {
        let Server::Process(program) = self.server else { panic!("the server runs in this process") };
        drop(program);
    }

    /// Returns connections to the server's database.
    pub(crate) async fn pool(&self) -> Pool {
        self.engine.pool().await
    }

    /// Returns the server's database, for calls of the program's own functions.
    pub(crate) async fn database(&self) -> Database {
        self.engine.database().await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(self.url(path)).send().await.expect("the server answers")
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.json().await.expect("a JSON body")
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.client.post(self.url(path)).json(&body).send().await.expect("the server answers")
    }

    /// Creates a conversation and returns its UUID.
    pub(crate) async fn create_conversation(&self) -> String {
        let response = self.post("/api/conversations", json!({})).await;
        assert_eq!(response.status(), StatusCode::CREATED);
        let body: Value = response.json().await.expect("a JSON body");
        body["uuid"].as_str().expect("a uuid").to_owned()
    }

    /// Deletes a conversation.
    pub(crate) async fn delete(&self, conversation: &str) {
        let path = self.url(&format!("/api/conversations/{conversation}"));
        let deleted = self.client.delete(path).send().await.expect("the server answers");
        assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    }

    /// Sends a message and returns the events of its turn.
    pub(crate) async fn send(&self, conversation: &str, content: &str) -> EventReader {
        let response =
            self.post(&format!("/api/conversations/{conversation}/messages"), json!({"content": content})).await;
        EventReader::new(response)
    }

    /// Resumes the last answer and returns its events.
    pub(crate) async fn continue_turn(&self, conversation: &str) -> EventReader {
        EventReader::new(self.post(&format!("/api/conversations/{conversation}/continue"), json!({})).await)
    }

    /// Subscribes to the turn that runs in a conversation, after an event if one is given.
    pub(crate) async fn follow(&self, conversation: &str, after: Option<&str>) -> EventReader {
        let query = after.map(|id| format!("?after={id}")).unwrap_or_default();
        EventReader::new(self.get(&format!("/api/conversations/{conversation}/events{query}")).await)
    }

    /// Waits until no turn runs in a conversation, and returns the conversation.
    pub(crate) async fn idle_conversation(&self, uuid: &str) -> Value {
        super::eventually("the turn is over", async || self.conversation(uuid).await["running"] == false).await;
        self.conversation(uuid).await
    }

    pub(crate) async fn conversation(&self, uuid: &str) -> Value {
        self.get_json(&format!("/api/conversations/{uuid}")).await
    }
}

/// A server that is about to be started. By default, it has the built-in tools and no accounts.
pub(crate) struct Builder<'e> {
    engine: &'e Engine,
    settings: Settings,
    tools: Option<ToolRegistry>,
    page: Option<Arc<http::Site>>,
}

impl Builder<'_> {
    /// Sets the model: the mock, in Anthropic's wire format.
    pub(crate) fn with_mock(self, model: &MockLlm) -> Self {
        self.with_model(Provider::Anthropic.settings(model.url()))
    }

    /// Sets the model.
    pub(crate) fn with_model(mut self, model: ModelSettings) -> Self {
        self.settings.models = vec![ModelEntry::from_environment(ModelChoice::Provider(model))];
        self
    }

    /// Sets the models. The first one is the default.
    pub(crate) fn with_models(self, models: Vec<ModelEntry>) -> Self {
        self.with_settings(|settings| settings.models = models)
    }

    /// Makes models review high-risk calls.
    pub(crate) fn with_review(self, review: ReviewSettings) -> Self {
        self.with_settings(|settings| settings.review = Some(review))
    }

    pub(crate) fn with_tools(self, tools: ToolRegistry) -> Self {
        Self { tools: Some(tools), ..self }
    }

    pub(crate) fn with_tool_servers(self, tool_servers: ToolServersSettings) -> Self {
        self.with_settings(|settings| settings.tool_servers = tool_servers)
    }

    /// Sets the limits of a turn.
    pub(crate) fn with_limits(self, limits: Limits) -> Self {
        self.with_settings(|settings| settings.limits = limits)
    }

    /// Sets the limits for clients, and frequent keep-alives.
    pub(crate) fn with_http_limits(self, limits: http::Limits) -> Self {
        self.with_settings(|settings| {
            settings.http_limits = limits;
            settings.keep_alive = Duration::from_millis(50);
        })
    }

    /// Sets the limits of each user.
    pub(crate) fn with_user_limits(self, limits: UserLimits) -> Self {
        self.with_settings(|settings| settings.user_limits = limits)
    }

    /// Sets the time after which a call that waits for approval is denied.
    pub(crate) fn with_approval_timeout(self, timeout: Option<Duration>) -> Self {
        self.with_settings(|settings| {
            settings.consent_wait_hours = timeout.map_or(0.0, |wait| wait.as_secs_f64() / 3600.0);
        })
    }

    pub(crate) fn with_accounts(self, accounts: AccountsSettings) -> Self {
        self.with_settings(|settings| settings.accounts = accounts)
    }

    /// Makes the model write titles, which takes one more scripted reply after the first answer.
    pub(crate) fn with_titles(self) -> Self {
        self.with_settings(|settings| settings.titles = true)
    }

    /// Sets the page's files.
    pub(crate) fn with_page(self, page: Arc<http::Site>) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Changes any settings.
    pub(crate) fn with_settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Starts the server.
    pub(crate) async fn spawn(self) -> TestApp {
        let engine = self.engine;
        TestApp::serve(engine, Box::pin(self.build()).await)
    }

    /// Starts a server with accounts. Also returns the setup link, unless an admin exists.
    pub(crate) async fn spawn_with_setup_link(self) -> (TestApp, Option<String>) {
        let engine = self.engine;
        let app = Box::pin(self.build()).await;
        let link = app.create_setup_link().await.expect("the database accepts the setup token");
        (TestApp::serve(engine, app), link)
    }

    async fn build(self) -> Application {
        let tools = self.tools.unwrap_or_else(|| tallybook_tools::builtin().expect("the built-in tools are valid"));
        let app = match self.page {
            Some(page) => Application::build_with_page(self.settings, tools, page).await,
            None => Application::build_with_tools(self.settings, tools).await,
        };
        app.expect("the server starts")
    }
}
