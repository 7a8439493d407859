// Every public function of tensors, from the one list of them, on every executor: the bits of eager code, and no host call.
#include "graph/c/emit_programs.hpp"
#include "primitives/walk.hpp"

#include <cstdlib>

#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/passes/dead_code.hpp>
#include <wengert/ops/indexing.hpp>
#include <wengert/ops/moves.hpp>
#include <wengert/ops/view.hpp>

using walk::Label;
using walk::List;

namespace {

using Floats = List<float>;
using Doubles = List<double>;
/// Of float and of double: a pair of operands for each shape.
using Both = std::pair<Floats, Doubles>;

/// At night (.ci/run): compilers take minutes for what is left out by day.
bool at_night() { return std::getenv("WENGERT_LONG_TESTS") != nullptr; }

/// The shapes that are compiled: one text for each function and shape. Derivatives of the first. Long rows and columns at night.
const std::vector<Shape>& compiled_shapes()
{
    static const std::vector<Shape> all = [] {
        std::vector<Shape> shapes = {Shape{12, 19}, Shape{}, Shape{2, 1, 2, 3, 1, 2, 2}, Shape{4, 0, 2}};
        if (at_night()) shapes.insert(shapes.end(), {Shape{2, 4300}, Shape{600, 3}});
        return shapes;
    }();
    return all;
}

template <class T> void add_results(const List<T>& in, List<T>& out, std::vector<Label>* labels)
{
    for (std::size_t k = 0; k < in.size(); k += 2)
        walk::results(in[k], in[k + 1], k == 0, out, labels, walk::Which::no_host_calls);
}
Both everything(const Both& in)
{
    Both out;
    add_results(in.first, out.first, nullptr);
    add_results(in.second, out.second, nullptr);
    return out;
}
template <class T> std::vector<Label> labels_of(const List<T>& in)
{
    List<T> out;
    std::vector<Label> labels;
    add_results(in, out, &labels);
    return labels;
}
/// The arguments of everything(): all kinds of operands, and edges beside other edges.
std::vector<Both> arguments()
{
    std::vector<Both> all(3 + 8);
    const auto add = [&]<class T>(List<T> Both::*to, const Shape& s) {
        const auto kinds = walk::operands<T>(s);
        for (std::size_t k = 0; k < all.size(); ++k) {
            List<T>& list = all[k].*to;
            if (k < kinds.size())
                list.insert(list.end(), {kinds[k].first, kinds[k].second});
            else
                list.insert(list.end(), {walk::wild<T>(s, 1), walk::wild<T>(s, 2 * k + 1)});
        }
    };
    for (const Shape& s : compiled_shapes()) {
        if (s.size() == 2) add(&Both::first, s);
        add(&Both::second, s);
    }
    return all;
}

/// A function frozen on a backend, beside itself.
template <class T, class F>
void beside(const F& f, const Backend& backend, const std::vector<std::pair<Tensor<T>, Tensor<T>>>& arguments,
            const std::vector<Label>& labels)
{
    INFO(backend.name);
    FreezeOptions options;
    options.backend = backend;
    options.check = false;
    auto frozen = freeze(f, options);
    frozen(arguments[0].first, arguments[0].second);
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const auto& [a, b] = arguments[k];
        walk::compare<T>(f(a, b), frozen(a, b), labels, k > 0);
    }
    INFO(frozen.explain());
    CHECK(frozen.stats().eager_calls == 0);
    CHECK(frozen.explain().find("host call") == std::string::npos);
}

}  // namespace

TEMPLATE_TEST_CASE("every primitive, node by node and in tiles, on operands of every shape", "", float,
                   double)
{
    using T = TestType;
    for (const Shape& s : walk::shapes()) {
        INFO(to_string(s));
        const bool derivatives = s.size() == 1 || s.size() == 3;
        const auto f = [&](const Tensor<T>& a, const Tensor<T>& b) {
            List<T> out;
            walk::results(a, b, derivatives, out);
            return out;
        };
        std::vector<Label> labels;
        List<T> eager;
        const auto arguments = walk::operands<T>(s);
        walk::results(arguments[0].first, arguments[0].second, derivatives, eager, &labels);
        for (const Backend& backend : std::vector<Backend>{interpret, tile})
            beside<T>(f, backend, arguments, labels);
    }
}

TEMPLATE_TEST_CASE("every primitive in tiles, of views within the graph", "", float, double)
{
    using T = TestType;
    using placeholders::_;
    // transposed, every second, overlapping windows, one element for all
    const std::vector<Tensor<T> (*)(const Tensor<T>&)> views = {
        [](const Tensor<T>& x) { return transpose(x); },
        [](const Tensor<T>& x) { return view(x, range(_, _, -2), range(1, _, 3)); },
        [](const Tensor<T>& x) { return sliding_window(x(0), 4, 0); },
        [](const Tensor<T>& x) {
            return broadcast_to(x(1, 2), {3, 5});
        }};
    for (const auto& shown : views) {
        const auto f = [&](const Tensor<T>& a, const Tensor<T>& b) {
            List<T> out;
            walk::results(shown(a), shown(b), false, out);
            return out;
        };
        const auto arguments = walk::operands<T>({6, 9});
        std::vector<Label> labels;
        List<T> eager, apart;
        walk::results(shown(arguments[0].first), shown(arguments[0].second), false, eager, &labels);
        for (const auto& [a, b] : arguments) {  // eager code of views is that of their elements
            List<T> of_views, of_copies;
            walk::results(shown(a), shown(b), false, of_views);
            walk::results(copy(shown(a)), copy(shown(b)), false, of_copies);
            walk::compare<T>(of_copies, of_views, labels, true);
        }
        for (const Backend& backend : std::vector<Backend>{interpret, tile})
            beside<T>(f, backend, arguments, labels);
    }
}

TEST_CASE("every primitive as native code, in one text", "[native]")
{
    const auto all = arguments();
    const std::vector<Label> floats = labels_of(all[0].first), doubles = labels_of(all[0].second);
    FreezeOptions options;
    options.backend = native;
    options.check = false;
    auto frozen = freeze(everything, options);
    frozen(all[0]);
    for (std::size_t k = 0; k < all.size(); ++k) {
        const Both want = everything(all[k]), got = frozen(all[k]);
        walk::compare<float>(want.first, got.first, floats, k > 0);
        walk::compare<double>(want.second, got.second, doubles, k > 0);
    }
    INFO(frozen.explain());
    CHECK(frozen.stats().eager_calls == 0);
    CHECK(frozen.explain().find("host call") == std::string::npos);
    CHECK(frozen.explain().find("no native form") == std::string::npos);
}

TEST_CASE("every primitive in a loop of native code", "[native]")
{
    const auto f = [](const Tensor<double>& xs, const Tensor<double>&) {
        const auto step = [](const Tensor<double>& s, const Tensor<double>& u) {
            List<double> out;
            walk::results(u(0) * 1.0, u(1) + s, true, out, nullptr, walk::Which::described);
            return std::pair(s, out);
        };
        return scan(step, Tensor<double>(-0.0), xs).second;
    };
    std::vector<Label> labels;
    List<double> eager;
    walk::results(walk::calm<double>({3, 4}, 1), walk::calm<double>({3, 4}, 2), true, eager, &labels,
                  walk::Which::described);
    std::vector<std::pair<Tensor<double>, Tensor<double>>> arguments;
    for (const auto& [a, b] : walk::operands<double>({3, 2, 3, 4})) arguments.emplace_back(a, b);
    for (const Backend& backend : std::vector<Backend>{interpret, tile, native})
        beside<double>(f, backend, arguments, labels);
}

TEST_CASE("every primitive as emitted C and C++, in one object", "[emit]")
{
    const auto all = arguments();
    const std::vector<Label> floats = labels_of(all[0].first), doubles = labels_of(all[0].second);
    const auto blocks = [](const Both& in) {
        std::vector<Ref<Block>> list;
        for (const auto& x : in.first) list.push_back(x.any().value);
        for (const auto& x : in.second) list.push_back(x.any().value);
        return list;
    };
    Program p{"everything", {}, {}, {}};
    p.inputs = blocks(all[0]);
    p.graph = passes::dead_code(trace_graph(
        [&](const std::vector<AnyTensor>& in) {
            Both given;
            for (std::size_t k = 0; k < in.size(); ++k)
                if (k < all[0].first.size())
                    given.first.push_back(Tensor<float>(in[k]));
                else
                    given.second.push_back(Tensor<double>(in[k]));
            const Both out = everything(given);
            std::vector<AnyTensor> list;
            for (const auto& y : out.first) list.push_back(y.any());
            for (const auto& y : out.second) list.push_back(y.any());
            return list;
        },
        p.inputs));
    const Compiled object({p}, true, {at_night() ? "-O1" : "-O0"});
    if (!object.object) return;
    for (std::size_t k = 0; k < all.size(); ++k) {
        const Both want = everything(all[k]);
        std::vector<Ref<Block>> out;
        REQUIRE(object(p, blocks(all[k]), &out) == 0);
        walk::compare<float>(want.first, out, floats, k > 0);
        walk::compare<double>(want.second, out, doubles, k > 0, floats.size());
    }
}

TEST_CASE("every primitive for batches of any size")
{
    const auto f = [](const Tensor<double>& a, const Tensor<double>& b) {
        List<double> out;
        walk::results(a, b, false, out);
        return out;
    };
    auto frozen = freeze(f, {.check = false, .dynamic = {0, 1}});
    for (const std::int64_t n : {4, 6, 9, 5, 12, 3}) {
        const Shape s{n, 3};
        std::vector<Label> labels;
        List<double> want;
        const auto a = walk::calm<double>(s, 1), b = walk::calm<double>(s, 2);
        walk::results(a, b, false, want, &labels);
        walk::compare<double>(want, frozen(a, b), labels);
    }
}
