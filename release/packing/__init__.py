"""The parts of `release/build` and `release/check`: one file of a release is made or looked at in each."""
