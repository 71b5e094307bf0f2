//! Rows of many messages by one query.

use sqlx::{FromRow, QueryBuilder, mysql::MySqlRow, sqlite::SqliteRow};
use tallybook_protocol::MessageId;

use crate::db::{Database, on_db};

/// How many ids one query names; more take several.
pub(super) const MAX_IDS_PER_QUERY: usize = 200;

/// The rows that `select`, the list of `ids` and then `order` find. The ids are in order, and so are the rows.
pub(super) async fn list_of<T>(
    db: &Database,
    select: &'static str,
    ids: &[MessageId],
    order: &'static str,
) -> sqlx::Result<Vec<T>>
where
    T: for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
{
    let mut rows = Vec::new();
    for ids in ids.chunks(MAX_IDS_PER_QUERY) {
        rows.append(&mut on_db!(db, |pool| {
            let mut query = QueryBuilder::new(select);
            let mut list = query.separated(", ");
            for id in ids {
                list.push_bind(*id);
            }
            query.push(order);
            query.build_query_as().fetch_all(pool).await
        })?);
    }
    Ok(rows)
}
