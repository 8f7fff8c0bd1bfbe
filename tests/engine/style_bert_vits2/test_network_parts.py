"""The pieces of the network against their definitions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from engine.voices.style_bert_vits2.pytorch.network.attention import band_to_square, square_to_band
from engine.voices.style_bert_vits2.pytorch.network.durations import ElementwiseAffine
from engine.voices.style_bert_vits2.pytorch.network.spline import inverse_spline
from engine.voices.style_bert_vits2.pytorch.network.synthesizer import expand, frames_of
from engine.voices.style_bert_vits2.pytorch.network.weights import fold_weight_norm


@pytest.mark.parametrize("length", [1, 2, 4, 5, 9, 20])
def test_a_band_lands_at_its_distances(length: int):
    window = 4
    band = torch.randn(2, 3, length, 2 * window + 1)
    square = band_to_square(band)
    assert square.shape == (2, 3, length, length)
    for i in range(length):
        for j in range(length):
            inside = abs(j - i) <= window
            want = band[:, :, i, j - i + window] if inside else torch.zeros(2, 3)
            assert torch.equal(square[:, :, i, j], want)


@pytest.mark.parametrize("length", [1, 2, 4, 5, 9, 20])
def test_the_band_of_a_square_holds_its_distances(length: int):
    window = 4
    square = torch.randn(2, 3, length, length)
    band = square_to_band(square, window)
    assert band.shape == (2, 3, length, 2 * window + 1)
    for i in range(length):
        for k in range(2 * window + 1):
            j = i + k - window
            want = square[:, :, i, j] if 0 <= j < length else torch.zeros(2, 3)
            assert torch.equal(band[:, :, i, k], want)


def forward_spline(x: float, widths: np.ndarray, heights: np.ndarray, slopes: np.ndarray) -> float:
    """Equation 4 of Durkan et al. 2019, for one x inside."""

    def knots(raw: np.ndarray) -> np.ndarray:
        sizes = np.exp(raw - raw.max())
        sizes = 1e-3 + (1 - 1e-3 * len(raw)) * sizes / sizes.sum()
        return np.concatenate([[-5.0], -5.0 + 10.0 * np.cumsum(sizes)])

    kx, ky = knots(widths), knots(heights)
    delta = np.concatenate([[1.0], 1e-3 + np.log1p(np.exp(slopes)), [1.0]])
    k = min(int(np.searchsorted(kx, x, side="right")) - 1, len(widths) - 1)
    s = (ky[k + 1] - ky[k]) / (kx[k + 1] - kx[k])
    xi = (x - kx[k]) / (kx[k + 1] - kx[k])
    top = (ky[k + 1] - ky[k]) * (s * xi**2 + delta[k] * xi * (1 - xi))
    return ky[k] + top / (s + (delta[k + 1] + delta[k] - 2 * s) * xi * (1 - xi))


def test_the_inverse_spline_undoes_the_spline():
    generator = np.random.default_rng(1)
    for x in np.linspace(-4.99, 4.99, 41):
        widths, heights, slopes = (generator.normal(size=size) for size in (10, 10, 9))
        y = forward_spline(float(x), widths, heights, slopes)
        found = inverse_spline(torch.tensor(y), *(torch.tensor(row) for row in (widths, heights, slopes)))
        assert float(found) == pytest.approx(x, abs=1e-9)


def test_the_spline_is_the_identity_outside_and_at_its_ends():
    y = torch.tensor([-100.0, -5.0, 5.0, 5.1])
    raw = torch.randn(4, 29)
    found = inverse_spline(y, raw[:, :10], raw[:, 10:20], raw[:, 20:])
    assert torch.allclose(found, y, atol=1e-6)


def test_the_affine_layer_is_inverted():
    layer = ElementwiseAffine()
    layer.load_state_dict({"m": torch.tensor([[1.0], [2.0]]), "logs": torch.tensor([[0.5], [-0.5]])})
    x = torch.randn(1, 2, 7)
    forward = layer.m + torch.exp(layer.logs) * x
    assert torch.allclose(layer.inverse(forward), x, atol=1e-6)


@pytest.mark.parametrize("shape", [(4, 3, 5), (6, 2, 16)])
def test_weight_norm_is_folded_over_all_dimensions_but_the_first(shape: tuple[int, ...]):
    v, g = torch.randn(shape), torch.rand(shape[0], 1, 1)
    folded = fold_weight_norm({"a.weight_v": v, "a.weight_g": g, "a.bias": torch.ones(1)})
    assert set(folded) == {"a.weight", "a.bias"}
    for row in range(shape[0]):
        assert torch.allclose(folded["a.weight"][row], g[row] * v[row] / v[row].norm(), atol=1e-6)


def test_frames_are_rounded_up_and_never_none():
    frames = frames_of(torch.log(torch.tensor([[0.001, 1.0, 1.5, 4.2]])), 1.3)
    assert frames.tolist() == [[1.0, 2.0, 2.0, 6.0]]


def test_columns_are_repeated_for_their_frames():
    columns = torch.arange(6.0).reshape(1, 2, 3)
    assert expand(columns, torch.tensor([2, 1, 3])).tolist() == [[[0, 0, 1, 2, 2, 2], [3, 3, 4, 5, 5, 5]]]
