// Scopes that say how the thread's tape records: NoGrad, AnomalyMode, AllowNaN, TapeScope, and the library's own.
#pragma once

#include <limits>
#include <string_view>
#include <utility>

#include "recorder.hpp"
#include "tape.hpp"

namespace wengert {

/// What a function is composed of is recorded at the line of the function's call, or of the call that this one stands in.
class ComposedAt {
public:
    /// `function` stands in errors of what it is composed of.
    explicit ComposedAt(const Site& at, std::string_view function = {})
        : ComposedAt(Tape::current().site_override, at, detail::composed_name(), function)
    {}

private:
    ComposedAt(Site& line, const Site& at, std::string_view& name, std::string_view function)
        : line_(line, line.line ? line : at), name_(name, name.empty() ? function : name)
    {}
    Restore<Site> line_;
    Restore<std::string_view> name_;
};

/// Nothing is recorded while it lives: for optimizers and measurements.
class NoGrad {
public:
    NoGrad()
        : constants_(Tape::current().constants, Tape::current().constants + 1),
          quiet_(Tape::current().quiet, within_run_ ? Tape::Quiet::run : Tape::Quiet::no)
    {}

private:
    const bool within_run_ = Tape::current().quiet >= Tape::Quiet::again;
    detail::Unrecorded unrecorded_;
    Restore<int> constants_;
    Restore<Tape::Quiet> quiet_;
};

/// While it lives, a NaN or Inf that an operation or a derivative makes throws a NumericError that names it. Reals then keep the
/// lines at which they are made, for errors and for gdb.
class AnomalyMode {
public:
    AnomalyMode() : on_(Tape::current().anomaly, true) { Tape::current().tell_change(); }

private:
    Restore<bool> on_;
};

/// Switches off the rule that a zero cotangent never makes a NaN (docs/design.md), as in libraries without it.
class AllowNaN {
public:
    /// Throws TapeError inside of a frozen function: its graph is replayed without the scope. Outside of the call it is heeded.
    explicit AllowNaN(Site at = {__builtin_FILE(), __builtin_LINE()})
        : on_(Tape::current().allow_nan, true),
          kernels_(kernels::zero_cotangent, std::numeric_limits<double>::quiet_NaN())
    {
        if (Recorder* const r = recorder(); r && r->trace())
            r->refuse("AllowNaN inside of a frozen function: put it around the call", at);
    }

private:
    Restore<bool> on_;
    Restore<double> kernels_;
};

/// A fresh tape for the time of a scope; tensors recorded on another tape are refused there, detached ones welcome.
class TapeScope {
public:
    TapeScope()
        : tape_(current_thread()), outer_((Tape::current().tell_change(), current_thread().tape), &tape_)
    {}
    Tape& tape() { return tape_; }

private:
    Tape tape_;
    struct Swap {
        Swap(void*, Tape* inner) : outer(std::exchange(current_thread().tape, inner)) {}
        ~Swap() { current_thread().tape = outer; }
        void* outer;
    } outer_;
};

}  // namespace wengert
