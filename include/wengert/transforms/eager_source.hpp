// What eager programs need and no type of theirs decides, the tape, the sweep, sections: one source of wengert::compiled.
#pragma once

#include "../array/elsewhere_source.hpp"
#include "../array/layout_source.hpp"
#include "../base/report_source.hpp"
#include "../base/shape_source.hpp"
#include "../ops/elementwise_source.hpp"
#include "../ops/print_source.hpp"
#include "../ops/slices_source.hpp"
#include "../ops/structural_rules_source.hpp"
#include "../ops/update_source.hpp"
#include "../tape/apply_source.hpp"
#include "../tape/backward_source.hpp"
#include "../tape/elsewhere_source.hpp"
#include "../tape/report_source.hpp"
#include "../tape/run_log_source.hpp"
#include "../tape/section_source.hpp"
#include "../tape/tape_impl_source.hpp"
#include "../tape/walk_elementwise_source.hpp"
#include "../tape/walk_source.hpp"
#include "loop_sections_source.hpp"
#include "saved_tensor_hooks_source.hpp"
#include "section_source.hpp"
#include "snapshot_file_source.hpp"

#ifdef WENGERT_COMPILED
namespace wengert::detail {

template AnyTensor add_any<float>(const AnyTensor&, const AnyTensor&);
template AnyTensor add_any<double>(const AnyTensor&, const AnyTensor&);
template AnyTensor sum_to_any<float>(const AnyTensor&, const Shape&);
template AnyTensor sum_to_any<double>(const AnyTensor&, const Shape&);

}  // namespace wengert::detail
#endif
