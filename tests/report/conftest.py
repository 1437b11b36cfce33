import pytest


@pytest.fixture(scope="module", autouse=True)
def _names_that_people_can_read(readable_names):
    """Runs that are made by hand for these tests are called `norm-fps-0`, which is no hash of what they hold."""
