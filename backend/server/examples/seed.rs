//! Fills a database with generated tool calls, to measure the tool history with many calls: `cargo xtask seed`. The
//! calls are the same each time. They belong to conversations of generated users, over the last sixty days. Also
//! generates messages of the local user, to measure the search.

use chrono::{DateTime, TimeDelta, Utc};
use clap::Parser;
use sqlx::migrate::MigrateDatabase as _;
use tallybook_database::{COMMAND_TIMEOUT, Database, DatabaseUrl, Transaction, now, select};

/// Calls per turn, and turns per conversation.
const CALLS_OF_TURN: i64 = 4;
const TURNS_OF_CONVERSATION: i64 = 10;
/// Turns per transaction.
const TURNS_AT_ONCE: i64 = 200;
const PEOPLE: i64 = 100;
const DAYS: i64 = 60;
const TOOLS: [&str; 8] =
    ["add", "current_time", "docs__search", "docs__read", "web__fetch", "files__list", "files__write", "calculate"];
const MODELS: [&str; 3] = ["Small", "Large", "Local"];

/// Messages per conversation of the local user.
const MESSAGES_OF_CONVERSATION: i64 = 50;
/// A word that only one of the local user's messages has.
const RARE: &str = "Quetzalcoatl";
/// The texts from which their words are. None of them may have the words that the bench searches for.
const TEXTS: [&str; 4] = [
    include_str!("../../../docs/explanation/decisions.md"),
    include_str!("../../../docs/explanation/security.md"),
    include_str!("../../../docs/reference/configuration.md"),
    include_str!("../../../docs/reference/tool-history.md"),
];

#[derive(Parser)]
struct Options {
    /// Number of tool calls to generate
    #[arg(long, default_value_t = 0)]
    tool_calls: i64,
    /// Number of messages of the local user to generate, in addition to those with the tool calls
    #[arg(long, default_value_t = 0)]
    messages: i64,
    /// Generate only as many as are missing from this number
    #[arg(long)]
    fill_up: bool,
    /// Database URL; the database is created if it does not exist
    #[arg(long)]
    database_url: String,
}

/// The next free IDs, the start time of the next call, and the time between two calls.
struct Next {
    user: i64,
    conversation: i64,
    message: i64,
    call: i64,
    began: DateTime<Utc>,
    between: TimeDelta,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Options { tool_calls, messages, fill_up, database_url } = Options::parse();
    let url: DatabaseUrl = database_url.parse()?;
    if !database_url.starts_with("sqlite:") && !sqlx::MySql::database_exists(&database_url).await? {
        sqlx::MySql::create_database(&database_url).await?;
    }
    let db = Database::connect(&url).await?;
    let there = if fill_up { count(&db).await? } else { 0 };
    if there < tool_calls {
        fill(&db, tool_calls - there).await?;
    }
    let there = if fill_up { count_messages(&db).await? } else { 0 };
    if there < messages {
        write_messages(&db, messages - there).await?;
        tallybook_conversations::index_all_messages(&db).await?;
    }
    db.close().await;
    Ok(())
}

async fn count(db: &Database) -> anyhow::Result<i64> {
    Ok(db.reader().query(select!("SELECT COUNT(*) FROM tool_calls")).fetch_value().await?)
}

/// Counts the local user's messages.
async fn count_messages(db: &Database) -> anyhow::Result<i64> {
    let count =
        select!("SELECT COUNT(*) FROM conversations c JOIN messages m ON m.conversation_id = c.id WHERE c.user_id = 1");
    Ok(db.reader().query(count).fetch_value().await?)
}

/// Generates this number of messages of the local user.
async fn write_messages(db: &Database, messages: i64) -> anyhow::Result<()> {
    let words: Vec<&str> = TEXTS.iter().flat_map(|text| text.split_whitespace()).collect();
    let mut next = Next::after(db, messages.max(1)).await?;
    let rare = next.message + messages / 2;
    for first in (0..messages).step_by(usize::try_from(MESSAGES_OF_CONVERSATION)?) {
        let mut tx = db.begin().await?;
        let (id, began) = (next.conversation, next.began);
        let last = next.message + MESSAGES_OF_CONVERSATION.min(messages - first) - 1;
        let mut conversation = tx.query(
            "INSERT INTO conversations (id, uuid, user_id, title, head_message_id, created_at, updated_at) VALUES ",
        );
        conversation.push_rows([id], |row, id| {
            row.push(id).push(format!("5eed0000-0000-4000-8000-{id:012}")).push(1_i64);
            row.push(format!("Made-up conversation {id}")).push(last).push(began).push(began);
        });
        conversation.execute().await?;
        let mut rows = tx.query(
            "INSERT INTO messages (id, conversation_id, parent_id, role, content, status, created_at, completed_at) VALUES ",
        );
        rows.push_rows(next.message..=last, |row, message| {
            let place = message - next.message;
            let at = began + next.between * i32::try_from(place).unwrap_or(0);
            let is_answer = place % 2 == 1;
            let mut content = text(&words, message, if is_answer { 430 } else { 30 });
            if message == rare {
                content.push_str(RARE);
            }
            row.push(message).push(id).push((place > 0).then_some(message - 1));
            row.push(if is_answer { "assistant" } else { "user" }.to_owned()).push(content);
            row.push("complete".to_owned()).push(at).push(at);
        });
        rows.execute().await?;
        tx.commit().await?;
        next.message = last + 1;
        next.conversation += 1;
        next.began += next.between * i32::try_from(MESSAGES_OF_CONVERSATION)?;
    }
    let analyze = if db.is_embedded() { "ANALYZE" } else { "ANALYZE TABLE messages, conversations" };
    db.writer().query(analyze).with_timeout(COMMAND_TIMEOUT).execute().await?;
    Ok(())
}

/// Returns a text of this number of words: passages of the documentation.
fn text(words: &[&str], seed: i64, count: usize) -> String {
    let mut text = String::new();
    let mut written = 0;
    while written < count {
        let luck = usize::try_from(luck(seed * 1000 + i64::try_from(written).unwrap_or(0))).unwrap_or(0);
        let passage = 8 + luck % 20;
        for word in words.iter().cycle().skip(luck % words.len()).take(passage) {
            text.push_str(word);
            text.push(' ');
        }
        written += passage;
    }
    text
}

/// Generates this number of calls.
async fn fill(db: &Database, tool_calls: i64) -> anyhow::Result<()> {
    let mut next = Next::after(db, tool_calls.max(1)).await?;
    write_people(db, next.user).await?;
    let turns = (tool_calls + CALLS_OF_TURN - 1) / CALLS_OF_TURN;
    let mut written = 0;
    while written < turns {
        let count = TURNS_AT_ONCE.min(turns - written);
        let mut tx = db.begin().await?;
        write_turns(&mut tx, &next, count).await?;
        tx.commit().await?;
        next.conversation += (count + TURNS_OF_CONVERSATION - 1) / TURNS_OF_CONVERSATION;
        next.message += count * 2;
        next.call += count * CALLS_OF_TURN;
        next.began += next.between * i32::try_from(count * CALLS_OF_TURN)?;
        written += count;
    }
    let analyze =
        if db.is_embedded() { "ANALYZE" } else { "ANALYZE TABLE tool_calls, messages, model_calls, conversations" };
    db.writer().query(analyze).with_timeout(COMMAND_TIMEOUT).execute().await?;
    Ok(())
}

impl Next {
    async fn after(db: &Database, calls: i64) -> anyhow::Result<Self> {
        let sql = select!(
            "SELECT (SELECT COALESCE(MAX(id), 0) FROM users), (SELECT COALESCE(MAX(id), 0) FROM conversations), \
             (SELECT COALESCE(MAX(id), 0) FROM messages), (SELECT COALESCE(MAX(id), 0) FROM tool_calls)"
        );
        let (user, conversation, message, call): (i64, i64, i64, i64) = db.reader().query(sql).fetch_one().await?;
        let between = TimeDelta::microseconds(TimeDelta::days(DAYS).num_microseconds().unwrap_or(0) / calls);
        let (began, one) = (now() - TimeDelta::days(DAYS), 1);
        Ok(Self {
            user: user + one,
            conversation: conversation + one,
            message: message + one,
            call: call + one,
            began,
            between,
        })
    }
}

async fn write_people(db: &Database, first: i64) -> anyhow::Result<()> {
    for id in first..first + PEOPLE {
        let sql = "INSERT INTO users (id, name, role, created_at) VALUES (?, ?, 'user', ?)";
        db.writer().query(sql).bind(id).bind(format!("person{id}")).bind(now()).execute().await?;
    }
    Ok(())
}

/// Writes the rows of `count` turns.
async fn write_turns(tx: &mut Transaction, next: &Next, count: i64) -> sqlx::Result<()> {
    let conversation_of = |turn: i64| next.conversation + turn / TURNS_OF_CONVERSATION;
    let user_of = |turn: i64| next.user + conversation_of(turn) % PEOPLE;
    let model_of = |turn: i64| MODELS[usize::try_from((next.message + turn) % 3).unwrap_or(0)];
    let began =
        |turn: i64, call: i64| next.began + next.between * i32::try_from(turn * CALLS_OF_TURN + call).unwrap_or(0);
    let mut conversations =
        tx.query("INSERT INTO conversations (id, uuid, user_id, title, created_at, updated_at) VALUES ");
    conversations.push_rows((0..count).step_by(10), |row, turn| {
        let id = conversation_of(turn);
        row.push(id).push(format!("5eed0000-0000-4000-8000-{id:012}")).push(user_of(turn));
        row.push(format!("Made-up conversation {id}")).push(began(turn, 0)).push(began(turn, 0));
    });
    conversations.execute().await?;

    let mut messages = tx.query(
        "INSERT INTO messages (id, conversation_id, parent_id, role, content, status, model, created_at) VALUES ",
    );
    messages.push_rows((0..count * 2).map(|at| (at / 2, at % 2)), |row, (turn, side)| {
        let id = next.message + turn * 2 + side;
        let is_first = turn % TURNS_OF_CONVERSATION == 0 && side == 0;
        row.push(id).push(conversation_of(turn)).push((!is_first).then_some(id - 1));
        row.push(if side == 0 { "user" } else { "assistant" }.to_owned());
        row.push(format!("What was said at place {id}, in a few words.")).push("complete".to_owned());
        row.push((side == 1).then(|| model_of(turn).to_owned())).push(began(turn, 0));
    });
    messages.execute().await?;

    let mut model_calls = tx.query(
        "INSERT INTO model_calls (message_id, step, provider, model, input_tokens, output_tokens, cost_nanos, \
         duration_ms, blocks, created_at) VALUES ",
    );
    model_calls.push_rows((0..count * 2).map(|at| (at / 2, at % 2)), |row, (turn, step)| {
        let luck = luck(next.message + turn * 2 + step);
        row.push(next.message + turn * 2 + 1).push(step).push("made-up".to_owned());
        row.push(model_of(turn).to_owned()).push(500 + luck % 4000).push(20 + luck % 300);
        row.push(luck % 9_000_000).push(300 + luck % 5000).push("[]".to_owned());
        row.push(began(turn, step * 2));
    });
    model_calls.execute().await?;

    let mut calls = tx.query(
        "INSERT INTO tool_calls (id, message_id, tool_call_id, tool_name, input, input_text, output, error, \
         error_type, status, step, position, text_offset, started_at, completed_at, duration_ms, user_id, \
         conversation_id, model) VALUES ",
    );
    calls.push_rows(
        (0..count * CALLS_OF_TURN).map(|at| (at / CALLS_OF_TURN, at % CALLS_OF_TURN)),
        |row, (turn, at)| {
            let id = next.call + turn * CALLS_OF_TURN + at;
            let luck = luck(id);
            let (status, is_failed) = match luck % 100 {
                0..6 => ("error", true),
                6 => ("denied", true),
                7 => ("interrupted", true),
                _ => ("success", false),
            };
            // Most calls are fast; a few are slow.
            let ms = 1
                + luck % 40
                + if luck % 11 == 0 { luck % 900 } else { 0 }
                + if luck % 97 == 0 { luck % 20_000 } else { 0 };
            let input = format!(r#"{{"query":"made-up number {}","page":{}}}"#, luck % 100_000, luck % 7);
            row.push(id).push(next.message + turn * 2 + 1).push(format!("call_{id}"));
            row.push(TOOLS[usize::try_from(luck % 131 % 8).unwrap_or(0)].to_owned());
            row.push(input.clone()).push(input);
            row.push((!is_failed).then(|| format!("Result {id}. {}", "Some text that a tool gives back. ".repeat(5))));
            row.push(is_failed.then(|| format!("It went wrong with code {}.", luck % 50)));
            row.push(is_failed.then(|| "tool_error".to_owned())).push(status.to_owned());
            row.push(at / 2).push(at % 2).push(0_i64);
            row.push(began(turn, at)).push(began(turn, at) + TimeDelta::milliseconds(ms)).push(ms);
            row.push(user_of(turn)).push(conversation_of(turn)).push(model_of(turn).to_owned());
        },
    );
    calls.execute().await?;
    Ok(())
}

/// Returns a pseudorandom number that is the same each time for a seed.
fn luck(seed: i64) -> i64 {
    let mixed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0x2545_F491_4F6C_DD1D) >> 20) & 0x7FFF_FFFF
}
