// Files, printing, other libraries' arrays.
#pragma once

#include "base/compiler.hpp"

#include "io/arrays.hpp"
#include "io/buffers.hpp"
#include "io/dlpack.hpp"
#include "io/print.hpp"
#include "io/trees.hpp"
