// A program's own primitives of awkward kinds: gathers that are clamped, mirrored, wrapped and strided, scatters, scans beside a rule,
// operands that are written into, folds of several numbers, a product of batches that has its shape rule. Values are those of plain
// loops; and what the library's own primitives have, these have: both modes to order 2 in every executor, in loops, branches and
// checkpoints, on another device, for any extent, in place, on threads.
#include "graph/ir/user_primitives.hpp"

#include <thread>

#include "apart.hpp"
#include <wengert/graph/control/control.hpp>
#include <wengert/graph/native/native.hpp>
#include <wengert/graph/freeze/freeze.hpp>
#include <wengert/graph/passes/dead_code.hpp>
#include <wengert/transforms/saved_tensor_hooks.hpp>
#include <wengert/wengert.hpp>
#include <wengert/graph/ir/trace.hpp>

using namespace own_primitives;

namespace {

/// Of the loss of which the derivatives are taken.
D loss_of(const Own& own, const D& x) { return sum(sin(own.of(x)) + square(own.of(x * 0.5))); }

bool close(const D& a, const D& b) { return a.shape() == b.shape() && allclose(a, b, 1e-12); }
bool same(const D& a, const D& b, bool library)
{
    return library ? close(a, b) : same_elements(*readable(a.any().value), *readable(b.any().value));
}

/// What is asked of each: the value, the gradient, a product with the Hessian, a tangent.
std::vector<D> everything(const Own& own, const D& x)
{
    const auto loss = [own](const D& t) { return loss_of(own, t); };
    const D v = cos(x * 3.0);
    return {own.of(x), grad(loss)(x), hvp(loss)(x, v),
            jvp([own](const D& t) { return own.of(t); }, x, v).second};
}
const std::vector<Backend>& backends()
{
    static const std::vector<Backend> all = {interpret, tile, native};
    return all;
}

}  // namespace

TEST_CASE("own primitives: values are those of plain loops, derivatives those of differences")
{
    for (const Own& own : all_own()) {
        INFO(own.name);
        for (const Shape& shape : {Shape{5, 4}, Shape{10, 1}, Shape{3, 7}, Shape{4, 9}}) {
            const D x = numbers<double>(shape, 1);
            const D turned = transpose(copy(transpose(x)));
            if (own.plain) {
                const Values want = own.plain({x.data(), shape[0], shape[1]});
                for (const D& y : {own.of(x), own.of(turned)}) {
                    REQUIRE(y.size() == want.size());
                    CHECK(
                        allclose(flatten(y), D(Shape{static_cast<std::int64_t>(want.size())}, want), 1e-13));
                }
            }
            const auto loss = [&](const D& t) { return loss_of(own, t); };
            const CheckReport report = check_grads(loss, x, {.order = 2});
            INFO(report.message);
            CHECK(report.ok);
            const AuditReport audited = audit(loss, turned);
            INFO(audited.message);
            CHECK(audited.ok);
        }
        // rows of the Hessian, forwards over backwards and backwards twice
        const D x = numbers<double>({3, 4}, 2);
        const auto loss = [&](const D& t) { return loss_of(own, t); };
        const D h = hessian(loss)(x), twice = jacobian(grad(loss))(x);
        CHECK(close(h, twice));
        CHECK(close(h, transpose(h, {2, 3, 0, 1})));
    }
}

TEST_CASE("own primitives: in every executor, eager's bits and no host call")
{
    const D x = numbers<double>({5, 4}, 1), other = numbers<double>({5, 4}, 4);
    for (const Own& own : all_own())
        for (const Backend& backend : backends()) {
            INFO(own.name << ", " << backend.name);
            auto frozen = freeze([own](const D& t) { return everything(own, t); }, {.backend = backend});
            for (const D& a : {x, other, x}) {
                const auto want = everything(own, a), got = frozen(a);
                for (std::size_t k = 0; k < want.size(); ++k) {
                    INFO("result " << k);
                    CHECK(same(got[k], want[k], own.library));
                }
            }
            INFO(frozen.explain());
            CHECK(frozen.stats().eager_calls == 0);
            CHECK(frozen.explain().find("host call") == std::string::npos);
            if (backend.name == native.name && !own.library)
                CHECK(frozen.explain().find("no native form") == std::string::npos);
        }
}

TEST_CASE("own primitives: in loops and branches, under checkpoints, with hooks", "[native]")
{
    const D x = numbers<double>({4, 3}, 1), xs = numbers<double>({3, 4, 3}, 3);
    for (const Own& own : all_own()) {
        INFO(own.name);
        const auto in_scan = [own](const D& s, const D& inputs) {
            const auto step = [own](const D& a, const D& u) { return std::pair(a * 0.5 + u, own.of(a + u)); };
            return sum(sin(scan(step, s, inputs).second));
        };
        const auto in_while = [own](const D& s, const D&) {
            const auto more = [](const auto& t) { return std::get<1>(t) < 3; };
            const auto step = [own](const auto& t) {
                const D y = std::get<0>(t);
                return std::tuple(y * 0.5 + sum(own.of(y)) * 0.01, std::get<1>(t) + 1);
            };
            return sum(square(std::get<0>(while_loop(more, step, std::tuple(s, I(std::int64_t{0}))))));
        };
        const auto in_cond = [own](const D& s, const D& inputs) {
            const auto yes = [own](const D& a) { return sum(square(own.of(a))); };
            const auto no = [](const D& a) { return sum(a); };
            return cond(sum(inputs) < 1e9, yes, no, s);
        };
        using Loss = std::function<D(const D&, const D&)>;
        for (const auto& [name, f] : std::vector<std::pair<const char*, Loss>>{
                 {"scan", in_scan}, {"while", in_while}, {"cond", in_cond}}) {
            INFO(name);
            const auto both = [f](const D& s, const D& inputs) { return value_and_grad<0>(f)(s, inputs); };
            const auto [value, g] = both(x, xs);
            CHECK(check_grads([&](const D& s) { return f(s, xs); }, x, {.order = 2}).ok);
            for (const Backend& backend : backends()) {
                auto frozen = freeze(both, {.backend = backend});
                for (int i = 0; i < 3; ++i) {
                    const auto [v, h] = frozen(x, xs);
                    CHECK(same(v, value, own.library));
                    CHECK(same(h, g, own.library));
                }
                INFO(backend.name << ": " << frozen.explain());
                if (!own.library) CHECK(frozen.explain().find("step by step") == std::string::npos);
            }
        }
        const auto loss = [own](const D& t) { return loss_of(own, t); };
        const D g = grad(loss)(x);
        CHECK(same(grad([&](const D& t) { return checkpoint(loss)(t); })(x), g, false));
        {
            const SavedTensorHooks hooks(save_on_disk("/tmp"));
            CHECK(same(grad(loss)(x), g, false));
        }
        // written in place, recorded: a part of what is there, and all of it
        const auto updated = [own](const D& t) {
            D y = t * 1.0;
            const D v = own.of(y);
            view(y, range(1, 3)) += sum(v);
            y += t;
            view(y, 0) = sum(v) * 0.5;
            return sum(square(own.of(y)));
        };
        CHECK(check_grads(updated, x, {.order = 2}).ok);
        auto frozen = freeze(grad(updated));
        for (int i = 0; i < 3; ++i) CHECK(same(frozen(x), grad(updated)(x), own.library));
        // rows of a batch, one after another, under keys
        const auto batch = [own](const D& b) {
            std::vector<D> all;
            for (std::int64_t k = 0; k < b.shape()[0]; ++k)
                all.push_back(
                    sum(own.of(b(k) * dropout_mask<double>(fold_in(Key(3), static_cast<std::uint64_t>(k)),
                                                           b(k).shape(), 0.3))));
            return sum(square(wengert::stack(all, 0)));
        };
        auto batches = freeze(grad(batch), {.backend = native});
        for (int i = 0; i < 3; ++i) CHECK(same(batches(xs), grad(batch)(xs), own.library));
    }
}

TEST_CASE("own primitives: for any extent, into memory that is given, on threads")
{
    for (const Own& own : all_own()) {
        INFO(own.name);
        const auto f = [own](const D& t) { return grad([own](const D& u) { return loss_of(own, u); })(t); };
        auto any = freeze(f, {.check = false, .dynamic = {0}});
        for (const std::int64_t n : {4, 6, 9, 5, 3, 10}) {
            const D x = numbers<double>({n, 4}, 1);
            CHECK(same(any(x), f(x), own.library));
        }
        CHECK((own.fixed || any.stats().specialised > 0));
        const D x = numbers<double>({6, 5}, 1);
        auto frozen = freeze(f, {.threads = 3});
        D to = zeros<double>({6, 5});
        for (int i = 0; i < 3; ++i) {
            frozen.into(to)(x);
            CHECK(same(to, f(x), own.library));
        }
        const D want = f(x);
        std::vector<char> good(3);
        std::vector<std::thread> team;
        for (std::size_t k = 0; k < good.size(); ++k)
            team.emplace_back([&, k] {
                good[k] = true;
                for (int i = 0; i < 20; ++i) good[k] = good[k] && same(frozen(x), want, own.library);
            });
        for (auto& t : team) t.join();
        CHECK(std::count(good.begin(), good.end(), 1) == 3);
    }
}

TEST_CASE("own primitives: on another device, eager, frozen and in loops")
{
    const D x = numbers<double>({4, 3}, 1);
    for (const Own& own : all_own()) {
        INFO(own.name);
        const std::vector<D> want = everything(own, x);
        const auto looped = [own](const D& s) {
            return grad([own](const D& t) {
                const auto step = [own](const D& a) { return std::pair(a * 0.5, sum(own.of(a))); };
                return sum(square(scan(step, t, 3).second));
            })(s);
        };
        const D in_loop = looped(x);
        const OnDevice there(apart::device());
        const D away(x.shape(), Values(x.data(), x.data() + x.size()));
        auto frozen = freeze([own](const D& t) { return everything(own, t); });
        auto loop = freeze(looped);
        for (int i = 0; i < 3; ++i) {
            const auto got = i ? frozen(away) : everything(own, away);
            for (std::size_t k = 0; k < want.size(); ++k) CHECK(same(got[k], want[k], own.library));
            CHECK(same(loop(away), in_loop, own.library));
        }
    }
}

TEST_CASE("own primitives: as emitted C and C++", "[emit]")
{
    std::vector<Program> all;
    for (const Own& own : all_own())
        for (const Shape& shape : {Shape{5, 4}, Shape{3, 1}}) {
            Program p{"own" + std::to_string(all.size()), {}, {numbers<double>(shape, 1).any().value}, {}};
            p.graph = passes::dead_code(trace_graph(
                [&](const std::vector<AnyTensor>& in) {
                    std::vector<AnyTensor> out;
                    for (const D& y : everything(own, D(in[0]))) out.push_back(y.any());
                    return out;
                },
                p.inputs));
            for (const D& y : everything(own, D(AnyTensor{p.inputs[0], {}})))
                p.expected.push_back(readable(y.any().value));
            all.push_back(std::move(p));
        }
    const Compiled object(all, true);
    if (!object.object) return;
    for (std::size_t k = 0; k < all.size(); ++k) {
        std::vector<Ref<Block>> out;
        REQUIRE(object(all[k], all[k].inputs, &out) == 0);
        for (std::size_t i = 0; i < out.size(); ++i) {
            INFO(all_own()[k / 2].name << ", result " << i);
            const D got(AnyTensor{out[i], {}}), want(AnyTensor{all[k].expected[i], {}});
            CHECK(same(got, want, all_own()[k / 2].library));
        }
    }
}

TEST_CASE("own primitives: what is added several times is added as often in every executor")
{
    const D x = numbers<double>({5}, 1), y = numbers<double>({5}, 2);
    const auto f = [](const D& a, const D& b) {
        return std::pair(apply<Thrice, double>({}, Site{}, zeros<double>({5}), b),
                         apply<Thrice, double>({}, Site{}, a, b));
    };
    CHECK(allclose(f(x, y).first, 3.0 * y, 1e-15));
    for (const Backend& backend : backends()) {
        auto frozen = freeze(f, {.backend = backend, .check = false});
        for (int i = 0; i < 2; ++i) {
            const auto [p, q] = frozen(x, y);
            CHECK(same(p, f(x, y).first, false));
            CHECK(same(q, f(x, y).second, false));
        }
    }
}
