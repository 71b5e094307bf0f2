//! Command line → configuration → start. Prints where the program is to be found, and ends it on SIGTERM or Ctrl-C.

use std::{io::Write, process::ExitCode};

use tallybook::{
    application::Application,
    config::{ConfigError, Settings},
};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(ConfigError::Options(error)) => error.exit(),
        Err(error) => return fail(&error.to_string()),
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn,actix=warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(settings))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

async fn run(settings: Settings) -> anyhow::Result<()> {
    let data = describe_data(&settings.database_url);
    let app = Application::build(settings).await?;
    // A server that nobody listens to on stdout serves all the same.
    let _ = std::io::stdout().write_all(greeting(&app, &data).as_bytes());
    Ok(app.run_until(stop_signal()).await?)
}

fn greeting(app: &Application, data: &str) -> String {
    let model = app.model_info();
    let mut greeting = format!(
        "Tallybook is ready at http://{}\n  model: {} ({})\n  data:  {data}\n",
        app.address(),
        model.model,
        model.provider
    );
    if model.provider == "demo" {
        greeting += "  The demo model knows arithmetic only. Set ANTHROPIC_API_KEY or OPENAI_API_KEY for a real one.\n";
    }
    greeting
}

/// Where the data lies, without any password.
fn describe_data(url: &str) -> String {
    let without_options = url.split('?').next().unwrap_or_default();
    if let Some(file) = without_options.strip_prefix("sqlite:") {
        let file = file.trim_start_matches("//");
        return std::path::absolute(file).map_or_else(|_| file.to_owned(), |path| path.display().to_string());
    }
    let after_login = without_options.rsplit_once('@').map_or("…", |(_, rest)| rest);
    format!("MySQL at {after_login}")
}

async fn stop_signal() {
    let ctrl_c = async {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "Ctrl-C cannot be heard");
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(error) => {
                tracing::error!(%error, "SIGTERM cannot be heard");
                std::future::pending::<()>().await;
            }
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! { () = ctrl_c => {}, () = terminate => {} }
}

fn fail(message: &str) -> ExitCode {
    // If even stderr is gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "tallybook: {message}");
    ExitCode::FAILURE
}
