// Where programs of earlier versions look for graph/native/native.hpp.
#pragma once

#include "../native/native.hpp"
