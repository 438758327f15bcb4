"""Bags of visual words: images -> histograms for the chi2 kernel. Needs OpenCV.

    image -> descriptors of windows on a grid -> their nearest words -> histogram
    h_w = sum_i decay^-rank_i(w) [rank_i(w) <= n_nearest],  divided by its sum

where rank_i(w) is 1 for the word nearest to descriptor i, 2 for the next. From the paper: nine features, 512
words, grid step 5, 600 pixels, rank mapping. Not stated there and chosen here: the three scales, the nine
deciles, 8 nearest words with weights 2.4^-rank, the sample for k-means, and that words are learned on
training images only.
"""

import hashlib
import math
import os
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state

from localmkl.datasets.downloading import locate
from localmkl.kernels import Chi2
from reproduction.data import DRAW_SEED, Data, outer_fold, permuted

SCALES = (16, 24, 32)
"""Sides of the windows in pixels; the paper says only that there are three scales."""
QUANTILES = np.arange(1, 10) / 10
"""Quantiles of the colours in a window: the paper does not say which."""
BASE_BLUR = 1.6
"""Blur, in pixels, of the first image of OpenCV's scale space, which has three images per octave."""
STEP, LONGEST_SIDE, N_NEAREST, DECAY, N_SAMPLED = 5, 600, 8, 2.4, 50_000


class VisualWords(BaseEstimator):
    """Histograms of visual words, learned by k-means on the descriptors of training images alone.

    Descriptors of an image are whole numbers from 0 to 255: SIFT, upright, 128 numbers per colour channel, or
    the nine deciles of the channel in square windows. Opponent channels are red - green, red + green - 2
    blue, and red + green + blue, each mapped to 0 .. 255.

    References
    ----------
    Lowe, Distinctive image features from scale-invariant keypoints, IJCV 60, 2004. Van de Sande, Gevers and
    Snoek, Evaluating color descriptors for object and scene recognition, PAMI 32, 2010. Binder, Samek,
    Müller and Kawanabe, Enhanced representation and multi-task learning for image annotation, CVIU 117,
    2013 (the rank mapping).
    """

    def __init__(self, feature="sift", colours="rgb", scale=16, n_words=512, *, random_state=None):
        self.feature = feature
        self.colours = colours
        self.scale = scale
        self.n_words = n_words
        self.random_state = random_state

    def fit(self, described):
        """Learn the words from a sample of descriptors, evenly from all images."""
        random = check_random_state(self.random_state)
        share = math.ceil(N_SAMPLED / len(described))
        sample = []
        for windows in described:
            if share < len(windows):
                windows = windows[np.sort(random.choice(len(windows), share, replace=False))]
            sample.append(windows.astype(np.float32))
        means = MiniBatchKMeans(self.n_words, random_state=random, n_init=1)
        self.words_ = means.fit(np.concatenate(sample)).cluster_centers_
        return self

    def transform(self, described):
        """Return the histograms, (n_images, n_words); rows sum to one."""
        weights = DECAY ** -np.arange(1.0, N_NEAREST + 1)
        histograms = np.empty((len(described), self.n_words))
        for histogram, windows in zip(histograms, described, strict=True):
            nearest = find_nearest(windows.astype(np.float32), self.words_)
            shares = np.broadcast_to(weights, nearest.shape)
            histogram[:] = np.bincount(nearest.ravel(), shares.ravel(), minlength=self.n_words)
        return histograms / histograms.sum(axis=1, keepdims=True)

    def describe(self, image):
        """Return the descriptors of the windows of an image (height, width, 3), (n_windows, n_numbers)."""
        corners = [np.arange(0, side - self.scale + 1, STEP) for side in image.shape[:2]]
        corners = np.stack(np.meshgrid(*corners, indexing="ij"), axis=-1).reshape(-1, 2)
        describe = describe_sift if self.feature == "sift" else describe_quantiles
        channels = np.moveaxis(image if self.colours == "rgb" else to_opponent(image), -1, 0)
        return np.hstack([describe(np.ascontiguousarray(one), corners, self.scale) for one in channels])


def find_nearest(described, words):
    """Return the nearest words of each descriptor, (n_windows, `N_NEAREST`), nearest first."""
    # |x - w|^2 / 2 without |x|^2 / 2; one minimum after the other is quicker than sorting.
    distances = described @ (-words.T)
    distances += np.einsum("wk,wk->w", words, words) / 2
    rows = np.arange(len(described))
    nearest = np.empty((len(described), N_NEAREST), dtype=np.intp)
    for rank in range(N_NEAREST):
        nearest[:, rank] = distances.argmin(axis=1)
        distances[rows, nearest[:, rank]] = np.inf
    return nearest


def to_opponent(image):
    """Return an image in opponent colours."""
    red, green, blue = np.moveaxis(image.astype(np.float32), -1, 0)
    channels = [(red - green + 255) / 2, (red + green - 2 * blue + 510) / 4, (red + green + blue) / 3]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)


def describe_sift(channel, corners, scale):
    """Return the SIFT descriptors of windows."""
    import cv2

    blur = scale / 12  # 4 cells, each 3 times the blur wide
    octave, layer = divmod(max(0, round(3 * math.log2(blur / BASE_BLUR))), 3)
    # OpenCV's size of a keypoint is twice its blur; its octave field holds the layer in the second byte.
    points = [
        cv2.KeyPoint(x + scale / 2, y + scale / 2, 2 * blur, 0.0, 0.0, octave | layer << 8)
        for y, x in corners.tolist()
    ]
    return cv2.SIFT_create().compute(channel, points)[1]


def describe_quantiles(channel, corners, scale):
    """Return the deciles of windows."""
    windows = np.lib.stride_tricks.sliding_window_view(channel, (scale, scale))
    values = np.sort(windows[tuple(corners.T)].reshape(len(corners), -1), axis=1, kind="stable")
    return values[:, np.rint(QUANTILES * (scale**2 - 1)).astype(int)].astype(np.float32)


def read_image(path):
    """Return an image, red first, not larger than `LONGEST_SIDE`."""
    import cv2

    image = cv2.imread(str(path), cv2.IMREAD_COLOR)[..., ::-1]
    shrink = LONGEST_SIDE / max(image.shape[:2])
    if shrink < 1.0:
        height, width = (max(1, round(side * shrink)) for side in image.shape[:2])
        image = cv2.resize(np.ascontiguousarray(image), (width, height), interpolation=cv2.INTER_AREA)
    return image


def described_images(words, images, contents):
    """Return the descriptors of images, a list of memory maps; described unless they are kept already.

    They are kept in the folder of the environment variable LOCALMKL_CACHE, or ``~/.cache/localmkl``.
    """
    import cv2

    folder = Path(os.environ.get("LOCALMKL_CACHE") or "~/.cache/localmkl").expanduser()
    settings = (words.feature, words.colours, words.scale, STEP, LONGEST_SIDE)
    key = hashlib.sha256(repr((contents, settings, cv2.__version__)).encode()).hexdigest()[:16]
    path = folder / f"{words.feature}_{words.colours}_{words.scale}-{key}.uint8"
    if not path.with_suffix(".npy").exists():
        folder.mkdir(parents=True, exist_ok=True)
        ends = []
        with open(path, "wb") as file:
            for image in images:
                described = words.describe(read_image(image)).astype(np.uint8)
                file.write(described.tobytes())
                ends.append(len(described) + (ends[-1] if ends else 0))
        np.save(path.with_suffix(".npy"), ends)  # last: where it is, the other is whole
    ends = np.load(path.with_suffix(".npy"))
    table = np.memmap(path, np.uint8, "r").reshape(int(ends[-1]), -1)
    return np.split(table, ends[:-1])


def paper_words():
    """Return the paper's nine features: SIFT in RGB and opponent colours and RGB deciles, at three scales."""
    kinds = (("sift", "rgb"), ("sift", "opponent"), ("quantiles", "rgb"))
    return [VisualWords(*kind, scale, random_state=DRAW_SEED) for kind in kinds for scale in SCALES]


def list_flowers():
    """Return the paths of 1360 photographs, by their numbers, and their kinds, of Oxford Flowers 17.

    The folder ``flowers17`` of the data home has a folder for each kind: ``daffodil/image_0001.jpg`` for
    instance (Nilsback and Zisserman, CVPR 2006).
    """
    images = sorted(locate("flowers17", download=False).glob("*/*.jpg"), key=lambda path: path.name)
    return np.array(list(map(str, images))), np.array([path.parent.name for path in images])


def load_flowers(words=None):
    """Return 1360 photographs of flowers in outer folds; their descriptors take 6 GB of disk.

    Words and widths are learned on the training images of each fold.
    """
    images, y = list_flowers()
    words = paper_words() if words is None else words
    sums = [hashlib.sha256(Path(image).read_bytes()).hexdigest() for image in images]
    contents = hashlib.sha256(" ".join(sums).encode()).hexdigest()

    def grams(train):
        for word in words:
            described = described_images(word, images, contents)
            histograms = word.fit([described[i] for i in train]).transform(described)
            yield Chi2().fit(histograms[train])(histograms)

    more = {"images": contents, "outer_folds": 11, "words": [repr(word) for word in words]}
    return Data(y, ("Chi2 over visual words",), outer_fold, grams, more=more)


def load_flowers_stack():
    """Return the photographs under fixed kernels, for splits of any size.

    Visual words and kernel widths are learned on all images, whose labels are not looked at.
    """
    data = load_flowers()
    kernels = tuple(f"Chi2 over {word}" for word in data.more["words"])
    return Data(data.y, kernels, permuted, np.stack(list(data.grams(np.arange(len(data.y))))))
