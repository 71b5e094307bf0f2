//! SQL of `file_texts`: the text of documents by the hash of their content, page by page.

use tallybook_database::{Database, Transaction, select};

/// Stores the text of all pages, unless it is stored already.
pub(crate) async fn create(tx: &mut Transaction, sha256: &str, pages: &[String]) -> sqlx::Result<()> {
    let stored: i64 = tx.query("SELECT COUNT(*) FROM file_texts WHERE sha256 = ?").bind(sha256).fetch_value().await?;
    if stored > 0 {
        return Ok(());
    }
    for (page, text) in (1_i32..).zip(pages) {
        tx.check_statement_size(text.len()).await?;
        tx.query("INSERT INTO file_texts (sha256, page, text) VALUES (?, ?, ?)")
            .bind(sha256)
            .bind(page)
            .bind(text.as_str())
            .execute()
            .await?;
    }
    Ok(())
}

/// Returns the text of at most `limit` pages, beginning with this one.
pub(crate) async fn list(db: &Database, sha256: &str, first: i32, limit: i32) -> sqlx::Result<Vec<String>> {
    db.reader()
        .query(select!("SELECT text FROM file_texts WHERE sha256 = ? AND page >= ? ORDER BY page LIMIT ?"))
        .bind(sha256)
        .bind(first)
        .bind(limit)
        .fetch_values()
        .await
}

/// Returns the text of a page.
pub(crate) async fn find(db: &Database, sha256: &str, page: i32) -> sqlx::Result<Option<String>> {
    db.reader()
        .query(select!("SELECT text FROM file_texts WHERE sha256 = ? AND page = ?"))
        .bind(sha256)
        .bind(page)
        .fetch_optional_value()
        .await
}
