// What freezing and replaying need and no type of a program's decides: one source of wengert::compiled.
#pragma once

#include "control_trace_source.hpp"
#include "frozen_rule_source.hpp"
#include "frozen_source.hpp"
#include "into_source.hpp"
#include "ir/arguments_source.hpp"
#include "ir/graph_source.hpp"
#include "ir/interpret_source.hpp"
#include "ir/trace_source.hpp"
#include "look/text_source.hpp"
#include "loops/loop_graphs_source.hpp"
#include "optimize_source.hpp"
#include "traced_call_source.hpp"
#include "traced_inputs_source.hpp"
