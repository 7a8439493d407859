// What a recorder is told: every operation with operands that it knows, and nothing else.
#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>
#include <sstream>

#include <wengert/graph/ir/fields.hpp>
#include <wengert/ops/elementwise/activations.hpp>
#include <wengert/ops/arg_reductions.hpp>
#include <wengert/ops/elementwise/cast.hpp>
#include <wengert/ops/creation.hpp>
#include <wengert/io/arrays.hpp>
#include <wengert/ops/losses.hpp>
#include <wengert/io/print.hpp>
#include <wengert/ops/random.hpp>
#include <wengert/ops/take.hpp>

#include "catch.hpp"

namespace wg = wengert;
using wg::Block;
using wg::Key;
using wg::Ref;
using wg::Shape;
using wg::Site;
using wg::Tensor;

namespace {

/// Keeps the operations as text, and which blocks it has met.
class Notes : public wg::BasicRecorder, public wg::KeyHook {
public:
    Notes()
        : BasicRecorder(wg::recorder_table<Notes>),
          KeyHook{[](KeyHook& hook, const Key& parent, std::uint64_t i, std::uint32_t domain,
                     const Key& made) { return static_cast<Notes&>(hook).child(parent, i, domain, made); }},
          outer_(wg::current_thread().recorder), outer_hook_(wg::key_hook)
    {
        wg::current_thread().recorder = this;
        wg::key_hook = this;
    }
    ~Notes()
    {
        wg::current_thread().recorder = outer_;
        wg::key_hook = outer_hook_;
    }

    void input(const Ref<Block>& b) { met(b, "input"); }
    void input(Key& key)
    {
        key.origin = ++last_;
        met(keys_[key.origin] = wg::detail::tensor_of(key), "input");
    }

    void operation(const wg::Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out,
                   const Site& at)
    {
        names.emplace_back(p.name);
        lines.push_back(at.line);
        for (std::size_t i = 0; i < n; ++i) {
            if (known_.contains(in[i])) continue;
            constants.push_back(std::string(p.name) + " " + std::to_string(i));
            met(Ref<Block>(const_cast<Block*>(in[i])), "constant");
        }
        met(Ref<Block>(&out), std::string(p.name));
        replays(p, op, in, n, out);
    }
    void alias(const wg::AnyTensor&, const Ref<Block>&, const Site&) {}
    void read(const Block& x, wg::Read, const Site&) { reads.push_back(known_[&x]); }
    bool knows(const Block& b) const { return known_.contains(&b); }
    Ref<Block> key(std::uint64_t origin)
    {
        const auto found = keys_.find(origin);
        return found == keys_.end() ? Ref<Block>() : found->second;
    }
    std::uint64_t child(const Key& parent, std::uint64_t i, std::uint32_t domain, const Key& made)
    {
        const Ref<Block> of = key(parent.origin);
        if (!of) return 0;
        keys_[++last_] = wg::detail::draw_key(*this, of, i, domain, made);
        return last_;
    }
    [[noreturn]] void refuse(std::string_view what, const Site& at)
    {
        wg::fail<wg::TapeError>("notes", std::string(what), at);
    }

    std::vector<std::string> names, constants, reads;
    std::vector<int> lines;
    std::vector<std::string> other_bits;  ///< operations that did not give the same when done again

private:
    void met(const Ref<Block>& b, std::string what)
    {
        known_[b.get()] = std::move(what);
        held_.push_back(b);
    }
    /// The descriptor and the parameters, copied through their fields, are all that there is to the operation.
    void replays(const wg::Primitive& p, const void* op, const Block* const* in, std::size_t n, Block& out)
    {
        if (!p.compute) return;
        std::vector<Ref<Block>> blocks;
        for (std::size_t i = 0; i < n; ++i) blocks.emplace_back(const_cast<Block*>(in[i]));
        const Ref<Block> again = p.compute(op, blocks.data(), n, {});
        if (!wg::same_elements(*wg::readable(again), *wg::readable(Ref<Block>(&out))))
            other_bits.emplace_back(p.name);
    }

    wg::Recorder* outer_;
    wg::KeyHook* outer_hook_;
    std::map<const Block*, std::string> known_;
    std::vector<Ref<Block>> held_;
    std::map<std::uint64_t, Ref<Block>> keys_;
    std::uint64_t last_ = 0;
};

using Names = std::vector<std::string>;
Tensor<std::int64_t> integers(std::initializer_list<std::int64_t> v) { return Tensor<std::int64_t>(v); }

}  // namespace

TEST_CASE("every operation of a small program is seen, its operands are known")
{
    Tensor<double> x{1.0, -2.0, 3.0};
    const Tensor<std::int64_t> at{2, 0};
    Notes notes;
    notes.input(x.any().value);
    notes.input(at.any().value);
    const Tensor<double> y = wg::take(wg::tanh(x) * 2.0, at, 0);
    const Tensor<double> z = wg::sum(wg::scatter_add(x, at, y, 0));
    CHECK(notes.names == Names{"tanh", "multiply", "take", "scatter_add", "sum"});
    CHECK(notes.constants == Names{"multiply 1"});
    CHECK(notes.reads.empty());
    CHECK(notes.other_bits.empty());
    CHECK(z.item() == Approx(2 - 0 + 2 * std::tanh(1.0) + 2 * std::tanh(3.0)));
    CHECK(notes.reads == Names{"sum"});
    for (int line : notes.lines) CHECK(line > 0);
}

TEST_CASE("labels, casts and positions are operands, not constants")
{
    const Tensor<std::int64_t> labels{1, 0, 1};
    const Tensor<double> x{{0.5, -1.0}, {2.0, 0.25}, {0.0, 1.0}};
    Notes notes;
    notes.input(labels.any().value);
    notes.input(x.any().value);
    const auto hot = wg::one_hot<double>(labels, 2);
    const auto loss = wg::cross_entropy(x, labels);
    const auto found = wg::argmax(x, 1) == labels;
    CHECK(notes.names == Names{"one_hot", "cross_entropy", "argmax", "equal"});
    CHECK(notes.constants.empty());
    CHECK(notes.reads.empty());
    CHECK(notes.other_bits.empty());
    CHECK(static_cast<bool>(wg::allclose(hot, Tensor<double>{{0.0, 1.0}, {1.0, 0.0}, {0.0, 1.0}})));
    CHECK(notes.reads == Names{"one_hot", ""});
}

TEST_CASE("printing and saving are reads")
{
    const Tensor<double> x{1.0, 2.0};
    Notes notes;
    notes.input(x.any().value);
    std::ostringstream out;
    out << wg::exp(x);
    CHECK(notes.reads == Names{"exp"});
    const std::string path = "/tmp/wengert_recorder_" + std::to_string(getpid()) + ".npy";
    wg::save_npy(path, wg::square(x));
    static_cast<void>(std::remove(path.c_str()));
    CHECK(notes.reads == Names{"exp", "square"});
}

TEST_CASE("draws from a key of the trace are operations on it, with the same elements as outside")
{
    const Key outside(7);
    const auto all = [](const Key& key) {
        const auto [a, b] = wg::split(key);
        const Key c = wg::fold_in(b, 41);
        return std::tuple{wg::normal<float>(a, {3, 5}),
                          wg::uniform<double>(b, {4}, -1.0, 2.0),
                          wg::bernoulli(c, {9}, 0.3),
                          wg::randint<std::int32_t>(key, {8}, -5, 5),
                          wg::permutation(wg::fold_in(c, 2), 10),
                          wg::dropout_mask<float>(a, {6}, 0.5)};
    };
    const auto expected = all(outside);
    Notes notes;
    Key inside = outside;
    notes.input(inside);
    CHECK(inside == outside);
    const auto drawn = all(inside);
    CHECK(notes.names == Names{"key_child", "key_child", "key_child", "normal", "uniform", "bernoulli",
                               "randint", "key_child", "permutation", "dropout_mask"});
    CHECK(notes.constants.empty());
    CHECK(notes.reads.empty());
    CHECK(notes.other_bits.empty());
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        const bool same[] = {
            wg::same_elements(*std::get<i>(drawn).any().value, *std::get<i>(expected).any().value)...};
        for (bool s : same) CHECK(s);
    }(std::make_index_sequence<6>());
}

TEST_CASE("draws from a constant key are constants")
{
    Notes notes;
    const auto [a, b] = wg::split(Key(3));
    CHECK(a.origin == 0);
    const auto noise = wg::normal<double>(a, {4});
    CHECK(notes.names.empty());
    static_cast<void>(noise + 1.0);
    CHECK(notes.constants == Names{"add 0", "add 1"});
}

TEST_CASE("copies of a key are the same key, its children are others")
{
    Notes notes;
    Key key(5);
    notes.input(key);
    const Key copy = key;
    CHECK(copy.origin == key.origin);
    const std::vector<Key> keys = wg::split(copy, 3);
    std::set<std::uint64_t> origins{key.origin};
    for (const Key& k : keys) origins.insert(k.origin);
    CHECK(origins.size() == 4);
    CHECK(keys[2] == wg::split(Key(5), 3)[2]);
}

TEST_CASE("what a graph hands to draws, takes and labels is looked at again")
{
    using A = xsimd::default_arch;
    const auto run = [](const wg::Primitive& p, const void* op, std::vector<Ref<Block>> in) {
        return p.compute(op, in.data(), in.size(), Site{"user.cpp", 12});
    };
    const Ref<Block> key = wg::detail::tensor_of(Key(1)), bad = integers({1, 2, 3}).any().value;
    const Ref<Block> x = Tensor<float>{1.0f, 2.0f}.any().value;

    using Normal = wg::Draw<wg::detail::NormalFill>;
    const auto& normal = wg::structural_primitive<Normal, A, float, std::int64_t>;
    const Normal negative{{Shape{-1}}}, fine{{Shape{2}}};
    CHECK(run(normal, &fine, {key})->count == 2);
    CHECK_THROWS_AS(run(normal, &fine, {bad}), wg::ShapeError);
    CHECK_THROWS_AS(run(normal, &negative, {key}), wg::ShapeError);

    using Mask = wg::Draw<wg::detail::DropoutFill>;
    const Mask sure{{Shape{2}, 1.0}};
    CHECK_THROWS_AS(run(wg::structural_primitive<Mask, A, float, std::int64_t>, &sure, {key}), wg::Error);

    const wg::Take take{0, Shape{2}};
    const wg::ScatterAdd scatter{0};
    const wg::OneHot hot{3};
    const Ref<Block> updates = Tensor<float>{0.0f, 0.0f, 0.0f}.any().value;
    CHECK_THROWS_WITH(run(wg::structural_primitive<wg::Take, A, float, float, std::int64_t>, &take, {x, bad}),
                      Catch::Contains("user.cpp:12"));
    CHECK_THROWS_AS(run(wg::structural_primitive<wg::ScatterAdd, A, float, float, std::int64_t, float>,
                        &scatter, {x, bad, updates}),
                    wg::IndexError);
    CHECK_THROWS_WITH(run(wg::structural_primitive<wg::OneHot, A, float, std::int64_t>, &hot, {bad}),
                      Catch::Contains("user.cpp:12"));
    CHECK(x->as<float>()[0] == 1.0f);
}
