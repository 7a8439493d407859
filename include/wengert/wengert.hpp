// The umbrella: tensors, primitives, the tape, transforms and frozen graphs, on the CPU. Start reading at tape/tensor.hpp (values),
// tape/tape.hpp (what is recorded), ops/elementwise/elementwise.hpp (how a rule becomes a primitive) and transforms/grad.hpp.
#pragma once

#include "base/compiler.hpp"  // first: it tells old compilers that they are

#include "eager.hpp"
#include "graph/control/control.hpp"
#include "graph/freeze/freeze.hpp"
#include "graph/ir/interpret.hpp"
#include "graph/look/graph_text.hpp"
