"""The help texts of all commands: the comment ``<!-- all commands -->`` in a document stands for them."""

import click

from llise.cli.main import commands


def sections():
    """A section on each command with its help text, as Markdown."""
    yield f"## llise\n\n```text\n{help_of(commands, 'llise')}\n```\n"
    for name, command in commands.commands.items():
        yield f"## llise {name}\n\n```text\n{help_of(command, f'llise {name}')}\n```\n"
        for inner, part in getattr(command, "commands", {}).items():
            yield f"### llise {name} {inner}\n\n```text\n{help_of(part, f'llise {name} {inner}')}\n```\n"


def help_of(command, name):
    return command.get_help(click.Context(command, info_name=name, terminal_width=80, max_content_width=80))


def insert_help(app, docname, source):
    if "<!-- all commands -->" in source[0]:
        source[0] = source[0].replace("<!-- all commands -->", "\n".join(sections()))


def setup(app):
    app.connect("source-read", insert_help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
