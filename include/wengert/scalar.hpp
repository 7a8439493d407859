// Code that was written for double, differentiated by changing its type: Real<T>, and what goes between it and tensors.
#pragma once

#include "scalar/custom.hpp"
#include "scalar/cuts.hpp"
#include "scalar/dense.hpp"
#include "scalar/directions.hpp"
#include "scalar/exchange.hpp"
#include "scalar/external.hpp"
#include "scalar/functions.hpp"
#include "scalar/kernel.hpp"
#include "scalar/limits.hpp"
#include "scalar/loop.hpp"
#include "scalar/parallel.hpp"
#include "scalar/sparse.hpp"
#include "scalar/sparse_hessian.hpp"
#include "scalar/sweep.hpp"
#include "scalar/transforms.hpp"
#include "scalar/variables.hpp"
