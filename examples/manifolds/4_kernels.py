"""
Kernels
=======

Kernel LLISE replaces the inner products of blocks by a kernel. What changes, and does
it help?
"""

# %%
# Four kernels
# ------------
# The linear kernel is LLISE itself. The others see blocks as they are, not centred, so
# they see luminance; they are then normalised and centred among the training images.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.metrics.pairwise import laplacian_kernel

import llise
from llise import plot

training = llise.datasets.training_set(llise.datasets.reference()[128:256, 128:256])

names = {
    "linear": "linear (LLISE)",
    "poly": "polynomial",
    "rbf": "RBF",
    "sigmoid": "sigmoid",
}
recognizers = {}
for kernel in names:
    learner = llise.KernelLLISE(kernel=kernel, constraint="affine", n_jobs=-1)
    recognizers[kernel] = llise.DistortionRecognizer(learner).fit(
        training.images, training.labels
    )

# %%
# The maps
# --------

figure, axes = plt.subplots(2, 2, figsize=(8.5, 8), layout="constrained")
for panel, (kernel, recognizer) in zip(axes.flat, recognizers.items()):
    plot.image_map(recognizer.manifold_.image_map(), training.labels, ax=panel)
    panel.set_title(names[kernel])
plot.kind_legend(figure)
plt.show()

# %%
# What is recognised
# ------------------
# Each block votes for the kind of its nearest neighbour in the embedding,
# leave-one-out. O is original, C contrast, G Gaussian noise, L luminance, B blur, I
# impulse noise and J JPEG. All of them confuse the two noises. The kernels see
# luminance, which the linear one hardly does, and pay for it with blur and JPEG.

figure, axes = plt.subplots(2, 2, figsize=(8.5, 7.4), layout="constrained")
codes = [llise.LABELS.index(label) for label in training.labels]
for panel, (kernel, recognizer) in zip(axes.flat, recognizers.items()):
    labels = [llise.LABELS.index(label) for label in recognizer.classes_]
    votes = np.take(labels, recognizer.leave_one_out_labels_)
    votes = confusion_matrix(np.broadcast_to(codes, votes.shape).ravel(), votes.ravel())
    plot.confusion_matrix(votes, right=recognizer.block_accuracy_, ax=panel)
    panel.set_title(names[kernel], pad=18)
for panel in axes[:, 0]:
    panel.set_ylabel("true kind")
plot.share_bar(figure, axes, "share of the blocks")
plt.show()

# %%
# A kernel of your own
# --------------------
# A callable gets two sets of blocks, scaled to 0 to 1, and returns all values between
# them; scikit-learn's kernels can be used as they are. The Laplacian kernel takes
# absolute differences, so that single wrong pixels count less than in the RBF, whose
# differences are squared.

small = training.images[:, :64, :64]
for kernel in (laplacian_kernel, "rbf"):
    learner = llise.KernelLLISE(kernel=kernel, constraint="affine")
    recognizer = llise.DistortionRecognizer(learner).fit(small, training.labels)
    right = recognizer.confusion_.diagonal() / recognizer.confusion_.sum(axis=1)
    shares = dict(zip(recognizer.classes_, right))
    print(f"{getattr(kernel, '__name__', kernel)}:")
    print(f"  {recognizer.block_accuracy_:.1%} of all blocks right")
    print(f"  {shares['impulse_noise']:.0%} of the images with impulses right")
