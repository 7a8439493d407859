// What freezing and replaying need and no type of a program's decides: one source of wengert::compiled.
#pragma once

#include "../graph/control/impl/control_record.ipp"
#include "../graph/control/impl/control_trace.ipp"
#include "../graph/freeze/impl/frozen_rule.ipp"
#include "../graph/freeze/impl/frozen.ipp"
#include "../graph/freeze/impl/into.ipp"
#include "../graph/ir/impl/graph.ipp"
#include "../graph/ir/impl/interpret.ipp"
#include "../graph/ir/impl/trace.ipp"
#include "../graph/look/impl/text.ipp"
#include "../graph/loops/impl/loop_graphs.ipp"
#include "../graph/freeze/impl/occupied.ipp"
#include "../graph/freeze/impl/optimize.ipp"
#include "../graph/freeze/impl/traced_call.ipp"
#include "../graph/freeze/impl/traced_inputs.ipp"
