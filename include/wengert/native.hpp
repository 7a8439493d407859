// The backend `native`: graphs compiled by the machine's own compiler.
#pragma once

#include "base/compiler.hpp"

#include "graph/native/native.hpp"
