"""Embed the paper's 121 images and recognise distortions by block votes, as in the paper.

Run it with ``python examples/manifold_of_an_image.py``.
"""

import llise

reference = llise.datasets.reference()[128:256, 128:256]
training = llise.datasets.training_set(reference)
test = llise.datasets.test_set(reference, mse=500)

recognizer = llise.DistortionRecognizer(llise.LLISE(luminance=0.5, n_jobs=-1)).fit(training.images, training.labels)
print(f"leave-one-out: {recognizer.image_accuracy_:.0%} of the images, {recognizer.block_accuracy_:.0%} of the blocks")
print("recognised:", *recognizer.predict(test.images))
print("in the plane:", recognizer.manifold_.image_map(test.images).round(1).tolist()[:3], "...")
