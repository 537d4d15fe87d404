"""The everyday half of the benchmark: pictures as people have them, damaged as files by the programs people use."""
