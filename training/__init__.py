"""Pictures, random scenes and the training of the network; not part of the installed package."""
