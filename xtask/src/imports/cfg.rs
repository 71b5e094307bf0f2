//! Decides which code is part of the program, and not of its tests or of fuzzing.

use syn::{Attribute, Meta, Token, punctuated::Punctuated};

/// Conditions that no ordinary build sets. Any other condition may hold in some build.
const NEVER_SET: [&str; 2] = ["test", "fuzzing"];

/// Returns `true` if code with these attributes may be compiled into the program.
pub(super) fn is_in_program(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    conditions.filter_map(|condition| condition.parse_args().ok()).all(|condition| holds(&condition) != Some(false))
}

/// Evaluates a condition: `Some(true)` if it always holds, `Some(false)` if it never does; `None` if that depends on
/// the build.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::Path(name) if NEVER_SET.iter().any(|never| name.is_ident(never)) => Some(false),
        Meta::List(list) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
            let mut inner = inner.iter().map(holds);
            if list.path.is_ident("not") {
                inner.next()?.map(|holds| !holds)
            } else if list.path.is_ident("any") {
                inner.try_fold(false, |any, holds| if any { Some(true) } else { holds })
            } else {
                // `all`: one condition that never holds is enough, regardless of the others.
                inner.any(|holds| holds == Some(false)).then_some(false)
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::is_in_program;

    #[test]
    fn code_with_conditions_that_only_tests_meet_is_left_out() {
        for (condition, expected) in [
            ("test", false),
            ("any(test, fuzzing)", false),
            ("all(test, unix)", false),
            ("any(test, unix)", true),
            ("not(test)", true),
            ("unix", true),
            ("feature = \"test\"", true),
        ] {
            let item: syn::ItemStruct = syn::parse_str(&format!("#[cfg({condition})] struct Thing;")).unwrap();
            assert_eq!(is_in_program(&item.attrs), expected, "{condition}");
        }
    }
}
