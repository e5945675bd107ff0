"""Files that stand in for datasets."""

TRAIN_URL = "https://www.clips.uantwerpen.be/conll2000/chunking/train.txt.gz"


def put(home, name, content):
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
