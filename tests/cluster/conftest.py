import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="package")
def client():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client
