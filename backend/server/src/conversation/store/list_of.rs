//! Rows of many messages or calls by one query.

use sqlx::{Encode, FromRow, MySql, QueryBuilder, Sqlite, Type, mysql::MySqlRow, sqlite::SqliteRow};

use crate::db::{Database, on_db};

/// How many ids one query names; more take several.
pub(super) const MAX_IDS_PER_QUERY: usize = 200;

/// The rows that `select`, the list of `ids` and then `order` find. They are in order when the ids are.
pub(super) async fn list_of<I, T>(
    db: &Database,
    select: &'static str,
    ids: &[I],
    order: &'static str,
) -> sqlx::Result<Vec<T>>
where
    I: Copy + Sync + Type<MySql> + Type<Sqlite> + for<'q> Encode<'q, MySql> + for<'q> Encode<'q, Sqlite>,
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
