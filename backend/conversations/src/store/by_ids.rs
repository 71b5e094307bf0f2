//! Selects or deletes many rows by their IDs in one statement.

use tallybook_database::{Argument, Database, Row, Select};

/// Maximum number of IDs per query; more IDs take several queries.
pub(crate) const MAX_IDS_PER_QUERY: usize = 200;

/// Returns the rows of a query that consists of `select`, a list of `ids`, and `order`. The rows are in order if `ids`
/// are.
pub(crate) async fn by_ids<I, T>(db: &Database, select: Select, ids: &[I], order: &'static str) -> sqlx::Result<Vec<T>>
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

/// Returns the rows of a union of two queries, each of which has the same list of `ids`. `selects` are the texts before
/// the lists.
pub(crate) async fn by_ids_of_two<I, T>(
    db: &Database,
    selects: (Select, &'static str),
    ids: &[I],
    order: &'static str,
) -> sqlx::Result<Vec<T>>
where
    I: Copy + Sync + for<'v> Argument<'v>,
    T: Row,
{
    let mut rows = Vec::new();
    for ids in ids.chunks(MAX_IDS_PER_QUERY) {
        let mut query = db.reader().query(selects.0);
        query.push_list(ids.iter().copied()).push(selects.1);
        query.push_list(ids.iter().copied()).push(order);
        rows.append(&mut query.fetch_all().await?);
    }
    Ok(rows)
}

/// Runs `delete` on the rows with the given primary keys, so that it locks no other rows. `delete` must end with the
/// opening parenthesis of the list of keys. `keys` must not be empty.
pub(crate) async fn delete_of(db: &Database, delete: &'static str, keys: &[i64]) -> sqlx::Result<()> {
    let mut query = db.writer().query(delete);
    query.push_list(keys).push(")");
    query.execute().await.map(|_| ())
}
