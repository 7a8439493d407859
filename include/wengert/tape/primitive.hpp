// Primitive: what the tape knows about an operation. One static object for each (primitive, dtypes); nodes point to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "../array/block.hpp"
#include "../base/site.hpp"
#include "../kernels/executor.hpp"
#include "calls.hpp"

/// Beside the library's namespace, since g++ leaves out of a type's name the namespace that the function is in.
namespace wengert_names {
template <class Op> consteval std::string_view text_of()
{
    const std::string_view text = __PRETTY_FUNCTION__,
                           before = "Op = ";  // "… text_of() [with Op = wengert::Tanh; …"
    return text.substr(text.find(before) + before.size());
}
}  // namespace wengert_names

namespace wengert {

struct Node;

/// A type-erased tensor: its elements, and the node that made it when it depends on something differentiable.
struct AnyTensor {
    Ref<Block> value;
    Ref<Node> node;
};

class Cotangents;
class Index;
class Inside;
struct FoldForm;
struct LoopParameters;
struct Primitive;
struct Term;

/// One derivative of an elementwise primitive with respect to one of its inputs.
struct Pull {
    TileKernel kernel = nullptr;  ///< (g, used inputs and output) -> cotangent, over a contiguous tile
    std::uint8_t uses = 0;   ///< which values the kernel reads: bit i for input i, bit `arity` for the output
    std::uint8_t count = 0;  ///< how many those are, and which, in order
    std::uint8_t slots[4] = {};
    std::uint8_t sizes[5] = {};  ///< bytes of an element: of g, then of those values
    bool passes = false;         ///< the cotangent is g itself: nothing to compute
    /// The same as an operation of its own, on (g, the values that it reads): what a trace records of a sweep.
    const Primitive* primitive = nullptr;
    /// Structural: (cotangent so far, g, the values that it reads) -> their sum, where it can be had in one step.
    const Primitive* add = nullptr;
};

/// Reads or writes the parameters of an operation, one by one: for printing, for comparing, for another extent of the arguments. It
/// is a table of functions, and nothing is virtual, as the visitors are part of the compiler of graphs. With virtual calls g++
/// would compile every function that they might reach into every program.
class FieldVisitor {
public:
    void boolean(bool& v) { table_->boolean(*this, v); }
    void integer(std::int64_t& v) { table_->integer(*this, v); }
    void real(double& v) { table_->real(*this, v); }
    void extents(Extents& v) { table_->extents(*this, v); }
    /// What has no text: a function, a graph. Two of them are equal when they are the same object.
    void opaque(const void* identity, std::string_view what) { table_->opaque(*this, identity, what); }

protected:
    struct Table {
        void (*boolean)(FieldVisitor&, bool&);
        void (*integer)(FieldVisitor&, std::int64_t&);
        void (*real)(FieldVisitor&, double&);
        void (*extents)(FieldVisitor&, Extents&);
        void (*opaque)(FieldVisitor&, const void*, std::string_view);
    };
    explicit FieldVisitor(const Table& table) : table_(&table) {}
    ~FieldVisitor() = default;

private:
    const Table* table_;
};

/// What a visitor derives from: `class Mine : public FieldVisitorOf<Mine>`, with those five functions.
template <class V> class FieldVisitorOf : public FieldVisitor {
protected:
    FieldVisitorOf() : FieldVisitor(table) {}
    ~FieldVisitorOf() = default;

private:
    static V& of(FieldVisitor& v) { return static_cast<V&>(v); }
    static constexpr Table table = {
        [](FieldVisitor& v, bool& x) { of(v).boolean(x); },
        [](FieldVisitor& v, std::int64_t& x) { of(v).integer(x); },
        [](FieldVisitor& v, double& x) { of(v).real(x); },
        [](FieldVisitor& v, Extents& x) { of(v).extents(x); },
        [](FieldVisitor& v, const void* p, std::string_view what) { of(v).opaque(p, what); }};
};

/// Is the struct the library's own? A struct that derives from one of the library's, or has the same name, is not.
template <class Op> consteval bool is_ours() { return wengert_names::text_of<Op>().starts_with("wengert::"); }

/// Plain function pointers and constants, so that no backtrace and no closure carries a template's name.
struct Primitive {
    static constexpr std::size_t max_elementwise = 4;

    std::string_view name;   ///< for people: printing, errors
    bool ours = false;       ///< the library's own: texts of graphs have others' names in quotes
    std::uint8_t arity = 0;  ///< inputs; 0 for a variable number
    DType dtype{};           ///< of the result
    bool elementwise = false;
    bool differentiable = false;
    bool calls = false;  ///< `compute` calls a function of tensors, wherever they are: no device does that
    /// On blocks of a device, `compute` is launches in the order of its stream, by the parameters alone. It keeps nothing, may be
    /// told where its result goes, and may be captured (cuda/driver/capture.hpp).
    bool launches = false;
    bool effects = false;  ///< runs once and in order, also where nobody reads the result
    /// Other processes take part: its derivative has effects as well. A sweep passes it whoever used its result (tape/obliged.hpp).
    bool communicates = false;
    /// It begins what goes on while the program computes, or waits for that: graphs begin early and wait late (graph/fuse/fusion.hpp).
    bool begins = false, waits = false;
    bool random = false;  ///< drawn from a key: never made twice to save memory
    /// Structural only: whatever the elements are, it fails for want of memory only, and calls nothing of the user's, so that it
    /// may run on any thread beside others.
    bool infallible = false;
    /// Structural only: the first operand, with 0 where the last but one is not finite when all of the last one is 0.
    bool zero_rule = false;
    std::uint8_t saves =
        0;  ///< of an operation on a variable number of inputs: 0xff when its rule reads them all
    /// Structural only: bit i for an input of the result's type that the rule does not name. It may be a function of the others, as
    /// factors of a matrix are: the rule then has the whole derivative (audit).
    std::uint8_t silent = 0;
    /// Structural only: the rule is that of another result which serves as well, so no difference tells whether it is right (audit).
    bool unaudited = false;

    TileKernel value = nullptr;  ///< elementwise only
    /// The same as a program (functions/term.hpp), from terms of the inputs; null where the rule is opaque.
    Term (*describe)(const Term* in) = nullptr;
    Pull pull[max_elementwise] = {};  ///< kernels for elementwise ones only, `uses` for all
    /// Is the derivative 0 where there is one, as that of floor? A pull has none of its own: it is expanded.
    bool is_flat() const noexcept
    {
        const auto has_pull = [](const Pull& x) { return x.kernel || x.passes; };
        if (!differentiable) return !expand;
        return elementwise && std::none_of(pull, pull + arity, has_pull);
    }

    /// Structural only: which elements come from which (ops/index/index.hpp), given the parameters. Every executor runs that; null:
    /// `compute` is all that there is.
    void (*index)(const void* op, Index& program) = nullptr;
    /// The same of a variable number of operands: the program of operand k alone, which writes its part of the result.
    void (*part)(const void* op, std::size_t k, Index& program) = nullptr;
    /// Structural only: it folds whole axes (ops/describe/folds.hpp).
    const FoldForm* fold = nullptr;
    /// Structural only: the value again, from the parameters and the inputs.
    Ref<Block> (*compute)(const void* op, const Ref<Block>* inputs, std::size_t n, const Site& at) = nullptr;
    /// The same, written where input 0 lies, which nobody else sees; `rest` are the inputs from 1 on. Null: no such way.
    void (*update)(const void* op, Block& first, const Ref<Block>* rest, std::size_t n,
                   const Site& at) = nullptr;
    bool overridden = false;  ///< beside `index`: `compute` and `update` are kernels of its own, for the host
    /// Structural only: the product of matrices that it is, given the parameters. Null: it is none.
    MatrixProduct (*product)(const void* op) = nullptr;
    /// Structural only: the random numbers that it draws. Null: none that have another form.
    RandomDraw (*draw)(const void* op) = nullptr;
    /// Structural only: which part of a packed block it takes or fills. Null: it does no such thing.
    PackedPart (*packed)(void* op) = nullptr;
    /// Calls of graphs only: the loop or branch that it is (graph/loops/loop.hpp).
    const LoopParameters* (*loop)(const void* op) = nullptr;
    /// Operations of a sweep (pulls, accumulations) only: the rule on tensors, which differentiates again.
    AnyTensor (*expand)(const void* op, const AnyTensor* inputs, std::size_t n) = nullptr;

    /// Adds the cotangents of the inputs, given g; written in tensors, so it records where levels below ask for it.
    void (*vjp)(const Node&, const AnyTensor& g, Cotangents&) = nullptr;
    /// The sequence numbers of variables that the rule adds to although they are no inputs. Null: there are none.
    const std::vector<std::uint64_t>& (*variables_beside)(const void* op) = nullptr;
    /// The tangent of the output; absent tangents (no value) are zero.
    AnyTensor (*jvp)(const void* op, const AnyTensor* inputs, const AnyTensor* tangents, std::size_t n,
                     const AnyTensor& out) = nullptr;
    /// The sum of two cotangents of the result, recorded.
    AnyTensor (*add)(const AnyTensor&, const AnyTensor&) = nullptr;
    /// On tensors, where computing and recording is not all that there is to it (tape/obliged.hpp); else null.
    AnyTensor (*apply)(const Primitive& p, const void* op, const AnyTensor* inputs, std::size_t n,
                       const Site& at) = nullptr;
    /// Undoes a broadcast: the sum of a cotangent to a smaller shape.
    AnyTensor (*sum_to)(const AnyTensor&, const Shape&) = nullptr;
    /// The parameters' end.
    void (*destroy)(void* op) noexcept = nullptr;
    std::string (*parameters)(const void* op) = nullptr;  ///< for printing: "axes=(0, 1)"
    void* (*clone)(const void* op) = nullptr;
    void (*fields)(void* op, FieldVisitor&) = nullptr;
    /// Structural only: the same on tensors, of operations that have descriptions, to the bit. Optimized graphs have those in its
    /// place, so that nothing but its own kernel need know it. Null: there are none.
    AnyTensor (*composed)(const void* op, const AnyTensor* inputs) = nullptr;
    /// Of operations with a rule of the user's: what a trace has seen of their inside (tape/recorder.hpp), or null.
    const Inside* (*inside)(const void* op) = nullptr;
};

}  // namespace wengert
