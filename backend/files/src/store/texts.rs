//! SQL of `file_texts`: the text of documents by the hash of their content, page by page.

use tallybook_database::{Database, Transaction, batch_len, select};

use crate::limits::PAGES_PER_READ;

/// Stores the text of all pages, unless it is stored already.
pub(crate) async fn create(tx: &mut Transaction, sha256: &str, pages: &[String]) -> sqlx::Result<()> {
    let stored: i64 = tx.query("SELECT COUNT(*) FROM file_texts WHERE sha256 = ?").bind(sha256).fetch_value().await?;
    if stored > 0 {
        return Ok(());
    }
    let (mut first, mut pages) = (1_i32, pages);
    while !pages.is_empty() {
        let sizes = pages.iter().map(String::len);
        let (together, rest) = pages.split_at(batch_len(sizes.clone()));
        tx.check_statement_size(sizes.take(together.len()).sum()).await?;
        let mut insert = tx.query("INSERT INTO file_texts (sha256, page, text) VALUES ");
        insert.push_rows((first..).zip(together), |row, (page, text)| {
            row.push(sha256).push(page).push(text.as_str());
        });
        insert.execute().await?;
        first += i32::try_from(together.len()).unwrap_or(i32::MAX);
        pages = rest;
    }
    Ok(())
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
