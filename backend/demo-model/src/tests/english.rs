//! Tests of questions in English that the demo model understands, and of questions that it refuses.

use super::{Talk, answer, number};

#[test]
fn the_example_of_the_first_page() {
    let turn = Talk::new().ask("What is (12.5 + 7.25) × 4?");
    assert_eq!(turn.preface, "Let me work that out.\n\n");
    let call = |tool: &str, input: &str| (tool.to_owned(), input.to_owned());
    assert_eq!(turn.steps, [[call("add", r#"{"a":12.5,"b":7.25}"#)], [call("multiply", r#"{"a":19.75,"b":4}"#)]]);
    assert_eq!(turn.answer, "Done: (12.5 + 7.25) × 4 = **79**.");
}

#[test]
fn independent_parts_run_in_one_step() {
    let turn = Talk::new().ask("(1 + 2) * (3 + 4) - 10 / 4");
    assert_eq!(turn.steps.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 1]);
    assert_eq!(turn.answer, "Done: (1 + 2) × (3 + 4) − 10 ÷ 4 = **18.5**.");
    // Equal calls are made only once.
    assert_eq!(Talk::new().ask("(1 + 2) * (1 + 2)").steps.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn long_chains_take_few_steps() {
    let sum = (1..=60).map(|n| n.to_string()).collect::<Vec<_>>().join(" + ");
    let turn = Talk::new().ask(&sum);
    assert!(turn.steps.len() <= 6, "{} steps", turn.steps.len());
    assert!(turn.answer.ends_with("= **1830**."));
    assert_eq!(number("100 - 1 - 2 + 3 - 4"), "96");
    assert_eq!(number("360 / 2 / 3 * 5 / 4"), "75");
}

#[test]
fn questions() {
    for (question, expected) in [
        ("10 divided by 4", "2.5"),
        ("5 plus 6 times 2", "17"),
        ("subtract 3 from 10", "7"),
        ("what's 15% of 80?", "12"),
        ("What is 0.1 + 0.2?", "0.3"),
        ("5x6", "30"),
        ("5 x 6 = ?", "30"),
        ("2(3 + 4)", "14"),
        ("(1 + 2)(3 + 4)", "21"),
        ("What is 6 over 4", "1.5"),
        ("What is 7 times the square of 3", "63"),
        ("divide 100 by 8", "12.5"),
        ("add 3 to 4", "7"),
        ("multiply 12 by 12", "144"),
        ("what's half of 9?", "4.5"),
        ("a quarter of 100", "25"),
        ("double 21", "42"),
        ("60% of 50 plus 1", "31"),
        ("7 × 8 = ?", "56"),
        ("how much is 1,234.50 + 1?", "1235.5"),
        ("-3 + 5", "2"),
        ("3 - -2", "5"),
        ("minus 3 plus 5", "2"),
        ("negative 4 times 2", "-8"),
        ("twenty-five plus three hundred", "325"),
        ("two million minus one", "1999999"),
        ("5 million + 1.5 thousand", "5001500"),
        ("half of 10 plus 1", "6"),
        ("200 + 10%", "220"),
        ("50 - 20%", "40"),
        ("5 squared plus 2 cubed", "33"),
        ("1.1^2", "1.21"),
        ("the sum of 1, 2 and 3", "6"),
        ("2 times the difference between 10 and 4", "12"),
        ("1e-20 * 1e-20", "1e-40"),
        ("Hello! Could you please tell me what 2 plus 2 is?", "4"),
        ("“2 + 3” 🙏", "5"),
        ("multiply 2, 3 and 4", "24"),
        ("2^10", "1024"),
        ("2**10", "1024"),
        ("2 to the power of 10", "1024"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("square root of 2", "1.4142135623730951"),
        ("√16 + 1", "5"),
        ("sin(1)", "0.8414709848078965"),
        ("sin(pi / 2)^2 + 1", "2"),
    ] {
        assert_eq!(number(question), expected, "{question}");
    }
}

#[test]
fn one_thing_after_another() {
    for (question, expected) in [
        ("Add 2 and 3, then multiply by 10", "50"),
        ("Add 2 and 3, then multiply by 10 and divide by 4. Then subtract 1.", "11.5"),
        ("add 5 to 7 and double it", "24"),
        ("12 / 4, then square it, then add 1", "10"),
        ("multiply 3 by 4, then take that times 2", "24"),
        ("Start with 10. Subtract 4. Halve it.", "3"),
        ("2 + 3, then times 4 plus 1", "21"),
        ("add 2 and 3 multiply by 4", "20"),
        // An example of the start page.
        ("Add 84.50, 36 and 14.50, then divide by 3", "45"),
    ] {
        assert_eq!(number(question), expected, "{question}");
    }
}

#[test]
fn two_questions_get_two_answers() {
    let turn = Talk::new().ask("What is 2 + 3? And what is 4 × 5?");
    assert_eq!(turn.steps.len(), 1);
    assert_eq!(turn.answer, "Here you are:\n\n- 2 + 3 = **5**.\n- 4 × 5 = **20**.");
}

#[test]
fn the_answer_shows_the_expression_as_understood() {
    for (question, shown) in [
        ("2 * (3 - (4 - 5))", "2 × (3 − (4 − 5))"),
        ("(2 ^ 3) ^ 2", "(2^3)^2"),
        ("2 ^ 3 ^ 2", "2^3^2"),
        ("(-2) ^ 4", "(-2)^4"),
        ("-(2 + 3) * 4", "−(2 + 3) × 4"),
        ("3 - -2", "3 − (-2)"),
        ("1 - 2 + 3", "1 − 2 + 3"),
        ("subtract the sum of 1 and 2 from 10", "10 − (1 + 2)"),
        ("what's 15% of 80?", "15% × 80"),
        ("square root of 16 times 2", "sqrt(16) × 2"),
    ] {
        let answer = answer(question);
        assert!(answer.starts_with(&format!("Done: {shown} = ")), "{question}: {answer}");
    }
}

#[test]
fn failures_are_explained() {
    for (question, expected) in [
        ("100 / 0", "100 ÷ 0 has no result: nothing can be divided by zero."),
        ("1 + 8 / (2 - 2)", "1 + 8 ÷ (2 − 2) has no result, because 8 ÷ 0 has none: nothing can be divided by zero."),
        ("10^10^10", "10^10^10 has no result, because 10^10000000000 has none: the number would be too large."),
        ("sqrt(-1)", "sqrt(-1) has no result: it is not a real number."),
        ("1e999999 + 1", "1e999999 + 1 has no result: the number is too large or too close to zero."),
    ] {
        assert_eq!(answer(question), expected);
    }
}

#[test]
fn ambiguous_questions_are_not_computed() {
    for question in [
        "",
        "   ",
        "What's the weather in 2024?",
        "I have 3 apples and buy 4 more. How many?",
        "Write a poem.",
        "solve 2x + 3 = 7",
        "2 apples plus 3",
        "2k + 3",
        "convert 2 + 3 to binary",
        "2 + 3 in hex",
        "3,5 + 2",
        "two hundred and five plus 3",
        "2024-11-03",
        "at 10:30 + 5",
        "1.2.3 + 4",
        "$5 + 3",
        "5!",
        "2 +",
        "(2 + 3",
        "2 + 3)",
        "5 6 + 7",
        "2 + + 3",
        "add",
        "sum of 5",
        "what is it?",
        "Can you add that feature?",
        "x2 + 3",
        "v1 + v2",
        "3.5.1 + 2",
        "007 + 1",
        "5 and 6 plus 7",
        "times 4",
        "2 + 3 dozen",
        "3 ± 1 + 2",
        "½ + 1",
        "2 + 3i",
        "add 2 and 3 apples",
    ] {
        let answer = answer(question);
        assert!(answer.contains("demo model"), "{question}: {answer}");
        assert!(answer.contains("“Connect a model”") && answer.contains("(12.5 + 7.25) × 4"));
    }
}

#[test]
fn greetings_are_returned() {
    assert!(answer("Hello!").starts_with("Hello! I am Tallybook's demo model"));
    assert_eq!(answer("Thank you"), "You are welcome!");
    assert_eq!(number("hi, 2 + 3?"), "5");
}

#[test]
fn size_is_bounded() {
    let too_long = "That is too long or too deeply nested for this small demo model. Please ask in smaller parts.";
    assert_eq!(answer(&"1 + ".repeat(1_200)), too_long);
    assert_eq!(answer(&format!("{}1", "1+".repeat(300))), too_long);
    assert_eq!(answer(&format!("{}1{}", "(".repeat(60), ")".repeat(60))), too_long);
    assert_eq!(answer(&format!("{}1 + 1", "-".repeat(60))), too_long);
    assert_eq!(answer(&format!("1 + 1{}", ", then it times it".repeat(20))), too_long);
    assert!(answer(&"hello world ".repeat(300)).contains("demo model"));
}
