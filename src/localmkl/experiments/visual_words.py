"""Bags of visual words: images -> histograms for the chi2 kernel.

    image -> descriptors of windows on a grid -> their nearest words -> histogram
    h_w = sum_i decay^-rank_i(w) [rank_i(w) <= n_nearest],  divided by its sum

where rank_i(w) is 1 for the word nearest to descriptor i, 2 for the next. Needs OpenCV: ``pip install
localmkl[images]``.
"""

import hashlib
import io
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from localmkl._checks import check_integer, check_number, check_option
from localmkl._files import write_whole, writing_whole

CACHE = "LOCALMKL_CACHE"
FEATURES = ("sift", "quantiles")
COLOURS = ("rgb", "opponent")
PAPER_SCALES = (16, 24, 32)
"""Sides of the windows in pixels; the paper says only that there are three scales."""
QUANTILES = np.arange(1, 10) / 10
"""Quantiles of the colours in a window, the nine deciles: the paper does not say which."""
SUFFIXES = frozenset({".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})
BASE_BLUR = 1.6
"""Blur, in pixels, of the first image of OpenCV's scale space, which has three images per octave."""


def read_image_folder(path):
    """List the images of a folder that has one sub-folder per class.

    The images are not read: `VisualWords` reads them one at a time. Files without the suffix of an image
    are passed over, and what is hidden (its name begins with a dot).

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    images : ndarray of str, shape (n_images,)
        Paths, sorted within each class.
    labels : ndarray of str, shape (n_images,)
        Names of the sub-folders.
    """
    root = Path(path)
    if not root.is_dir():
        raise ValueError(
            f"`path` must be a folder with one sub-folder of images per class, got {str(path)!r}."
        )
    cv2 = _import_opencv()
    folders = sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if len(folders) < 2:
        raise ValueError(
            f"{str(root)!r} must have at least two sub-folders, one per class, got {len(folders)}; "
            "sort the images into a folder for each class."
        )
    images, labels = [], []
    for folder in folders:
        files = sorted(
            file
            for file in folder.iterdir()
            if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
        )
        if not files:
            raise ValueError(
                f"Every class needs images ({', '.join(sorted(SUFFIXES))}), got none in {str(folder)!r}; "
                "add some or remove the folder."
            )
        for file in files:
            _check_name(file)
            if not cv2.haveImageReader(str(file)):
                raise ValueError(f"{str(file)!r} must be an image that OpenCV can read; repair or remove it.")
        images += [str(file) for file in files]
        labels += [folder.name] * len(files)
    return np.array(images), np.array(labels)


def _check_name(path):
    """Raise unless a name is text: others end the process in OpenCV."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise ValueError(f"The name of {str(path)!r} must be in UTF-8; rename the file.") from None


@dataclass(frozen=True)
class Descriptors:
    """Descriptors of images, computed before: `VisualWords` takes them in the place of the images.

    Attributes
    ----------
    table : ndarray of uint8, shape (n_windows, n_numbers)
        The windows of all images; a memory map, mostly.
    starts, ends : ndarray of int, shape (n_images,)
        Rows of each image's windows.
    """

    table: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def load(cls, path):
        """Return what `describe_images` has kept."""
        ends = np.load(path.with_suffix(".npy"))
        table = np.memmap(path, np.uint8, "r").reshape(int(ends[-1]), -1)
        return cls(table, np.append(0, ends[:-1]), ends)

    def __len__(self):
        """Return the number of images."""
        return len(self.ends)

    def __getitem__(self, at):
        """Return the windows of an image, or the descriptors of several images."""
        if isinstance(at, int | np.integer):
            return self.table[self.starts[at] : self.ends[at]]
        return Descriptors(self.table, self.starts[at], self.ends[at])


def describe_images(words, images, contents, folder):
    """Return the file of the descriptors of images, for `Descriptors.load`; made unless it is there.

    Descriptors are whole numbers from 0 to 255 and kept as such: words and histograms that are learned from
    the file are those of the images.

    Parameters
    ----------
    words : VisualWords
        Says what to describe; it need not be fitted.
    images : sequence
    contents : str
        Identity of the images (`identify_images`).
    folder : path-like
        Made if it is not there.

    Returns
    -------
    pathlib.Path
    """
    version = _import_opencv().__version__
    settings = (words.feature, words.colours, words.scale, words.step, words.longest_side)
    key = hashlib.sha256(repr((contents, settings, version)).encode()).hexdigest()[:16]
    path = Path(folder) / f"{words.feature}_{words.colours}_{words.scale}-{key}.uint8"
    if not (path.exists() and path.with_suffix(".npy").exists()):
        path.parent.mkdir(parents=True, exist_ok=True)
        counts, ends = [], io.BytesIO()
        with writing_whole(path) as file:
            for described in words.describe(images):
                file.write(described.astype(np.uint8).tobytes())
                counts.append(len(described))
        np.save(ends, np.cumsum(counts))
        write_whole(path.with_suffix(".npy"), ends.getvalue())  # last: where it is, the other is whole
    return path


def identify_images(images):
    """Return a SHA-256 of the contents of image files, in their order."""
    sums = [hashlib.sha256(Path(image).read_bytes()).hexdigest() for image in images]
    return hashlib.sha256(" ".join(sums).encode()).hexdigest()


def cache_home():
    """Return the folder of descriptors: that of the environment variable LOCALMKL_CACHE, or the user's."""
    return Path(os.environ.get(CACHE) or Path.home() / ".cache" / "localmkl").expanduser()


class VisualWords(TransformerMixin, BaseEstimator):
    """Histograms of visual words, learned by k-means on the images of `fit` alone.

    Images are paths, or uint8 arrays of shape (height, width, 3) in the order red, green, blue; they are
    described one at a time. `Descriptors` can stand for them. Square windows on a grid are described in each
    colour channel, and the channels' descriptors are concatenated.

    Parameters
    ----------
    feature : {"sift", "quantiles"}, default="sift"
        SIFT, upright, 128 numbers per channel; or the nine deciles of the window's values.
    colours : {"rgb", "opponent"}, default="rgb"
        Opponent channels are red - green, red + green - 2 blue, and red + green + blue, each mapped to
        0 .. 255.
    scale : int, default=16
        Side of the windows in pixels; SIFT has 4 x 4 cells in it.
    n_words : int, default=512
    step : int, default=5
        Distance of neighbouring windows in pixels.
    longest_side : int, default=600
        Larger images are scaled down to this many pixels in their larger dimension.
    n_nearest : int, default=8
        Words that a descriptor is assigned to; 1 is the hard assignment.
    decay : float, default=2.4
        A descriptor gives the weight ``decay ** -rank`` to its words, nearest first.
    n_sampled : int, default=50000
        About how many descriptors, evenly from all images, the words are learned from.
    random_state : int, RandomState or None, default=None
        Draws the descriptors and starts k-means.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, n_numbers)

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> images = rng.integers(0, 256, (4, 40, 60, 3), dtype=np.uint8)
    >>> words = VisualWords("quantiles", n_words=10, random_state=0).fit(images[:3])
    >>> words.transform(images).shape
    (4, 10)

    References
    ----------
    Lowe, Distinctive image features from scale-invariant keypoints, IJCV 60, 2004. Van de Sande, Gevers and
    Snoek, Evaluating color descriptors for object and scene recognition, PAMI 32, 2010. Binder, Samek,
    Müller and Kawanabe, Enhanced representation and multi-task learning for image annotation, CVIU 117,
    2013 (the rank mapping).
    """

    def __init__(
        self,
        feature="sift",
        colours="rgb",
        scale=16,
        n_words=512,
        *,
        step=5,
        longest_side=600,
        n_nearest=8,
        decay=2.4,
        n_sampled=50_000,
        random_state=None,
    ):
        self.feature = feature
        self.colours = colours
        self.scale = scale
        self.n_words = n_words
        self.step = step
        self.longest_side = longest_side
        self.n_nearest = n_nearest
        self.decay = decay
        self.n_sampled = n_sampled
        self.random_state = random_state

    def fit(self, images, y=None):
        """Learn the words from a sample of the images' descriptors; return the transformer."""
        self._check(images)
        if len(images) == 0:
            raise ValueError("`images` must hold at least one image, got none.")
        random = check_random_state(self.random_state)
        share = math.ceil(self.n_sampled / len(images))
        sample = np.concatenate(list(self.describe(images, share, random)))
        if len(sample) < self.n_words:
            raise ValueError(
                f"`n_words` must be at most the number of sampled descriptors, {len(sample)}, got "
                f"{self.n_words}; pass more images, a smaller `step` or a larger `n_sampled`."
            )
        self.words_ = (
            MiniBatchKMeans(self.n_words, random_state=random, n_init=1).fit(sample).cluster_centers_
        )
        return self

    def transform(self, images):
        """Return the histograms, (n_images, n_words); rows sum to one."""
        check_is_fitted(self)
        self._check(images)
        n_words = len(self.words_)
        n_nearest = min(self.n_nearest, n_words)
        weights = float(self.decay) ** -np.arange(1, n_nearest + 1)
        histograms = np.empty((len(images), n_words))
        for i, described in enumerate(self.describe(images)):
            nearest = _find_nearest(described, self.words_, n_nearest)
            shares = np.broadcast_to(weights, nearest.shape)
            histograms[i] = np.bincount(nearest.ravel(), shares.ravel(), minlength=n_words)
        return histograms / histograms.sum(axis=1, keepdims=True)

    def describe(self, images, share=None, random=None):
        """Yield the descriptors of each image, float32, of all windows or of a random `share` of them."""
        for i in range(len(images)):
            if isinstance(images, Descriptors):
                rows = _draw_rows(len(images[i]), share, random)
                yield images[i][rows].astype(np.float32)
            else:
                yield self._describe(images[i], i, share, random)

    def _check(self, images):
        check_option("feature", self.feature, FEATURES)
        check_option("colours", self.colours, COLOURS)
        check_integer("scale", self.scale, low=4)
        for name in ("n_words", "step", "longest_side", "n_nearest", "n_sampled"):
            check_integer(name, getattr(self, name), low=1)
        check_number("decay", self.decay, low=1.0, finite=True)
        if isinstance(images, str | os.PathLike):
            raise ValueError(
                f"`images` must be a list of images, got the path {str(images)!r}; "
                "list a folder's images with `read_image_folder`."
            )

    def _describe(self, image, position, share=None, random=None):
        """Return descriptors, (n_windows, n_numbers): whole numbers from 0 to 255."""
        image = self._load(image, position)
        starts = [np.arange(0, side - self.scale + 1, self.step) for side in image.shape[:2]]
        corners = np.stack(np.meshgrid(*starts, indexing="ij"), axis=-1).reshape(-1, 2)
        corners = corners[_draw_rows(len(corners), share, random)]
        describe = _describe_sift if self.feature == "sift" else _describe_quantiles
        channels = np.moveaxis(image if self.colours == "rgb" else _to_opponent(image), -1, 0)
        return np.hstack(
            [describe(np.ascontiguousarray(channel), corners, self.scale) for channel in channels]
        )

    def _load(self, image, position):
        """Return the image as a uint8 array of shape (height, width, 3), not larger than asked for."""
        cv2 = _import_opencv()
        if isinstance(image, str | os.PathLike):
            _check_name(image)
            name = repr(str(image))
            found = cv2.imread(str(image), cv2.IMREAD_COLOR)
            if found is None:
                raise ValueError(f"{name} must be an image that OpenCV can read; repair or remove it.")
            image = found[..., ::-1]
        else:
            name = f"`images[{position}]`"
            image = np.asarray(image)
            if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
                raise ValueError(
                    f"{name} must be a path or a uint8 array of shape (height, width, 3), "
                    f"got {image.dtype} of shape {image.shape}."
                )
        shrink = self.longest_side / max(*image.shape[:2], 1)
        if shrink < 1.0:
            height, width = (max(1, round(side * shrink)) for side in image.shape[:2])
            image = cv2.resize(np.ascontiguousarray(image), (width, height), interpolation=cv2.INTER_AREA)
        height, width = image.shape[:2]
        if min(height, width) < self.scale:
            raise ValueError(
                f"{name} must be at least `scale` = {self.scale} pixels high and wide, got {height} x "
                f"{width} with `longest_side` = {self.longest_side}; leave it out or lower `scale`."
            )
        return image


def paper_visual_words(n_words=512, random_state=None, **options):
    """Return the nine features of the paper's image experiment, as named transformers.

    SIFT at three scales in RGB and in opponent colours, and RGB quantiles at the same scales. Made for
    scikit-learn's ``FeatureUnion``: its table holds feature m in the columns ``m * n_words`` to
    ``(m + 1) * n_words``, one `localmkl.kernels.Chi2` each.

    Parameters
    ----------
    n_words : int, default=512
    random_state : int, RandomState or None, default=None
    **options
        Other parameters of `VisualWords`.

    Returns
    -------
    list of (str, VisualWords)

    Notes
    -----
    From the paper: the nine, 512 words, grid step 5, 600 pixels, rank mapping. Not stated there and chosen
    here: the three scales (`PAPER_SCALES`), the nine deciles, 8 nearest words with weights 2.4^-rank, the
    sample for k-means, and that words are learned on training images only.

    Examples
    --------
    >>> from sklearn.pipeline import FeatureUnion, make_pipeline
    >>> from localmkl import CLMKLClassifier
    >>> from localmkl.kernels import Chi2
    >>> features = paper_visual_words(random_state=0)
    >>> kernels = [Chi2(columns=slice(512 * m, 512 * (m + 1))) for m in range(9)]
    >>> model = make_pipeline(FeatureUnion(features), CLMKLClassifier(kernels))
    >>> [name for name, _ in features][:4]
    ['sift_rgb_16', 'sift_rgb_24', 'sift_rgb_32', 'sift_opponent_16']
    """
    kinds = [("sift", "rgb"), ("sift", "opponent"), ("quantiles", "rgb")]
    return [
        (
            f"{feature}_{colours}_{scale}",
            VisualWords(feature, colours, scale, n_words, random_state=random_state, **options),
        )
        for feature, colours in kinds
        for scale in PAPER_SCALES
    ]


def _draw_rows(n_rows, share, random):
    """Return as many rows as the share, in their order; all if there are no more, or no share."""
    if share is None or share >= n_rows:
        return slice(None)
    return np.sort(random.choice(n_rows, share, replace=False))


def _find_nearest(described, words, n_nearest):
    """Return the nearest words of each descriptor, (n_windows, n_nearest), nearest first."""
    # |x - w|^2 / 2 without |x|^2 / 2; one minimum after the other is quicker than sorting.
    distances = described @ (-words.T)
    distances += np.einsum("wk,wk->w", words, words) / 2
    rows = np.arange(len(described))
    nearest = np.empty((len(described), n_nearest), dtype=np.intp)
    for rank in range(n_nearest):
        nearest[:, rank] = distances.argmin(axis=1)
        distances[rows, nearest[:, rank]] = np.inf
    return nearest


def _to_opponent(image):
    red, green, blue = np.moveaxis(image.astype(np.float32), -1, 0)
    channels = [(red - green + 255) / 2, (red + green - 2 * blue + 510) / 4, (red + green + blue) / 3]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)


def _describe_sift(channel, corners, scale):
    cv2 = _import_opencv()
    blur = scale / 12  # 4 cells, each 3 times the blur wide
    octave, layer = divmod(max(0, round(3 * math.log2(blur / BASE_BLUR))), 3)
    # OpenCV's size of a keypoint is twice its blur; its octave field holds the layer in the second byte.
    points = [
        cv2.KeyPoint(x + scale / 2, y + scale / 2, 2 * blur, 0.0, 0.0, octave | layer << 8)
        for y, x in corners.tolist()
    ]
    return cv2.SIFT_create().compute(channel, points)[1]


def _describe_quantiles(channel, corners, scale):
    windows = np.lib.stride_tricks.sliding_window_view(channel, (scale, scale))
    values = np.sort(windows[tuple(corners.T)].reshape(len(corners), -1), axis=1, kind="stable")
    return values[:, np.rint(QUANTILES * (scale**2 - 1)).astype(int)].astype(np.float32)


def _import_opencv():
    try:
        import cv2
    except ImportError as error:
        raise ImportError(
            "Visual words need the package OpenCV; install it with `pip install localmkl[images]`."
        ) from error
    return cv2
