/// The plugin's two functions, as the program finds them by name.
#pragma once

#include <wengert/eager.hpp>

#define EXPORT __attribute__((visibility("default")))

enum class Outcome { done, refused, other_error };

/// *y = 3 x on the plugin's tape, or `refused` where x is recorded on another.
using Triple = Outcome(const wengert::Tensor<double>* x, wengert::Tensor<double>* y);

/// d/dx sum x^2 at x = 2, on a tape of the plugin's own making.
using OwnGradient = double();
