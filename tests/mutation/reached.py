"""A plugin of pytest: which mutants' places each test reaches, a line of JSON a test (mutate.py)."""

import json
import mmap
import os

import pytest

MOST = 4096


def processor():
    """Seconds of a processor, of this process and its children: other work on the machine does not count."""
    return sum(os.times()[:4])


class Reached:
    def __init__(self, hits, told):
        self.told = open(told, "a")
        with open(hits, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), MOST)
        self.failed = False

    def take(self):
        found = [i for i, byte in enumerate(self.map[:]) if byte]
        self.map[:] = bytes(MOST)
        return found

    def tell(self, **entries):
        self.told.write(json.dumps(entries) + "\n")
        self.told.flush()

    def pytest_collection_finish(self, session):
        for name in {item.nodeid.split("::")[0] for item in session.items}:
            self.tell(file=name, reached=self.take(), state=os.environ["DUALSTEP_MUTANT_STATE"])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.take()
        self.failed, self.skipped, began = False, False, processor()
        yield
        seconds = round(processor() - began, 3)
        self.tell(test=item.nodeid, seconds=seconds, reached=self.take(), failed=self.failed, skipped=self.skipped)

    def pytest_runtest_logreport(self, report):
        self.failed = self.failed or report.failed
        self.skipped = self.skipped or report.skipped


def pytest_configure(config):
    if "DUALSTEP_MUTANT_TOLD" in os.environ:
        config.pluginmanager.register(Reached(os.environ["DUALSTEP_MUTANT_HITS"], os.environ["DUALSTEP_MUTANT_TOLD"]))
