//! MySQL and MariaDB servers to test on: their addresses, and statements that a test runs itself.

use std::str::FromStr;

use sqlx::{
    AssertSqlSafe, ConnectOptions, Executor, MySqlConnection,
    mysql::{MySqlConnectOptions, MySqlSslMode},
};

/// Returns the addresses in `MYSQL_TEST_URL`.
pub(crate) fn addresses() -> Vec<String> {
    let servers = std::env::var("MYSQL_TEST_URL").unwrap_or_default();
    let servers: Vec<String> = servers.split(',').map(str::trim).filter(|s| !s.is_empty()).map(str::to_owned).collect();
    assert!(
        !servers.is_empty(),
        "set MYSQL_TEST_URL to a MySQL or MariaDB server, such as mysql://root@127.0.0.1:3306, or run `cargo xtask test`"
    );
    servers
}

/// Returns the URL of a database on a server.
pub(crate) fn url(server: &str, name: &str) -> String {
    format!("{}/{name}", server.trim_end_matches('/'))
}

/// Connects to a server, or to a database on it.
pub(crate) async fn connect(address: &str) -> MySqlConnection {
    let options = MySqlConnectOptions::from_str(address).expect("MYSQL_TEST_URL is a list of mysql:// addresses");
    options.ssl_mode(MySqlSslMode::Disabled).connect().await.expect("the server that MYSQL_TEST_URL names answers")
}

/// Runs statements, separated by semicolons.
pub(crate) async fn run(connection: &mut MySqlConnection, sql: String) {
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.expect("the test user has all permissions");
}
