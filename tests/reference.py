"""The lesson's own numbers, worked out independently of this project, as data for the tests."""
import math

# 1. "The cat sat": one head, d_k = 4, rows The, cat, sat. The printed digits are all there are: see the tolerances.
CAT_SAT = {
    "raw": [[1.2708, 1.6560, 1.1156], [1.6251, 5.0190, 2.9415], [1.1491, 2.9670, 5.3695]],
    "scaled": [[.635400, .828000, .557800], [.812550, 2.509500, 1.470750], [.574550, 1.483500, 2.684750]],
    "weights": [[.318702, .386393, .294905], [.119210, .650560, .230231], [.085240, .211541, .703219]],
    "output": [[.528150, .688975, .888420, .727596], [.393380, .807029, 1.136691, .723042],
               [.781832, .391531, .888567, 1.278868]],
}
# One step of plain gradient descent on the mean squared error over the 12 outputs, learning rate 0.1.
CAT_SAT_TRAINING = {
    "loss": 0.1113882584, "norm_q": 0.0494302295, "norm_k": 0.0551984559, "norm_v": 0.3293343560,
    "loss_after_1": 0.1007104536, "loss_after_201": 0.0103993644, "floor_uniform_weights": 0.084,
}

# 2. Seed 42, as the notebooks draw it with the global generator on the CPU.
SEED_42 = {
    "scaled_row_0": [-.284, -.173, -.170, -.700],
    "weights_row_0": [.2567, .2867, .2874, .1692],
    "weights_row_3": [.3731, .1684, .2234, .2351],
    "output_row_0": [-.1699, .2788, .1986, .1972],
}
SEED_42_DOTS = {
    "d_k": (16, 64, 256, 512),
    "unscaled": [16.1979, 64.0471, 253.3963, 518.5339],
    "scaled": [1.0124, 1.0007, .9898, 1.0128],
    "peak_unscaled": .5430, "peak_scaled": .1987,
}
# The anatomy notebook: B, T, C, H = 2, 5, 12, 3.
ANATOMY = {
    "weights_0_0_row_0": [.1805, .1116, .1736, .2821, .2523],
    "chunk_stride": (180, 36, 1), "view_stride": (180, 36, 4, 1), "transpose_stride": (180, 4, 36, 1),
    "bad_view_message": "shape '[2, 5, 3, -1]' is invalid for input of size 100",
}


def largest_difference(got, expected) -> float:
    """Return the largest |got - expected| over two tensors, or nested lists, of one shape; NaN counts as infinite."""
    import torch
    got, expected = (torch.as_tensor(x, dtype=torch.float64).detach() for x in (got, expected))
    assert got.shape == expected.shape, f"shapes differ: {tuple(got.shape)} and {tuple(expected.shape)}"
    return (got - expected).abs().nan_to_num(nan=math.inf).max().item()


def assert_close(got, expected, within: float, what: str = "values") -> None:
    """Fail with the largest difference when two tensors, or nested lists, are further apart than `within`."""
    worst = largest_difference(got, expected)
    assert worst <= within, f"{what}: largest difference {worst:.3g}, allowed {within:.3g}"
