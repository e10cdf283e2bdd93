"""The command line leaves no files of PyTensor in the folder of temporary files."""

import os
from pathlib import Path

import pytest
from raterzoo import cli
from raterzoo.cli import commands


@pytest.fixture
def flags(monkeypatch):
    """Return a function that runs the command line with PYTENSOR_FLAGS, and returns those that a command finds."""

    def run(given, stop=SystemExit):
        monkeypatch.setenv("PYTENSOR_FLAGS", given)
        found = []

        def app(**_):
            found.append(os.environ["PYTENSOR_FLAGS"])
            for flag in found[0].split(","):
                name, _, folder = flag.partition("=")
                if name == "generated_src_dir" and folder:
                    (Path(folder) / "m.py").write_text("x = 1\n", "utf-8")
            raise stop

        monkeypatch.setattr(commands, "app", app)
        with pytest.raises(stop):
            cli.main()
        return found[0]

    return run


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt, RuntimeError])
def test_sources_are_removed_whatever_ends_the_command(flags, stop):
    own, *further = flags("cxx=,floatX=float64", stop).split(",")
    name, _, folder = own.partition("=")
    assert name == "generated_src_dir" and not Path(folder).exists()
    assert further == ["cxx=", "floatX=float64"]


def test_a_folder_of_the_user_is_kept(flags, tmp_path):
    assert flags(f"generated_src_dir={tmp_path}") == f"generated_src_dir={tmp_path}"
    assert (tmp_path / "m.py").exists()


def test_older_versions_do_not_know_the_option(flags, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.3.0")
    assert flags("cxx=") == "cxx="
