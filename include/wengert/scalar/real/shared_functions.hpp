// The functions that scalar code shares with tensors: which rule (functions/rules/) an operation stands for. From it follow the
// derivative of a recorded number (rules.hpp) and the operation on arrays in a kernel (scalar/kernel/paths_on_tensors.hpp).
#pragma once

#include "../../functions/rules/math.hpp"
#include "../../functions/rules/pairs.hpp"
#include "../../functions/rules/probability.hpp"
#include "../../functions/rules/special.hpp"
#include "../../functions/rules/trigonometry.hpp"
#include "../stream/entry.hpp"

namespace wengert::detail {

/// visit(P()) for the rule P of a function of one number, other() where `op` is none that tensors have.
template <class Visit, class Other>
[[gnu::always_inline]] inline auto visit_function(ScalarOp op, const Visit& visit, const Other& other)
{
    switch (op) {
    case ScalarOp::sqrt: return visit(Sqrt());
    case ScalarOp::cbrt: return visit(Cbrt());
    case ScalarOp::exp: return visit(Exp());
    case ScalarOp::exp2: return visit(Exp2());
    case ScalarOp::expm1: return visit(Expm1());
    case ScalarOp::log: return visit(Log());
    case ScalarOp::log2: return visit(Log2());
    case ScalarOp::log10: return visit(Log10());
    case ScalarOp::log1p: return visit(Log1p());
    case ScalarOp::sin: return visit(Sin());
    case ScalarOp::cos: return visit(Cos());
    case ScalarOp::tan: return visit(Tan());
    case ScalarOp::asin: return visit(Asin());
    case ScalarOp::acos: return visit(Acos());
    case ScalarOp::atan: return visit(Atan());
    case ScalarOp::sinh: return visit(Sinh());
    case ScalarOp::cosh: return visit(Cosh());
    case ScalarOp::tanh: return visit(Tanh());
    case ScalarOp::asinh: return visit(Asinh());
    case ScalarOp::acosh: return visit(Acosh());
    case ScalarOp::atanh: return visit(Atanh());
    case ScalarOp::erf: return visit(Erf());
    case ScalarOp::erfc: return visit(Erfc());
    case ScalarOp::erfinv: return visit(Erfinv());
    case ScalarOp::log_sigmoid: return visit(LogSigmoid());
    case ScalarOp::tgamma: return visit(Tgamma());
    case ScalarOp::lgamma: return visit(Lgamma());
    case ScalarOp::floor: return visit(Floor());
    case ScalarOp::ceil: return visit(Ceil());
    case ScalarOp::trunc: return visit(Trunc());
    case ScalarOp::round_even: return visit(Round());
    default: return other();
    }
}

/// The same of two numbers.
template <class Visit, class Other>
[[gnu::always_inline]] inline auto visit_pair(ScalarOp op, const Visit& visit, const Other& other)
{
    switch (op) {
    case ScalarOp::pow: return visit(Pow());
    case ScalarOp::atan2: return visit(Atan2());
    case ScalarOp::hypot: return visit(Hypot());
    case ScalarOp::fmod: return visit(Fmod());
    case ScalarOp::remainder: return visit(Remainder());
    case ScalarOp::logaddexp: return visit(LogAddExp());
    case ScalarOp::xlogy: return visit(Xlogy());
    default: return other();
    }
}

}  // namespace wengert::detail
