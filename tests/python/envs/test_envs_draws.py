"""Random numbers of environments: the generator's published answers, its moments, its independence of the batch."""

import numpy as np
import pytest
from dualstep.envs.arrays import HostArrays
from dualstep.envs.draws import Draws, philox


def words(*values):
    return tuple(np.array([[value]], np.int64) for value in values)


# the answers that come with the authors' own library (Random123, kat_vectors)
@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(counter, key, answer):
    assert tuple(int(word[0, 0]) for word in philox(words(*counter), words(*key))) == answer


def draws(seeds, episodes=None):
    seeds = np.asarray(seeds, np.int64)
    return Draws(HostArrays(), seeds, np.zeros_like(seeds) if episodes is None else np.asarray(episodes, np.int64))


def test_moments():
    d = draws(np.arange(2000))
    u = d.uniform(-1, 3, 50)
    assert u.min() >= -1 and u.max() < 3 and abs(u.mean() - 1) < 0.02 and abs(u.std() - 4 / 12**0.5) < 0.02
    z = d.normal(51)
    assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01 and abs((z**3).mean()) < 0.03
    assert abs((z**4).mean() - 3) < 0.1
    # columns and rows are not related
    assert abs(np.corrcoef(u[:, 0], u[:, 1])[0, 1]) < 0.08 and abs(np.corrcoef(u[0], u[1])[0, 1]) < 0.5


def test_rows_depend_on_their_seed_and_episode_alone():
    def all_of(d):
        disc = d.uniform_where(lambda p: (p**2).sum(axis=1) < 0.3, -1, 1, 2)
        return np.concatenate([d.uniform(0, 1, 3), d.normal(4), disc, d.uniform(0, 1, 2)], axis=1)

    whole = all_of(draws(range(40), np.arange(40) % 3))
    part = all_of(draws([5, 17, 30], np.array([5, 17, 30]) % 3))
    assert np.array_equal(whole[[5, 17, 30]], part)
    assert not np.isclose(all_of(draws([5], [0])), all_of(draws([5], [1]))).any()
    assert not np.isclose(all_of(draws([5])), all_of(draws([5 + 2**32]))).any()
    assert ((whole[:, 7:9] ** 2).sum(axis=1) < 0.3).all()


def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    from dualstep.envs.arrays import TorchArrays

    on_torch = Draws(TorchArrays("cpu"), torch.arange(30), torch.zeros(30, dtype=torch.int64))
    on_numpy = draws(range(30))
    assert np.array_equal(on_torch.uniform(-2, 1, 7).numpy(), on_numpy.uniform(-2, 1, 7))
    assert np.allclose(on_torch.normal(5).numpy(), on_numpy.normal(5), rtol=1e-14)
