"""`python -m samplenorm.bench`: times layers and networks on whatever device there is, after checking their answers."""
