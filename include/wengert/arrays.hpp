// Arrays by groups and by counts, statistics, convolutions, places, and curves through points: docs/arrays.md.
//
//     const Tensor<double> most = segment_max(x, ids, 3);
//     const auto [counts, edges] = wg::histogram(x, 20);
//     const auto curve = wg::cubic_spline(t, y);  // curve(0.3)
//
// wengert.hpp does not include it: a program that counts nothing pays nothing.
#pragma once

#include "ops/arrays/convolve.hpp"
#include "ops/arrays/counts.hpp"
#include "ops/arrays/extremes.hpp"
#include "ops/arrays/places.hpp"
#include "ops/arrays/spline.hpp"
#include "ops/arrays/statistics.hpp"
