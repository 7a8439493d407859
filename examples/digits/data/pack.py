#!/usr/bin/env python3
"""Packs scikit-learn's digits.csv.gz into digits.txt: pack.py [DIGITS.CSV.GZ] > digits.txt

One line an image: its label, then the 64 grey values in row-major order, where A…P are 1…16 and a…z are runs of 1…26
zeros. scikit-learn's file has one image a line as well: 64 values from 0 to 16 and the label, separated by commas.
"""
import gzip
import itertools
import string
import sys

FROM = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"  # Debian's python3-sklearn


def packed(values):
    for value, run in itertools.groupby(values):
        length = len(list(run))
        if value:
            yield string.ascii_uppercase[value - 1] * length
            continue
        yield "z" * (length // 26)
        if length % 26:
            yield string.ascii_lowercase[length % 26 - 1]


for line in gzip.open(sys.argv[1] if len(sys.argv) > 1 else FROM, "rt"):
    *pixels, label = (int(float(field)) for field in line.split(","))
    assert len(pixels) == 64 and max(pixels) <= 16 and 0 <= label <= 9
    print(str(label) + "".join(packed(pixels)))
