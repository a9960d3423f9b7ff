//! Every command with its options, in the words of `--help`.

use clap::{Command, CommandFactory};

use super::page;
use crate::cli::Cli;

/// Width of the help on the page, in characters.
const WIDTH: usize = 96;

pub(crate) fn commands() -> String {
    let mut text = page(
        "Commands",
        "What `--help` says, of every command. Exit codes: 0 done, 1 failed, 2 wrong usage; commands \
         that give 2 another meaning say so.",
    );
    let mut root = Cli::command()
        .term_width(WIDTH)
        .disable_help_subcommand(true);
    root.build();
    describe(&mut root, &mut Vec::new(), &mut text);
    text
}

/// Adds a command and those below it.
fn describe(command: &mut Command, above: &mut Vec<String>, text: &mut String) {
    above.push(command.get_name().to_owned());
    let help = command.clone().term_width(WIDTH).render_long_help();
    let lines: Vec<String> = help
        .to_string()
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let (name, help) = (above.join(" "), lines.join("\n"));
    text.extend([format!(
        "\n## {name}\n\n```text\n{}\n```\n",
        help.trim_end()
    )]);
    for below in command
        .get_subcommands_mut()
        .filter(|command| !command.is_hide_set())
    {
        describe(below, above, text);
    }
    above.pop();
}
