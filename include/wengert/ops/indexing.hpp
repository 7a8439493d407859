// Everything that names parts of tensors.
#pragma once

#include "take.hpp"
#include "view.hpp"
#include "writer.hpp"
