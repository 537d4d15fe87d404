"""Whether an image file holds all of its picture: damage that Pillow's decoders fill with black or grey unnoticed."""
