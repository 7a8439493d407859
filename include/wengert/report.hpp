// What a frozen function has become: its plan, its times, its source lines.
#pragma once

#include "base/compiler.hpp"

#include "graph/look/report.hpp"
