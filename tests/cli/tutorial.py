"""Runs or checks the commands of a tutorial, for scripts/tutorial: tutorial.py refresh|check WEIR FILE.

FILE may be a man page for `check`: the commands are those of its section EXAMPLES.

A block of the file that begins with ```console has lines "$ COMMAND"; a backslash at the end continues the command.
The lines up to the next command are its output, of which `refresh` keeps as many as the number behind the word console
says. Blocks of other kinds are checked and not run.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS = 110
LINES = 6
MARK = "\x01"
WRONG_OPTION = 129  # the exit status of weir for a wrong option or argument


def blocks(lines):
    """Yields (kind, lines to keep, first line, line after the last) of each fenced block."""
    start = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            kind, _, count = line[3:].partition(" ")
            start, keep = number + 1, int(count or LINES)
        else:
            yield kind, keep, start, number
            start = None


def commands(lines):
    """The commands of a console block, each as its lines; outputs are left out."""
    found, continued = [], False
    for line in lines:
        if continued:
            found[-1].append(line)
        elif line.startswith("$ "):
            found.append([line[2:]])
        continued = (continued or line.startswith("$ ")) and line.endswith("\\")
    return found


def run(weir, found):
    """Runs commands in one shell; returns the output of each."""
    with tempfile.TemporaryDirectory() as folder:
        path, log = os.path.join(folder, "bin"), os.path.join(folder, "log")
        os.mkdir(path)
        os.symlink(weir, os.path.join(path, "weir"))
        os.mkdir(os.path.join(folder, "try"))
        script = ["exec >>%s 2>&1" % shlex.quote(log)]
        for command in found:
            script += ["printf '\\001'", "\n".join(command)]
        environment = dict(os.environ, PATH=path + ":" + os.environ["PATH"], WEIR_CONFIG="/dev/null", LC_ALL="C.UTF-8")
        subprocess.run(["bash", "-c", "\n".join(script)], cwd=os.path.join(folder, "try"), env=environment, check=False,
                       stdin=subprocess.DEVNULL)
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read().split(MARK)[1:]


def shown(output, keep):
    """An output as the tutorial shows it: few lines, no long ones, no folder of whoever made it."""
    output = output.replace(os.path.dirname(ROOT) + "/", "/src/").replace(os.path.expanduser("~") + "/", "~/")
    lines = [line.rstrip() for line in output.expandtabs(4).splitlines()]
    lines = [line if len(line) <= COLUMNS else line[:COLUMNS - 3] + "..." for line in lines if line]
    return lines if len(lines) <= keep else lines[:keep] + ["..."]


def refresh(weir, name, lines):
    """Writes the file anew, with the outputs of its commands."""
    parts = [(keep, start, end, commands(lines[start:end])) for kind, keep, start, end in blocks(lines)
             if kind == "console"]
    outputs = run(weir, [command for part in parts for command in part[3]])
    text, after = [], 0
    for keep, start, end, found in parts:
        text += lines[after:start]
        for command in found:
            text += ["$ " + command[0]] + command[1:] + shown(outputs.pop(0), keep)
        after = end
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join(text + lines[after:]) + "\n")


def of_weir(line):
    """Yields the words of each call of weir in a line of shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    words, skipped = [], False
    for word in list(lexer) + [";"]:
        if re.fullmatch(r"[<>]+|[<>]+&", word):
            skipped = True  # a file follows
        elif re.fullmatch(r"[|&;()]+", word):
            while words and (re.match(r"[A-Z_]+=", words[0]) or words[0] in ("sudo", "time")):
                words = words[1:]
            if words and words[0] == "weir":
                yield words[1:]
            words = []
        elif not skipped:
            words.append(word)
        else:
            skipped = False


def as_document(page):
    """The examples of a man page, as lines of a document."""
    examples = "\n".join(page).partition("\n.SH EXAMPLES\n")[2].partition("\n.SH ")[0]
    lines = re.findall(r"^\.TP\n\.B (.*)$", examples, re.MULTILINE)
    return ["```"] + [line.replace(r"\-", "-").replace(r"\e", "\\") for line in lines] + ["```"]


def check(weir, lines):
    """Prints each command that weir refuses; returns how many calls were checked, and how many refused."""
    checked = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, _, start, end in blocks(lines):
            found = commands(lines[start:end]) if kind == "console" else [
                [line] for line in re.sub(r"\\\n\s*", "", "\n".join(lines[start:end])).split("\n")]
            for command in found:
                for words in of_weir(" ".join(line.rstrip("\\") for line in command)):
                    words = [re.sub(r"^\$\w+$", str(os.getpid()), word) for word in words]
                    if words[:1] == ["record"]:
                        words.insert(1, "--dry-run")
                    done = subprocess.run([weir] + words, cwd=folder, stdin=subprocess.DEVNULL, text=True, timeout=60,
                                          capture_output=True, check=False, errors="replace",
                                          env=dict(os.environ, WEIR_CONFIG="/dev/null"))
                    checked += 1
                    # The machine may lack an event, or the recording: that ends with another status.
                    if done.returncode == WRONG_OPTION and "this machine has no PMU" not in done.stderr:
                        print("weir %s\n%s" % (shlex.join(words), done.stderr))
                        refused += 1
    return checked, refused


def main(action, weir, name):
    """Does the action; returns the exit status."""
    weir = os.path.realpath(weir)
    with open(name, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if action == "refresh":
        refresh(weir, name, lines)
        return 0
    checked, refused = check(weir, as_document(lines) if lines[0].startswith(".") else lines)
    print("%d commands, %d refused" % (checked, refused))
    return 0 if checked > 0 and refused == 0 else 1


sys.exit(main(*sys.argv[1:]))
