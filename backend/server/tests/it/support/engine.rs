//! Database engines to test on. Every test gets its own database, and its own database user if it asks for one. They
//! are dropped when the test is over, except for databases that tests reuse.

use std::{
    path::Path,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use sqlx::{AssertSqlSafe, Connection, mysql::MySqlConnectOptions};
use tallybook_database::Database;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    Pool, Proxy, reused,
    server::{self, connect, run},
};

/// Option of a URL that turns off TLS.
const WITHOUT_TLS: &str = "?ssl-mode=DISABLED";

/// A test's own database.
#[derive(Clone)]
pub(crate) struct Engine {
    pub(crate) url: String,
    owner: Arc<Owner>,
}

enum Owner {
    /// Deletes the folder when dropped.
    Sqlite(#[expect(dead_code, reason = "held for its Drop")] TempDir),
    /// When dropped, drops the test's user, and drops the database unless it is reused.
    MySql { server: String, name: String, user: OnceLock<String>, is_reused: bool },
}

impl Engine {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite://{}/data/tallybook.db", folder.path().display());
        Self { url, owner: Arc::new(Owner::Sqlite(folder)) }
    }

    /// Creates an empty database on each server in `MYSQL_TEST_URL`, which is a comma-separated list.
    pub(crate) async fn every_mysql() -> Vec<Self> {
        let mut engines = Vec::new();
        for server in server::addresses() {
            let name = format!("tallybook_test_{}", Uuid::new_v4().simple());
            statement(&server, format!("CREATE DATABASE {name}")).await;
            engines.push(Self::mysql(server, name, false));
        }
        engines
    }

    /// Returns a database with tables on each server. These databases are ready much sooner, and fit most tests.
    pub(crate) async fn every_mysql_with_tables() -> Vec<Self> {
        let mut engines = Vec::new();
        for server in server::addresses() {
            let name = reused::take(&server).await;
            engines.push(Self::mysql(server, name, true));
        }
        engines
    }

    fn mysql(server: String, name: String, is_reused: bool) -> Self {
        let url = server::url(&server, &name);
        // The other tests show that TLS works. Here it would take a fifth of the processor time.
        let url = if is_reused { format!("{url}{WITHOUT_TLS}") } else { url };
        Self { url, owner: Arc::new(Owner::MySql { server, name, user: OnceLock::new(), is_reused }) }
    }

    /// Returns databases with tables that give each later row a smaller key, as the nodes of a cluster may.
    pub(crate) async fn every_mysql_with_descending_keys() -> Vec<Self> {
        let engines = Self::every_mysql_with_tables().await;
        for engine in &engines {
            let pool = engine.pool().await.mysql();
            let tables = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.COLUMNS \
                WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'id' AND EXTRA LIKE '%auto_increment%'";
            let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&pool).await.expect("the tables are there");
            for table in tables {
                // Counts microseconds down. A test never adds two rows within one microsecond.
                let trigger = format!(
                    "CREATE TRIGGER falling_{table} BEFORE INSERT ON {table} FOR EACH ROW SET NEW.id = \
                     IF(COALESCE(NEW.id, 0) > 0, NEW.id, 9000000000000000 - ROUND(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000))"
                );
                engine.run(trigger).await;
            }
        }
        engines
    }

    /// Returns the same database, behind a proxy that can fail.
    pub(crate) async fn behind_proxy(self) -> (Self, Proxy) {
        let Owner::MySql { server, .. } = &*self.owner else { panic!("SQLite is not reached over a network") };
        let options = MySqlConnectOptions::from_str(server).expect("the database was connected to before");
        let upstream = format!("{}:{}", options.get_host(), options.get_port());
        let proxy = Proxy::start(upstream.clone()).await;
        // The proxy searches the traffic for statements.
        assert!(self.url.ends_with(WITHOUT_TLS), "a database with tables");
        let url = self.url.replace(&upstream, &format!("127.0.0.1:{}", proxy.port));
        assert_ne!(url, self.url, "MYSQL_TEST_URL names the port");
        (Self { url, ..self }, proxy)
    }

    /// Opens the test's own connections. Creates the tables if they are missing.
    pub(crate) async fn pool(&self) -> Pool {
        let has_tables = match &*self.owner {
            Owner::Sqlite(_) => sqlite_file(&self.url).exists(),
            Owner::MySql { is_reused, .. } => *is_reused,
        };
        if !has_tables {
            self.database().await.close().await;
        }
        Pool::open(&self.url).await
    }

    /// Opens the program's own access to the database, for calls of the program's functions.
    pub(crate) async fn database(&self) -> Database {
        Database::connect(&self.url.parse().expect("its address")).await.expect("the database opens")
    }

    /// Returns the database's name on its server.
    pub(crate) fn name(&self) -> &str {
        let name = self.url.rsplit('/').next().expect("an address with a database");
        name.trim_end_matches(WITHOUT_TLS)
    }

    /// Returns the same database, accessed by another user of its server. MySQL accepts a password only over TLS.
    pub(crate) fn as_user(&self, user: &str, password: &str) -> Self {
        let (_, rest) = self.url.split_once('@').expect("an address with a user");
        let rest = rest.trim_end_matches(WITHOUT_TLS);
        Self { url: format!("mysql://{user}:{password}@{rest}"), ..self.clone() }
    }

    /// Creates the test's user on a server, without any permissions. Returns the user's name.
    pub(crate) async fn create_user(&self, password: &str) -> String {
        let Owner::MySql { user, .. } = &*self.owner else { panic!("SQLite has no users") };
        // MySQL limits user names to 32 characters.
        let created = user.get_or_init(|| format!("t{}", &Uuid::new_v4().simple().to_string()[..16]));
        self.run(format!("CREATE USER {created} IDENTIFIED BY '{password}'")).await;
        created.clone()
    }

    /// Runs statements on the database.
    pub(crate) async fn run(&self, sql: String) {
        if self.is_sqlite() {
            let pool = self.pool().await.sqlite();
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.expect("the statement is valid");
        } else {
            statement(&self.url, sql).await;
        }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.url.starts_with("sqlite:")
    }
}

fn sqlite_file(url: &str) -> &Path {
    Path::new(url.trim_start_matches("sqlite://"))
}

async fn statement(address: &str, sql: String) {
    let mut connection = connect(address).await;
    run(&mut connection, sql).await;
    connection.close().await.expect("the connection closes");
}

impl Drop for Owner {
    fn drop(&mut self) {
        let Self::MySql { server, name, user, is_reused } = self else { return };
        let drop_database = (!*is_reused).then(|| format!("DROP DATABASE {name};"));
        let drop_user = user.get().map(|user| format!("DROP USER IF EXISTS {user};"));
        let sql: String = drop_database.into_iter().chain(drop_user).collect();
        if sql.is_empty() {
            return;
        }
        let server = server.clone();
        // A drop happens inside the test's runtime, which must not block on itself.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(statement(&server, sql));
        })
        .join();
        if dropped.is_err() {
            eprintln!("what was made for the test on {name} could not be dropped");
        }
    }
}
