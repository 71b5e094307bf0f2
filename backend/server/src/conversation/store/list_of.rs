//! Rows of many messages or calls by one statement.

use tallybook_database::{Argument, Database, Row, Select};

/// How many ids one query names; more take several.
pub(super) const MAX_IDS_PER_QUERY: usize = 200;

/// The rows that `select`, the list of `ids` and then `order` find. They are in order when the ids are.
pub(super) async fn list_of<I, T>(db: &Database, select: Select, ids: &[I], order: &'static str) -> sqlx::Result<Vec<T>>
where
    I: Copy + Sync + for<'v> Argument<'v>,
    T: Row,
{
    let mut rows = Vec::new();
    for ids in ids.chunks(MAX_IDS_PER_QUERY) {
        let mut query = db.reader().query(select);
        query.push_list(ids.iter().copied()).push(order);
        rows.append(&mut query.fetch_all().await?);
    }
    Ok(rows)
}

/// Runs `delete`, which ends with the opening of a list, on rows that are named by their keys; so it locks no others. There must be
/// one at least.
pub(super) async fn delete_of(db: &Database, delete: &'static str, keys: &[i64]) -> sqlx::Result<()> {
    let mut query = db.writer().query(delete);
    query.push_list(keys).push(")");
    query.execute().await.map(|_| ())
}
