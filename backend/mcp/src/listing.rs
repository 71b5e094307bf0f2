//! Lists the tools of a server page by page. Each tool is checked on its own, so a faulty tool is left out without
//! affecting the others.

use std::collections::HashSet;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tallybook_tools::Secrets;
use tokio::time::timeout;

use super::{
    client::Connection,
    error::ServerError,
    limits::{LIST_TIMEOUT, MAX_LEFT_OUT, MAX_PAGES, MAX_TOOLS},
    pins::{ChangedDefinition, DefinitionHash},
    schema, text,
};

/// Maximum length of a tool's name at its server, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A tool as its server describes it, with its description and schema cleaned up for models.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedTool {
    /// Name that the server uses.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
    pub(crate) claims_read_only: bool,
    pub(crate) claims_idempotent: bool,
    /// SHA-256 of the complete definition as the server wrote it, with secrets redacted.
    pub(crate) hash: DefinitionHash,
}

impl ListedTool {
    pub(crate) fn changed(&self) -> ChangedDefinition {
        let Self { name, description, hash, .. } = self;
        ChangedDefinition { tool: name.clone(), hash: hex::encode(hash), description: description.clone() }
    }
}

/// A tool that is not available to models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Name that the server uses.
    pub name: String,
    /// Reason why the tool is not available.
    pub reason: String,
    /// The changed definition, if it is the reason.
    pub changed: Option<ChangedDefinition>,
}

impl LeftOut {
    pub(crate) fn new(name: &str, reason: impl Into<String>) -> Self {
        Self { name: text::message(name), reason: reason.into(), changed: None }
    }
}

/// Tools that a server listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) tools: Vec<ListedTool>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// Lists all tools of a server, with `secrets` redacted in their definitions. A tool with a secret in a name is left
/// out.
pub(crate) async fn list(connection: &Connection, secrets: &Secrets) -> Result<Listing, ServerError> {
    let listed = timeout(LIST_TIMEOUT, pages(connection, secrets));
    listed.await.map_err(|_| ServerError::Timeout(LIST_TIMEOUT.as_secs()))?
}

async fn pages(connection: &Connection, secrets: &Secrets) -> Result<Listing, ServerError> {
    let mut listing = Listing::default();
    let (mut cursor, mut seen) = (None, HashSet::new());
    for _ in 0..MAX_PAGES {
        let mut page = connection.list_tools(cursor.take()).await?;
        let Some(tools) = page.get_mut("tools").and_then(Value::as_array_mut) else {
            return Err(ServerError::InvalidResponse("its tool list is not an array".to_owned()));
        };
        for tool in tools {
            // Excludes the name, with which the tool is called.
            let members = tool.as_object_mut().into_iter().flatten();
            members.filter(|(member, _)| *member != "name").for_each(|(_, member)| redact(member, secrets));
            if secrets.occur_in(&tool.to_string()) {
                listing.leave_out("", "a name in it contains a secret of the settings");
            } else {
                listing.add(tool);
            }
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(next) if seen.insert(next.to_owned()) => cursor = Some(next.to_owned()),
            // No further page, or a cursor that occurred before, which would cause an endless loop.
            _ => return Ok(listing),
        }
    }
    Ok(listing)
}

/// Redacts secrets in all strings. Leaves the names of members unchanged, because argument names are among them.
fn redact(value: &mut Value, secrets: &Secrets) {
    match value {
        Value::String(text) => *text = secrets.redact(text.as_str()).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, secrets)),
        Value::Object(members) => members.values_mut().for_each(|member| redact(member, secrets)),
        _ => {}
    }
}

impl Listing {
    fn leave_out(&mut self, name: &str, reason: impl Into<String>) {
        if self.left_out.len() < MAX_LEFT_OUT {
            self.left_out.push(LeftOut::new(name, reason));
        }
    }

    fn add(&mut self, tool: &Value) {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return self.leave_out(name, "it has no valid name");
        }
        if self.tools.iter().any(|known| known.name == name) {
            return self.leave_out(name, "it is listed twice");
        }
        if self.tools.len() >= MAX_TOOLS {
            return self.leave_out(name, format!("the server has more than {MAX_TOOLS} tools"));
        }
        match listed(name, tool) {
            Ok(tool) => self.tools.push(tool),
            Err(reason) => self.leave_out(name, reason),
        }
    }
}

fn listed(name: &str, tool: &Value) -> Result<ListedTool, String> {
    let content = |member: &str| match tool.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(content)) => Ok(Some(content.as_str())),
        Some(_) => Err(format!("its {member} is not a string")),
    };
    let schema = tool.get("inputSchema").ok_or_else(|| "it has no input schema".to_owned())?;
    let mended = schema::mend(schema)?;
    let note = match mended.dropped.join(", ") {
        none if none.is_empty() => none,
        dropped => format!(" (Left out here of its arguments' schema: {dropped}.)"),
    };
    let description = text::description_with(content("description")?.or(content("title")?).unwrap_or(name), &note);
    let claims = |hint: &str| tool.pointer(&format!("/annotations/{hint}")).and_then(Value::as_bool) == Some(true);
    // Reads each member on its own, because `rmcp` may have read the list and dropped members that it does not know.
    let annotations = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    // Includes the title, which replaces a missing description.
    let members = ["name", "title", "description", "inputSchema"].map(|member| tool.get(member));
    let definition = (members, annotations.map(|hint| tool.pointer(&format!("/annotations/{hint}"))));
    Ok(ListedTool {
        name: name.to_owned(),
        description,
        input_schema: mended.schema,
        claims_read_only: claims("readOnlyHint"),
        claims_idempotent: claims("idempotentHint") || claims("readOnlyHint"),
        hash: Sha256::digest(serde_json::json!(definition).to_string()).into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_definition_covers_everything_that_a_model_receives() {
        let tool = json!({ "name": "a", "title": "Reads", "inputSchema": {}, "annotations": { "readOnlyHint": true } });
        let hash = |tool: &Value| listed("a", tool).unwrap().hash;
        for (member, changed) in [
            ("title", json!("Deletes")),
            ("description", json!("Reads")),
            ("inputSchema", json!({ "properties": { "b": {} } })),
            ("annotations", json!({ "readOnlyHint": true, "idempotentHint": true })),
        ] {
            let mut other = tool.clone();
            other[member] = changed;
            assert_ne!(hash(&other), hash(&tool), "{member}");
        }
        assert_eq!(hash(&tool.clone()), hash(&tool));
    }

    #[test]
    fn a_malformed_tool_leaves_out_itself() {
        let mut listing = Listing::default();
        let good = json!({ "name": "good", "inputSchema": {}, "annotations": { "readOnlyHint": true } });
        let nameless = json!({ "inputSchema": {} });
        let strange = json!({ "name": "strange", "description": 7, "inputSchema": {} });
        for tool in [&good, &good, &nameless, &strange, &json!({ "name": "bare" }), &json!(null)] {
            listing.add(tool);
        }
        assert_eq!(listing.tools.len(), 1);
        assert!(listing.tools[0].claims_read_only && listing.tools[0].claims_idempotent);
        let reasons: Vec<_> = listing.left_out.iter().map(|left_out| left_out.reason.as_str()).collect();
        let nameless = "it has no valid name";
        let expected =
            ["it is listed twice", nameless, "its description is not a string", "it has no input schema", nameless];
        assert_eq!(reasons, expected);
    }

    #[test]
    fn tools_and_reasons_are_bounded() {
        let mut listing = Listing::default();
        for index in 0..1000 {
            listing.add(&json!({ "name": format!("t{index}"), "inputSchema": {} }));
        }
        assert_eq!((listing.tools.len(), listing.left_out.len()), (MAX_TOOLS, MAX_LEFT_OUT));
    }
}
