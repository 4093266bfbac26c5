"""How a process of the command line ends: at once, with its code and output, after its threads."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, sys, threading, time
from recollect.__main__ import start

class Kept:
    def __del__(self):
        print("taken apart")

kept = Kept()
atexit.register(print, "at exit")
def work():
    time.sleep(0.2)
    print("worked")
if {is_working}:
    threading.Thread(target=work).start()
sys.argv[1:] = {arguments}
start()
"""


def ended(*arguments: str, is_working: bool = False, options: tuple[str, ...] = ()) -> str:
    program = PROGRAM.format(arguments=list(arguments), is_working=is_working)
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, check=False
    )
    return f"{done.returncode}: {', '.join(done.stdout.splitlines())}"


def test_a_command_ends_with_its_code_and_its_output_and_is_not_taken_apart() -> None:
    assert ended("--version").endswith("at exit")
    assert ended("no-such-command") == "2: at exit"


def test_a_thread_at_work_is_waited_for() -> None:
    assert "worked" in ended("--version", is_working=True)


def test_whoever_looks_for_what_is_left_open_sees_it() -> None:
    assert ended("--version", options=("-W", "error")).endswith("taken apart")
