"""The list of mutations fits the source; that tests notice them is what `make mutants` finds out."""

import pytest
from mutants.run_mutants import ROOT, read_mutants

MUTANTS = read_mutants()


def test_there_are_enough_and_each_is_there_once():
    assert len(MUTANTS) >= 100
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutation_changes_one_place_and_names_tests_that_are_there(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.old != mutant.new
    assert mutant.tests or mutant.equivalent
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert name.partition("[")[0] in ("" if (ROOT / path).is_dir() else (ROOT / path).read_text())
