//! The SQL of conversations, messages, turns and their calls. One text serves both engines, so there is no `RETURNING`,
//! no upsert and no `FOR UPDATE`: work is claimed by a conditional UPDATE that changes exactly one row.

use sqlx::{FromRow, QueryBuilder, mysql::MySqlRow, sqlite::SqliteRow};

use crate::db::{Database, on_db};

pub(super) mod calls;
pub(super) mod conversations;
pub(super) mod messages;
pub(super) mod turns;

/// How many ids one query names; more take several.
const IDS_AT_ONCE: usize = 200;

/// The rows that `select`, the list of `ids` and then `order` find. The ids are in order, and so are the rows.
async fn list_of<T>(db: &Database, select: &'static str, ids: &[i64], order: &'static str) -> sqlx::Result<Vec<T>>
where
    T: for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
{
    let mut rows = Vec::new();
    for ids in ids.chunks(IDS_AT_ONCE) {
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
