//! Reads the command line and the settings, and starts the server. Prints the server's address, and stops the server on
//! a signal.

mod admin;
mod health_check;
mod logging;
mod service_manager;
mod signals;
mod traces;

use std::{io::Write as _, process::ExitCode};

use signals::StopSignals;
use tallybook::{
    application::Application,
    config::{Options, Settings, Task},
    http::Site,
};
use tallybook_conversations::models::Catalog;
use tokio_util::sync::CancellationToken;
use traces::Traces;

/// Returns the memory of large answers to the system when they are freed. The C library's allocator keeps most of it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: this process must have no other threads and open files when it confines itself.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == tallybook_documents::CHILD_COMMAND) {
        return tallybook_documents::run_child();
    }
    let options = match Options::read() {
        Ok(options) => options,
        Err(error) => error.exit(),
    };
    // These need no settings, so they also work if the settings are wrong.
    match options.task() {
        Some(Task::Licenses) => return licenses(),
        Some(Task::HealthCheck) => {
            let result = health_check::check(options.address());
            return result.map_or_else(|error| fail(&format!("{error:#}")), |()| ExitCode::SUCCESS);
        }
        Some(Task::Completions { shell }) => return print_stdout(&Options::completions(*shell)),
        Some(Task::Man) => {
            return Options::manual().map_or_else(|error| fail(&error.to_string()), |page| print_stdout(&page));
        }
        Some(Task::CheckConfig { .. } | Task::Admin(_)) | None => {}
    }
    let task = options.task().cloned();
    let settings = match Settings::from_options(options) {
        Ok(settings) => settings,
        Err(error) => return fail(&error.to_string()),
    };
    match task {
        Some(Task::CheckConfig { database }) => return check_config(&settings, database),
        Some(Task::Admin(task)) => {
            let done = admin::run(&settings, task);
            return done.map_or_else(|error| fail(&error.to_string()), |text| print_stdout(text.as_bytes()));
        }
        _ => {}
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start the worker threads: {error}")),
    };
    let traces = settings.traces.as_deref().map(|endpoint| Traces::to(endpoint, runtime.handle().clone()));
    let traces = match traces.transpose() {
        Ok(traces) => traces,
        Err(error) => return fail(&format!("cannot set up sending traces: {error}")),
    };
    logging::start(settings.log_format, settings.secrets.clone(), traces.as_ref());
    for remark in &settings.remarks {
        tracing::warn!("{remark}");
    }
    allow_open_files();
    let ended = runtime.block_on(run(settings));
    if let Some(traces) = traces {
        traces.end();
    }
    // Does not wait for tools that are still running on threads of their own.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

/// Prints a summary of the settings, or the error in them. With `with_database`, merges those in the database.
fn check_config(settings: &Settings, with_database: bool) -> ExitCode {
    if let Err(error) = Catalog::connect(&settings.models) {
        return fail(&error.to_string());
    }
    let merged = with_database.then(|| admin::merge_stored(settings)).transpose();
    match merged {
        Ok(merged) => print_stdout(settings.summary(merged.as_ref()).as_bytes()),
        Err(error) => fail(&format!("{error:#}")),
    }
}

/// Prints the licenses that the build collected.
fn licenses() -> ExitCode {
    match Site::built_in().licenses() {
        Some(licenses) => print_stdout(licenses),
        None => fail("this build has no list of licenses; `cargo xtask build` generates it"),
    }
}

/// Prints the requested text to stdout.
fn print_stdout(text: &[u8]) -> ExitCode {
    match std::io::stdout().write_all(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("cannot write to standard output: {error}")),
    }
}

/// Raises the limit of open files. Every client takes a file handle, and the initial limit is often low.
fn allow_open_files() {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(open_files) => tracing::info!(open_files, "the limit of open files is set"),
        Err(error) => tracing::warn!(%error, "cannot raise the limit of open files"),
    }
}

async fn run(settings: Settings) -> anyhow::Result<()> {
    let data = settings.database_url.to_string();
    let app = Application::build(settings).await?;
    let mut signals = StopSignals::listen()?;
    // The server runs even if stdout cannot be written.
    let setup = app.create_setup_link().await?.map(|link| {
        format!(
            "  setup: {link}\n         Open this link within an hour to create the admin account. Behind a proxy, use \
             the proxy's host name.\n"
        )
    });
    if setup.is_some() {
        tracing::warn!("the server has no admin yet; it serves only the setup link until one is created");
    }
    let greeting = greeting(&app, &data) + &setup.unwrap_or_default();
    let _ = std::io::stdout().write_all(greeting.as_bytes());
    service_manager::ready();
    let stop = CancellationToken::new();
    let forced = async {
        let signal = signals.graceful_stop().await;
        tracing::info!(
            signal,
            "shutting down after the running turns finish; send SIGTERM or Ctrl-C again to stop at once"
        );
        service_manager::stopping();
        stop.cancel();
        signals.forced_stop().await;
    };
    tokio::select! {
        ended = app.run_until(stop.cancelled()) => Ok(ended?),
        () = forced => anyhow::bail!("stopped by a second signal; the next start marks the running turns as interrupted"),
    }
}

fn greeting(app: &Application, data: &str) -> String {
    let models = app.models().items;
    let text: Vec<String> = models.iter().map(|model| format!("{} ({})", model.name, model.provider)).collect();
    let mut greeting =
        format!("Tallybook is ready at http://{}\n  model: {}\n  data:  {data}\n", app.address(), text.join(", "));
    if models.iter().all(|model| model.provider == "demo") {
        greeting +=
            "  The demo model only does arithmetic. To use a real model, press “Connect a model” in the page.\n";
    }
    greeting
}

fn fail(message: &str) -> ExitCode {
    // If stderr is closed too, the error cannot be reported.
    let _ = writeln!(std::io::stderr(), "tallybook: {message}");
    ExitCode::FAILURE
}
