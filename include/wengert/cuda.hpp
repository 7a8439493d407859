// Tensors on NVIDIA's GPUs. Neither the toolkit nor its headers are needed to build a program: what is there is found when it runs.
//
//     Tensor<float, wg::cuda> x = wg::to<wg::cuda>(y);   // DeviceError where there is no device
//
// docs/cuda.md says what runs there and what does not yet.
#pragma once

#include "cuda/interop.hpp"
#include "cuda/user_kernel.hpp"
#include "wengert.hpp"
