"""Places in an area that hold something else than the area around them: impulses, content, a second fault."""
