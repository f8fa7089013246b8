"""Rollouts by Ray on a local cluster of two nodes, a worker on each."""

import os

import numpy as np
import pytest

pytest.importorskip("ray")
pytest.importorskip("torch")

# its nodes start slowly where all cores are busy
os.environ.setdefault("RAY_raylet_start_wait_time_s", "300")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
import ray
from ray.cluster_utils import Cluster

import dualstep as ds
from dualstep.envs.examples import ray_rollouts


@pytest.fixture(scope="module")
def cluster():
    home = os.path.dirname(os.path.dirname(ds.__file__))
    paths = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    # no dashboard, and stores as small as they can be
    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=node)
    made.add_node(**{key: node[key] for key in ("num_cpus", "object_store_memory")})
    ray.init(address=made.address, runtime_env={"env_vars": {"PYTHONPATH": paths}}, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def test_two_workers_collect(cluster):
    workers = ray_rollouts.start("Hopper", 2, 3, seed=7)
    policy = ray_rollouts.policy_of(*ray.get(workers[0].sizes.remote()))
    assert len(set(ray.get([worker.where.remote() for worker in workers]))) == 2
    block = ray_rollouts.collect(workers, policy.state_dict(), 40)
    assert block["obs"].shape == (40, 6, 11) and block["reward"].shape == (40, 6)
    done = block["terminated"] | block["truncated"]
    # what follows an observation is the next one, but where an episode ended
    following = (block["next"][:-1] == block["obs"][1:]).all(axis=2)
    assert np.array_equal(following, ~done[:-1]) and done.any()
    # and each worker does what it would do without Ray, with seeds of its own
    alone = [ray_rollouts.Worker("Hopper", 3, 7, rank).rollout(policy.state_dict(), 40) for rank in range(2)]
    assert np.array_equal(np.concatenate([one["obs"] for one in alone], axis=1), block["obs"])
    assert not np.array_equal(alone[0]["obs"][0], alone[1]["obs"][0])
