//! Starts of the real program on databases that it cannot use. Each refusal says what to do, and does not contain a
//! password.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, Program, TestApp, UNREACHABLE, execute, on_every_engine};

const PASSWORD: &str = "s3cret";

/// Starts the program, which must fail, and returns its output.
async fn refusal(engine: &Engine, url: &str) -> String {
    let model = MockLlm::start().await.unwrap();
    let output = Program::command(engine, &model).env("DATABASE_URL", url).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!output.status.success(), "{url}: {said}");
    assert!(!said.contains(PASSWORD) && !said.contains("panicked"), "{url}: {said}");
    said
}

/// Checks that the program's output contains all of `words`.
fn assert_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_database_url() {
    let engine = Engine::sqlite();
    for (url, words) in [
        (format!("postgres://me:{PASSWORD}@localhost/book"), ["DATABASE_URL", "sqlite: or mysql:"]),
        (format!("mysql://me:{PASSWORD}@localhost"), ["has no database name", "CREATE DATABASE"]),
        (format!("mysql://me:{PASSWORD}/x@localhost/book"), ["not a valid URL", "percent-encode"]),
        ("sqlite://".to_owned(), ["has no file name", "DATABASE_URL"]),
    ] {
        assert_says(&refusal(&engine, &url).await, &words);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreachable_database_server() {
    let said = refusal(&Engine::sqlite(), &format!("mysql://me:{PASSWORD}@{UNREACHABLE}/book")).await;
    assert_says(&said, &["the database does not respond", &format!("{UNREACHABLE}/book"), "Start the database server"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_database() {
    for engine in Engine::every_mysql().await {
        let said = refusal(&engine, &engine.url.replace("tallybook_test_", "nowhere_")).await;
        assert_says(&said, &["no database nowhere_", "CREATE DATABASE nowhere_"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_database_user() {
    for engine in Engine::every_mysql().await {
        let said = refusal(&engine, &engine.as_user("missing", PASSWORD).url).await;
        assert_says(&said, &["rejects the user missing", "password", "DATABASE_URL"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_user_without_permissions() {
    for engine in Engine::every_mysql().await {
        let database = engine.name();
        let user = engine.create_user(PASSWORD).await;
        let url = engine.as_user(&user, PASSWORD).url;
        let none = refusal(&engine, &url).await;
        engine.run(format!("GRANT SELECT ON {database}.* TO {user}")).await;
        let reading = refusal(&engine, &url).await;
        for said in [none, reading] {
            assert_says(&said, &[&format!("the user {user} lacks permissions"), &format!("GRANT ALL ON {database}.*")]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_another_program() {
    for engine in Engine::every_mysql().await {
        engine.run("CREATE TABLE wp_posts (id INT)".to_owned()).await;
        assert_says(
            &refusal(&engine, &engine.url).await,
            &["does not belong to Tallybook", "wp_posts", "DATABASE_URL"],
        );
    }
    let engine = Engine::sqlite();
    let file = file_of(&engine);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let mut other = options.connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE moz_places (id INTEGER)").execute(&mut other).await.unwrap();
    other.close().await.unwrap();
    let before = fs::read(&file).unwrap();
    assert_says(&refusal(&engine, &engine.url).await, &["does not belong to Tallybook", "moz_places", "DATABASE_URL"]);
    assert_eq!(fs::read(&file).unwrap(), before, "the database is unchanged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_a_database() {
    let engine = Engine::sqlite();
    let file = file_of(&engine);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "Dear diary, ".repeat(100)).unwrap();
    assert_says(&refusal(&engine, &engine.url).await, &["is not an SQLite database", "DATABASE_URL"]);
    assert!(fs::read_to_string(&file).unwrap().starts_with("Dear diary"), "the database is unchanged");
}

/// A database with the migrations of another program that uses the same library.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_migrations_of_another_program() {
    let engine = Engine::sqlite();
    execute!(engine, "ALTER TABLE conversations RENAME TO albums");
    execute!(engine, "UPDATE _sqlx_migrations SET checksum = x'00'");
    assert_says(&refusal(&engine, &engine.url).await, &["does not belong to Tallybook", "albums"]);
}

on_every_engine! {
    async fn a_newer_database(engine: Engine) {
        let mark = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                    VALUES (9999, 'later', TRUE, '', 0)";
        execute!(engine, mark);
        assert_says(&refusal(&engine, &engine.url).await, &["newer than this program", "9999", "restore an older backup"]);
    }
}

fn file_of(engine: &Engine) -> PathBuf {
    PathBuf::from(engine.url.strip_prefix("sqlite://").unwrap())
}

/// A database has only one server, whichever path leads to the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_to_a_database_in_use() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let first = TestApp::launch(&engine, &model);
    let conversation = first.create_conversation().await;
    let file = file_of(&engine);
    let elsewhere = tempfile::tempdir().unwrap();
    let at = |name: &str| elsewhere.path().join(name);
    symlink(&file, at("file.db")).unwrap();
    symlink(file.parent().unwrap(), at("folder")).unwrap();
    for link in [at("file.db"), at("folder").join("tallybook.db")] {
        assert_says(&refusal(&engine, &url_of(&link)).await, &["Tallybook process uses", "tallybook.db"]);
    }
    fs::hard_link(&file, file.with_file_name("hard.db")).unwrap();
    let said = refusal(&engine, &url_of(&file.with_file_name("hard.db"))).await;
    assert_says(&said, &["2 names (hard links)", "Remove the other"]);
    assert_eq!(first.conversation(&conversation).await["running"], false, "the first program keeps running");
    first.kill();

    // A symbolic link alone leads to the same database.
    fs::remove_file(file.with_file_name("hard.db")).unwrap();
    let linked =
        TestApp::launch_command(&engine, Program::command(&engine, &model).env("DATABASE_URL", url_of(&at("file.db"))));
    linked.conversation(&conversation).await;
}

/// SQLite's journal keeps the old name, so a second server would miss the data in the journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_renamed_while_in_use() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let first = TestApp::launch(&engine, &model);
    let conversation = first.create_conversation().await;
    let file = file_of(&engine);
    let renamed = file.with_file_name("renamed.db");
    fs::rename(&file, &renamed).unwrap();
    assert_says(&refusal(&engine, &url_of(&renamed)).await, &["Tallybook process uses", "renamed.db"]);
    fs::rename(&renamed, &file).unwrap();
    assert_eq!(first.conversation(&conversation).await["running"], false, "the first program keeps running");
}

/// A link may also exist before its file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_to_a_database_that_does_not_exist_yet() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let file = file_of(&engine);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let link = file.with_file_name("link.db");
    symlink(&file, &link).unwrap();
    let first = TestApp::launch_command(&engine, Program::command(&engine, &model).env("DATABASE_URL", url_of(&link)));
    first.create_conversation().await;
    assert_says(&refusal(&engine, &engine.url).await, &["Tallybook process uses"]);
}

fn url_of(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// If several servers start at once on a database server, one of them prepares the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_first_starts() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let starts = (0..4).map(|_| {
            let mut command = Program::command(&engine, &model);
            tokio::task::spawn_blocking(move || Program::start(&mut command))
        });
        let programs = futures_util::future::join_all(starts.collect::<Vec<_>>()).await;
        assert!(programs.into_iter().all(|program| program.unwrap().address.starts_with("http://")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_with_hard_links_is_refused_until_they_are_removed() {
    let engine = Engine::sqlite();
    let file = file_of(&engine);
    drop(engine.database().await);
    fs::hard_link(&file, file.with_file_name("hard.db")).unwrap();
    assert_says(&refusal(&engine, &engine.url).await, &["hard links"]);
    fs::remove_file(file.with_file_name("hard.db")).unwrap();
    let app = TestApp::launch(&engine, &MockLlm::start().await.unwrap());
    app.create_conversation().await;
}
