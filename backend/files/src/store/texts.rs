//! SQL of `file_texts`: the text of documents by the hash of their content, page by page.

use tallybook_database::{Database, Transaction, select};

use crate::limits::PAGES_PER_READ;

/// Stores the text of all pages, unless it is stored already. Returns the number of stored pages, which differs from
/// that of `pages` if another version of the program split the same text.
pub(crate) async fn create(tx: &mut Transaction, sha256: &str, pages: &[String]) -> sqlx::Result<i64> {
    let stored: i64 = tx.query("SELECT COUNT(*) FROM file_texts WHERE sha256 = ?").bind(sha256).fetch_value().await?;
    if stored > 0 {
        return Ok(stored);
    }
    let pages: Vec<(i32, &String)> = (1..).zip(pages).collect();
    tx.insert_rows(
        "INSERT INTO file_texts (sha256, page, text) VALUES ",
        &pages,
        |(_, text)| text.len(),
        |row, (page, text)| {
            row.push(sha256).push(*page).push(text.as_str());
        },
    )
    .await?;
    Ok(i64::try_from(pages.len()).unwrap_or(i64::MAX))
}

/// Returns the text of at most [`PAGES_PER_READ`] pages, beginning with this one.
pub(crate) async fn list(db: &Database, sha256: &str, first: i32) -> sqlx::Result<Vec<String>> {
    db.reader()
        .query(select!("SELECT text FROM file_texts WHERE sha256 = ? AND page >= ? ORDER BY page LIMIT ?"))
        .bind(sha256)
        .bind(first)
        .bind(PAGES_PER_READ)
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
