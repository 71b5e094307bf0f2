//! Expands `${VAR}`, `${VAR:-x}` and `${env:VAR}` in the values of settings. The value of a variable is not expanded
//! again.

/// A variable that the settings refer to is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct UnsetVariable(String);

impl UnsetVariable {
    /// Creates the error for a variable whose name the setting `key` contains. The error does not contain that name,
    /// because the setting may contain the secret itself by mistake.
    pub(crate) fn named_by(key: &str) -> Self {
        Self(format!("that {key} names"))
    }
}

/// Returns the value with its variables expanded. `find` returns the value of a variable. Fails if a variable is not
/// set and has no default.
pub(crate) fn expanded(value: &str, find: &impl Fn(&str) -> Option<String>) -> Result<String, UnsetVariable> {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, following)) = after.split_once('}') else { break };
        text.push_str(before);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        match (find(name), default) {
            (Some(held), None) => text.push_str(&held),
            // As in a shell, the default after `:-` also replaces an empty value.
            (Some(held), Some(_)) if !held.is_empty() => text.push_str(&held),
            (_, Some(default)) => text.push_str(default),
            (None, None) => return Err(UnsetVariable(name.to_owned())),
        }
        rest = following;
    }
    text.push_str(rest);
    Ok(text)
}

/// Returns the names of the variables in a value.
pub(crate) fn variables_in(value: &str) -> impl Iterator<Item = &str> {
    let inside = value.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    inside.map(|inside| {
        let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
        name.strip_prefix("env:").unwrap_or(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_expanded_once() {
        let find = |name: &str| match name {
            "A" => Some("${B}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let expanded = |value| expanded(value, &find);
        assert_eq!(expanded("x ${A} ${env:A} y").unwrap(), "x ${B} ${B} y");
        assert_eq!(expanded("${NONE:-d}${EMPTY:-e}${EMPTY}").unwrap(), "de");
        assert_eq!(expanded("$A {B} ${open").unwrap(), "$A {B} ${open");
        assert_eq!(expanded("${NONE}").unwrap_err().to_string(), "the environment variable NONE is not set");
    }
}
