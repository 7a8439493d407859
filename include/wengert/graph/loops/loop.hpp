// Loops and branches as operations of a graph: one node, whose parameters hold the body as a graph of its own, however many
// steps there are. An operation has one result, so the results of a loop lie one after the other in a packed block, from
// which `unpack` takes them. graph/loops/loop_run.hpp runs loops, graph/loops/loop_rules.hpp differentiates them.
#pragma once

#include <optional>
#include <tuple>

#include "../../ops/elementwise/cast.hpp"
#include "../../ops/describe/structural.hpp"
#include "../../tape/obliged.hpp"
#include "../ir/fields.hpp"

namespace wengert {

namespace detail {
class LoopCode;
}

/// What a loop or a branch does. The inputs of the operation are
///   scan         the initial states, the xs (slices along axis 0 go to the steps), the constants of the body
///   while_loop   the initial states, the constants
///   cond         the condition, then the constants
///   while_pull   the initial states, the constants, the cotangents of the final `active_states`
///   scan_pull    those of the scan, its states before some steps (see `snapshots`), stacked, the cotangents of the final
///                `active_states`, those of its results, stacked
/// and those of its graphs
///   body         states, slices of xs, constants -> states, results of the step; of a cond: constants -> results
///   other        of a while_loop and a while_pull: states, constants -> whether to go on; of a cond: where pred is false
///   pull         of a while_pull, one step back: cotangents of the active states after the step, sums of the cotangents of the
///                active constants so far, states before the step, constants -> the same cotangents before the step; of a
///                scan_pull: these cotangents and sums, states, slices of xs, cotangents of the step's results, constants ->
///                these cotangents and sums, cotangents of the slices of the active xs
/// None of these graphs has guards or updates.
struct LoopParameters {
    enum class Kind : std::uint8_t { scan, while_loop, cond, while_pull, scan_pull };
    static constexpr std::string_view names[] = {"scan", "while_loop", "cond", "while_pull", "scan_pull"};
    /// The place of a result in the packed block, in units of its elements. Floats in a block of doubles are converted, which is
    /// exact. Results that are no floating-point numbers are stored bit by bit.
    struct Result {
        DType dtype{};
        Shape shape;
        std::int64_t offset = 0;  ///< `nowhere` for one that nobody wants

        static constexpr std::int64_t nowhere = -1;
        bool wanted() const noexcept { return offset != nowhere; }
    };

    Kind kind = Kind::scan;
    std::shared_ptr<const Graph> body, other, pull;
    std::int64_t steps = 0;     ///< of a scan and a scan_pull
    bool backwards = false;     ///< from the last slice to the first
    bool effects = false;       ///< the body calls the host
    bool communicates = false;  ///< other processes take part in what it does (then it has effects, too)
    std::size_t states = 0, xs = 0;
    std::size_t ignored = 0;  ///< inputs at the end that only put operations with effects in order
    std::size_t kept =
        0;  ///< the last results of a scan are for the reverse rule: its states before each step, then what its
            ///< communications have given
    std::int64_t snapshots =
        0;  ///< states that a reverse sweep of a scan has room for, fewer than steps; 0: for all. A
            ///< result with so many rows holds the states before the steps of the binomial schedule,
            ///< without the initial ones, and before the last step (loop_schedule.hpp)
    std::size_t guard = npos;  ///< a boolean state that ends the loop where it is false; of a
                               ///< cond, the result that says whether its guards held
    std::vector<std::size_t> active_states, active_constants;  ///< of a while_pull and a scan_pull
    std::vector<std::size_t> active_xs;                        ///< of a scan_pull
    std::vector<Result>
        results;    ///< final states, then the steps' results, stacked; of a while_pull and a scan_pull: the
                    ///< cotangents of active states, constants, xs
    DType dtype{};  ///< of the packed block
    std::int64_t size = 0;  ///< its elements

    static constexpr std::size_t npos = ~std::size_t{0};
    std::shared_ptr<detail::LoopCode> code;  ///< the graphs, made ready to run when they first do
};

namespace detail {

/// The parameters as the tape and graphs hold them.
struct Loop {
    std::shared_ptr<const LoopParameters> parameters;
};

/// Elements of the packed block that a result takes.
std::int64_t packed_extent(DType packed, const LoopParameters::Result& r);

/// Gives the results from `first` on their places, after those before.
void place_results(LoopParameters& p, std::size_t first);
DType packed_dtype(const std::vector<LoopParameters::Result>& results);

std::shared_ptr<LoopCode> make_loop_code();

/// Ends the making of a loop whose results are listed: their places, and nothing made ready to run.
std::shared_ptr<LoopParameters> completed(std::shared_ptr<LoopParameters> p);

// The operation's description; these functions are in run_loop.ipp and loop_rules.ipp.
Ref<Block> run_loop(const void* op, const Ref<Block>* in, std::size_t n, const Site& at);
void loop_vjp(const Node& n, const AnyTensor& g, Cotangents& out);
AnyTensor loop_jvp(const void* op, const AnyTensor* in, const AnyTensor* tangents, std::size_t n,
                   const AnyTensor& out);

void visit_loop(void* op, FieldVisitor& visitor);

/// A loop in which other processes take part.
AnyTensor apply_communicating_loop(const Primitive& p, const void* op, const AnyTensor* in, std::size_t n,
                                   const Site& at);

/// What a loop does beside computing.
enum class LoopEffects : std::uint8_t { none, host, communication };

const LoopParameters* parameters_of_loop(const void* op);
/// How they are printed.
std::string text_of_loop(const void* op);

template <LoopParameters::Kind kind, class T, LoopEffects effects> constexpr Primitive make_loop_primitive()
{
    Primitive p;
    p.name = LoopParameters::names[static_cast<std::size_t>(kind)];
    p.ours = true;
    p.dtype = dtype_of<T>();
    p.effects = effects != LoopEffects::none;
    if constexpr (effects == LoopEffects::communication) {
        p.communicates = true;
        p.apply = apply_communicating_loop;
    }
    p.compute = run_loop;
    p.clone = clone_pooled<Loop>;
    p.destroy = destroy_pooled<Loop>;
    p.fields = visit_loop;
    p.loop = parameters_of_loop;
    p.parameters = text_of_loop;
    if constexpr (is_differentiable<T>) {
        p.differentiable = true;
        p.saves = 0xff;
        p.vjp = loop_vjp;
        p.jvp = loop_jvp;
        p.add = add_any<T>;
        p.sum_to = sum_to_any<T>;
    }
    return p;
}
template <LoopParameters::Kind kind, class T, LoopEffects effects>
inline constexpr Primitive loop_primitive = make_loop_primitive<kind, T, effects>();

/// Number k of all of them: by kind, by the packed block's type, by their effects.
template <std::size_t... k> const Primitive& loop_primitive_number(std::size_t i, std::index_sequence<k...>)
{
    using Types = std::tuple<std::int64_t, float, double>;
    static constexpr const Primitive* all[] = {
        &loop_primitive<LoopParameters::Kind(k / 9), std::tuple_element_t<k / 3 % 3, Types>,
                        LoopEffects(k % 3)>...};
    return *all[i];
}
const Primitive& primitive_of(const LoopParameters& p);

}  // namespace detail

/// The parameters of a node that is a loop or a branch, null for all others.
const LoopParameters* loop_parameters(const GraphNode& n);

/// The part of a packed block that a node takes, if it does: not to be written to.
std::optional<PackedPart> packed_part(const GraphNode& n);
/// The same node's parameters for another place in another block.
Parameters packed_at(const GraphNode& n, std::int64_t offset, std::int64_t of);

/// y = zeros of shape (of) with x, flattened, from element `offset` on: the transpose of Unpack;  x̄ = unpack of ȳ
struct Pack {
    static constexpr std::string_view name = "pack";
    static constexpr bool linear = true;
    std::int64_t offset;
    Shape shape;  ///< of x
    std::int64_t of;
    PackedPart packed() { return {offset, shape, of, PackedPart::How::put}; }
    template <class T> Ref<Block> value(const Ref<Block>& x, const Site&) const
    {
        auto y = zeros_block(dtype_of<T>(), Shape{of});
        copy_elements(*x, *make_view(y, shape, nullptr, offset));
        return y;
    }
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const;
};

/// y = the elements of x from `offset` on, in a shape of their own. It is a view or, if the dtypes differ, a copy of their bits. x̄
/// = ȳ in its place, added in place.
struct Unpack {
    static constexpr std::string_view name = "unpack";
    static constexpr bool linear = true;
    std::int64_t offset;
    Shape shape;
    std::int64_t of;  ///< elements of x
    PackedPart packed() { return {offset, shape, of}; }
    template <class T> Ref<Block> value(const Ref<Block>& block, const Site&) const
    {
        const Ref<Block> x = contiguous(block);
        if (x->dtype == dtype_of<T>()) return make_view(x, shape, nullptr, offset);
        auto y = make_block(dtype_of<T>(), shape);
        std::memcpy(y->data, x->data + static_cast<std::size_t>(offset) * size_of(x->dtype), y->bytes());
        if constexpr (std::is_same_v<T, bool>)  // whatever the bytes are
            for (std::size_t i = 0; i < y->bytes(); ++i) y->data[i] = std::byte{y->data[i] != std::byte{0}};
        return y;
    }
    static constexpr bool shows_bits = true;
    void describe(Index& p) const;
    template <class T> Tensor<T> pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
    {
        return apply<Pack, T>(Pack{offset, shape, of}, Site{}, g);
    }
    /// A loop takes the cotangents of its results one by one: the packed block has none.
    bool hands_over(const Node& n, const AnyTensor& g, Cotangents& out) const;
    void accumulate(wrt<0>, Block& into, const Block& g) const;
    std::string parameters() const { return "offset=" + std::to_string(offset); }
};

template <class T> Tensor<T> Pack::pull(wrt<0>, const Tensor<T>& g, const Tensor<T>&, const Tensor<T>&) const
{
    return apply<Unpack, T>(Unpack{offset, shape, of}, Site{}, g);
}

namespace detail {

/// One result of a loop.
struct Unpacking {
    template <class Packed>
    static AnyTensor of(const AnyTensor& block, const LoopParameters::Result& r, const Site& at)
    {
        const Tensor<Packed> x(block);
        const Unpack op{r.offset, r.shape, static_cast<std::int64_t>(x.size())};
        return with_dtype(differentiable(r.dtype) ? dtype_of<Packed>() : r.dtype, [&]<class T>() {
            if constexpr (is_differentiable<T> && !std::is_same_v<T, Packed>)
                return AnyTensor{};
            else
                return converted(apply<Unpack, T>(op, at, x).any(), r.dtype, at);
        });
    }
};
AnyTensor unpacked(const AnyTensor& block, const LoopParameters::Result& r, const Site& at);

/// Writes a result to its place.
void pack_result(const Block& from, std::byte* to, DType packed);

/// The operation on tensors: computed, and recorded where somebody asks for it. The packed block.
AnyTensor apply_loop(std::shared_ptr<const LoopParameters> p, const std::vector<AnyTensor>& in,
                     const Site& at);

}  // namespace detail
}  // namespace wengert

#ifndef WENGERT_COMPILED
#include "impl/loop.ipp"
#endif
