//! Checks numbers in the page's style sheets. Only `tokens.css` may set font sizes, letter spacing, layers, and
//! durations, so that a redesign changes one file. Sizes of a single component, such as the width of a field, belong to
//! its own file.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::{ui::files_below, workspace};

/// The file that sets them.
const TOKENS: &str = "tokens.css";

/// Returns the number of files, or an error that lists the values that are set in other files.
pub(crate) fn check() -> Result<usize> {
    let files = files_below(&workspace::root().join("frontend/style"))?;
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with(TOKENS)) {
        let style = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let said = decisions(&style).into_iter().map(|said| format!("{}: {said}", file.display()));
        found.extend(said);
    }
    ensure!(
        found.is_empty(),
        "these values belong in frontend/style/{TOKENS}; define a variable there and use it:\n{}",
        found.join("\n")
    );
    Ok(files.len())
}

/// Returns the declarations that have numbers and belong in the tokens.
fn decisions(style: &str) -> Vec<String> {
    let mut rules = String::new();
    for (at, part) in style.split("/*").enumerate() {
        let after_comment = part.split_once("*/").map_or("", |(_, after)| after);
        rules.push_str(if at == 0 { part } else { after_comment });
    }
    let declarations = rules.split(['{', '}', ';']).filter_map(|text| text.split_once(':'));
    declarations
        .map(|(property, value)| (property.trim(), value.trim()))
        .filter(|(property, value)| numbers(value).any(|(number, unit)| decides(property, number, unit)))
        .map(|(property, value)| format!("{property}: {value}"))
        .collect()
}

fn decides(property: &str, number: f64, unit: &str) -> bool {
    match property {
        // Relative to the surrounding text, or to the user's own font size.
        "font-size" => !matches!(unit, "em" | "%"),
        "letter-spacing" | "z-index" => number != 0.0,
        _ if ["transition", "animation"].iter().any(|moved| property.starts_with(moved)) => {
            number != 0.0 && matches!(unit, "s" | "ms")
        }
        _ => false,
    }
}

/// Returns the numbers of a value, each with its unit.
fn numbers(value: &str) -> impl Iterator<Item = (f64, &str)> {
    value.split(|c: char| c.is_whitespace() || "(),".contains(c)).filter_map(|word| {
        let end = word.find(|c: char| !(c.is_ascii_digit() || ".-".contains(c))).unwrap_or(word.len());
        let (number, unit) = word.split_at(end);
        Some((number.parse().ok()?, unit))
    })
}

#[cfg(test)]
mod tests {
    use super::decisions;

    #[test]
    fn values_that_belong_in_the_tokens_are_found_and_others_are_not() {
        let style = ".a { font-size: 0.9em; width: 17rem; /* font-size: 3rem; */ letter-spacing: 0; }
            @media (max-width: 30rem) { .a { transition: color var(--quick), visibility 0s; font-size: var(--text-2xl) } }
            .b::after { animation: caret var(--blink) steps(1) infinite; z-index: var(--layer-notes); font-size: 100% }";
        assert_eq!(decisions(style), [""; 0]);
        let style = ".a { font-size: 1.25rem; z-index: 3 } .b { letter-spacing: -0.07em; }
            @media print { .c { transition:\n color 140ms ease; animation-duration: 2s; font-size: max(1rem, 16px) } }";
        let found = [
            "font-size: 1.25rem",
            "z-index: 3",
            "letter-spacing: -0.07em",
            "transition: color 140ms ease",
            "animation-duration: 2s",
            "font-size: max(1rem, 16px)",
        ];
        assert_eq!(decisions(style).iter().map(|said| said.replace('\n', "")).collect::<Vec<_>>(), found);
    }
}
