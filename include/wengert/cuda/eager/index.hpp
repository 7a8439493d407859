// Index programs on a device: each read is a launch of a kernel of index_text.hpp or scan_text.hpp.
#pragma once

#include <algorithm>

#include "../../ops/index/alias.hpp"
#include "../../ops/describe/structural.hpp"
#include "moves.hpp"
#include "scan_text.hpp"
#include "sort.hpp"

namespace wengert::detail::gpu {

class IndexKernel {
public:
    IndexKernel(Gpu& gpu, const Index& p, const Ref<Block>* in, Block& out)
        : gpu_(gpu), p_(p), in_(in), out_(out)
    {}
    /// Are there few enough axes, and few enough rules in each array, and kernels? `dtype` is the result's.
    static bool can(Gpu& gpu, const Index& p, const Ref<Block>* in, DType dtype)
    {
        bool good = p.extents.size() <= Reach::most_axes;
        for (std::size_t w = 0; w < p.write_count; ++w) good = good && few_rules(p.writes[w]);
        for (std::size_t r = 0; r < p.read_count; ++r)
            good =
                good && few_rules(p.reads[r].at) && has_kernels(gpu, p, dtype_of_read(p.reads[r], in, dtype));
        return good && (!p.has_factor || few_rules(p.factor.at));
    }
    void run()
    {
        begin();
        for (auto e : p_.extents)
            if (e == 0) return;
        for (std::size_t r = 0; r < p_.read_count; ++r) read(p_.reads[r]);
    }

private:
    static DType dtype_of_read(const Index::Read& r, const Ref<Block>* in, DType dtype)
    {
        return r.operand == Index::no_operand ? dtype : in[r.operand]->dtype;
    }
    /// The text for elements of a type.
    static std::string key(const Index& p, DType dtype)
    {
        return std::string(p.scanned != Scan::none ? "scan " : "index ") + row_of(dtype).lane;
    }
    static std::string text(const Index& p, DType dtype)
    {
        return p.scanned != Scan::none ? scan_text_of(dtype) : index_text(dtype);
    }
    static bool has_kernels(Gpu& gpu, const Index& p, DType dtype)
    {
        return Kernels::of(gpu).has(gpu, key(p, dtype), [&] { return text(p, dtype); });
    }
    static bool few_rules(const Positions& at)
    {
        return std::count_if(at.begin(), at.end(), [](const Position& q) { return !q.plain(); }) <=
               static_cast<std::ptrdiff_t>(Reach::most_rules);
    }
    /// A number as the bits of an element.
    static long long bits_of(DType d, double v)
    {
        long long bits = 0;
        element_from(d, v, &bits);
        return bits;
    }
    void begin()
    {
        if (out_.count == 0) return;
        const DeviceTable& table = device_table(out_.device());
        if (p_.start == Index::Start::operand) {
            const Block& from = *in_[p_.base];
            const Ref<Block> to = make_view(Ref<Block>(&out_), from.shape, nullptr, 0);
            table.copy(from, *to);
        } else if (p_.start == Index::Start::fill) {
            const long long bits = bits_of(out_.dtype, p_.fill);
            table.fill(out_, &bits);
        }
    }

    Reach reach(const Positions& at, std::byte* data, const Shape& shape, const Strides& strides) const
    {
        Reach r;
        r.data = data;
        for (std::size_t d = 0; d < at.size(); ++d) {
            const Position& q = at.data()[d];
            if (q.plain()) {
                r.offset += q.offset * strides[d];
                for (std::size_t t = 0; t < q.terms; ++t)
                    if (p_.extents.data()[q.axis[t]] > 1) r.step[q.axis[t]] += q.step[t] * strides[d];
                continue;
            }
            Ruled& rule = r.rule[r.rules++];
            rule.offset = q.offset, rule.extent = shape[d], rule.stride = strides[d];
            rule.terms = q.terms, rule.rule = static_cast<int>(q.rule), rule.given = q.given;
            for (std::size_t t = 0; t < q.terms; ++t) rule.step[t] = q.step[t], rule.axis[t] = q.axis[t];
        }
        return r;
    }
    Reach reach(const Index::Read& r) const
    {
        if (r.operand == Index::no_operand) return {};
        const Block& b = *in_[r.operand];
        return reach(r.at, b.data, b.shape, b.strides());
    }
    GivenReach given(const Index::Given& g) const
    {
        const Block& b = *in_[g.operand];
        const Reach r = reach(g.at, b.data, b.shape, b.strides());
        GivenReach out;
        out.data = r.data, out.offset = r.offset, out.from_end = g.from_end;
        std::copy_n(r.step, Reach::most_axes, out.step);
        return out;
    }
    /// Two elements that differ along this axis have two places, whatever the other axes are; threads may take them.
    bool has_own_places(const Index::Read& r, std::size_t axis) const
    {
        if (p_.extents.data()[axis] == 1) return true;
        if (r.how == Combine::assign && p_.start == Index::Start::nothing) return true;
        const Positions& at = p_.writes[r.write];
        for (std::size_t d = 0; d < at.size(); ++d) {
            const Position& q = at.data()[d];
            if (q.given == 0 && q.terms == 1 && q.axis[0] == axis && q.step[0] != 0 &&
                (q.rule == Position::Rule::inside || q.rule == Position::Rule::masked))
                return true;
        }
        return false;
    }
    void set_axes(const Index::Read& r, IndexLaunch& l) const
    {
        const bool scans = p_.scanned != Scan::none;
        std::uint64_t apart = 0;
        const std::size_t n = p_.extents.size();
        for (std::size_t a = 0; a < n; ++a) {
            l.extents[a] = p_.extents.data()[a];
            if (!(scans && a == p_.scan_axis) && has_own_places(r, a)) apart |= std::uint64_t{1} << a;
        }
        for (const bool own : {true, false})
            for (std::size_t a = 0; a < n; ++a) {
                if ((scans && a == p_.scan_axis) || own != (apart >> a & 1)) continue;
                l.order[l.axes++] = static_cast<int>(a);
                (own ? l.threads : l.each) *= l.extents[a];
                l.apart += own;
            }
        if (!scans) return;
        l.scan_axis = p_.scan_axis;
        l.order[l.axes++] = p_.scan_axis;
    }
    void read(const Index::Read& r)
    {
        const DType dtype = dtype_of_read(r, in_, out_.dtype);
        IndexLaunch l;
        l.x = reach(r);
        l.y = reach(p_.writes[r.write], out_.data, p_.result, row_major(p_.result));
        l.fill = bits_of(dtype, r.fill);
        if (p_.has_factor) {
            l.factor = reach(p_.factor);
            l.factor_fill = bits_of(dtype, p_.factor.fill);
        }
        for (std::size_t k = 0; k < p_.given_count; ++k) l.given[k] = given(p_.givens[k]);
        set_axes(r, l);
        l.scanned = static_cast<int>(p_.scanned), l.reverse = p_.reverse, l.has_factor = p_.has_factor;
        l.how = static_cast<int>(r.how), l.minus = r.minus;
        find_divisions(l);
        if (p_.scanned != Scan::none) return scan(r, dtype, l);
        if (moves(r, dtype, l)) return;
        if (sorts(r, l)) return run_sorted(r, dtype, l);
        kernel("run", dtype, l.threads, l);
    }
    /// Where elements go from places to places that are affine in the axes, and meet nothing, it is a copy of a view to a view.
    bool moves(const Index::Read& r, DType dtype, const IndexLaunch& l)
    {
        if (r.how != Combine::assign || r.minus || l.each != 1 || !l.x.data || l.x.rules || l.y.rules)
            return false;
        if (!Kernels::of(gpu_).has(gpu_, "moves", moves_text)) return false;
        const std::size_t size = size_of(dtype);
        const auto operand = [&](const Reach& at) {
            kernels::Operand o{
                static_cast<std::byte*>(at.data) + at.offset * static_cast<long long>(size), size, {}};
            for (std::size_t a = 0; a < p_.extents.size(); ++a) o.strides.push_back(at.step[a]);
            return o;
        };
        kernels::Operand operands[] = {operand(l.y), operand(l.x)};
        const std::optional<Places> places =
            places_of(Shape(p_.extents.data(), p_.extents.size()), operands, 2);
        if (places) run_copy(gpu_, *places, size);
        return places.has_value();
    }
    static void find_divisions(IndexLaunch& l)
    {
        constexpr long long most = 0x7fffffff;
        l.narrow = l.threads <= most && l.each <= most && l.room <= most;
        for (std::size_t a = 0; a < Reach::most_axes && l.narrow; ++a) {
            const Division by(std::clamp(l.extents[a], 1LL, most));
            l.times[a] = by.times, l.shift[a] = by.shift;
        }
    }
    void kernel(const char* name, DType dtype, long long threads, const IndexLaunch& l)
    {
        launch(gpu_, Kernels::of(gpu_).find(gpu_, key(p_, dtype), name, [&] { return text(p_, dtype); }),
               threads, l);
    }
    /// Lines have a block of threads each where they are few and long.
    void scan(const Index::Read& r, DType dtype, const IndexLaunch& l)
    {
        constexpr long long long_line = 128, lines_of_each = 64;
        if (p_.scanned == Scan::first_maximum) return kernel("scan_places", dtype, l.threads, l);
        const auto axis = static_cast<std::size_t>(l.scan_axis);
        const bool few = l.each == 1 && l.extents[axis] >= long_line && has_own_places(r, axis) &&
                         l.threads <= lines_of_each * gpu_.multiprocessors();
        if (few)
            kernel("scan_line", dtype, l.threads * Kernels::block, l);
        else
            kernel("scan", dtype, l.threads, l);
    }

    /// The axes that a position along an axis of the result depends on.
    std::uint64_t axes_of(const Position& q) const
    {
        std::uint64_t all = 0;
        for (std::size_t t = 0; t < q.terms; ++t) all |= std::uint64_t{1} << q.axis[t];
        if (q.given == 0) return all;
        const Positions& at = p_.givens[q.given - 1].at;
        for (std::size_t d = 0; d < at.size(); ++d) all |= axes_of(at.data()[d]);
        return all;
    }
    /// Few threads would have much to do, and many places to do it in: of positions along the result's axes each depends on axes that
    /// have threads or on such that have none.
    bool sorts(const Index::Read& r, const IndexLaunch& l) const
    {
        if (l.scan_axis >= 0 || l.each < 512 || l.threads >= 512LL * gpu_.multiprocessors()) return false;
        const std::uint64_t own = own_axes(l);
        bool any = false;
        for (std::size_t d = 0; d < p_.writes[r.write].size(); ++d) {
            const std::uint64_t axes = axes_of(p_.writes[r.write].data()[d]);
            if ((axes & own) && (axes & ~own)) return false;
            any = any || (axes & ~own);
        }
        return any && Kernels::of(gpu_).has(gpu_, "sort", sorting_text);
    }
    static std::uint64_t own_axes(const IndexLaunch& l)
    {
        std::uint64_t own = 0;
        for (int k = 0; k < l.apart; ++k) own |= std::uint64_t{1} << l.order[k];
        return own;
    }
    void run_sorted(const Index::Read& r, DType dtype, IndexLaunch l)
    {
        const std::uint64_t own = own_axes(l);
        Positions shared = p_.writes[r.write];
        for (std::size_t d = 0; d < shared.size(); ++d)
            if (axes_of(shared.data()[d]) & own) shared.data()[d] = Position(0);
        IndexLaunch finding = l;
        finding.y = reach(shared, out_.data, p_.result, row_major(p_.result));
        l.room = finding.room = Sorting::room(l.each);
        const auto scratch = [&] {
            return make_elsewhere(current_thread(), static_cast<std::uint8_t>(out_.device()), DType::int64,
                                  Shape{l.room}, static_cast<std::size_t>(l.room));
        };
        const Ref<Block> words = scratch(), places = scratch();
        l.word = finding.word = words->data, l.place = finding.place = places->data;
        find_divisions(l), find_divisions(finding);
        kernel("find_places", dtype, l.room, finding);
        Sorting s;
        s.word = l.word, s.place = l.place, s.count = l.room;
        sort_pairs(gpu_, s);
        kernel("run_sorted", dtype, l.threads * l.each, l);
    }

    Gpu& gpu_;
    const Index& p_;
    const Ref<Block>* in_;
    Block& out_;
};

/// The line of the user's that an operation is of, now and for an error that shows later.
inline Site line_now(const Site& at)
{
    const Site& now = Operation::now().at;
    return now.line ? now : at;
}
inline void check_there(Gpu& gpu, const Index& p, std::string_view name, const Ref<Block>* in, DType dtype,
                        const Site& at)
{
    check_index_types(p, name, in, dtype, at);
    if (capturing_now && capturing_now->asked) return;
    each_given(
        p, [&](const GivenUse& use) { check_positions(gpu, use, name, in[use.operand], at, line_now(at)); });
}

/// Null where the host has to help.
inline Ref<Block> index_program(Gpu& gpu, const Primitive& p, const void* op, const Ref<Block>* in,
                                std::size_t n, const Site& at)
{
    Index program(n, [&](std::size_t k) -> const Shape& { return in[k]->shape; });
    describe_index(program, p.name, p.index, op, at);
    Alias view;
    if (p.overridden && n == 1 && in[0]->dtype == p.dtype && alias_of(program, in[0]->strides(), view))
        return make_view(in[0], program.shown(), &view.strides, view.offset);
    if (!IndexKernel::can(gpu, program, in, p.dtype)) return {};
    check_there(gpu, program, p.name, in, p.dtype, at);
    const std::uint8_t device = in[0]->device();
    auto out =
        make_elsewhere(current_thread(), device, p.dtype, program.shown(), element_count(program.result));
    IndexKernel(gpu, program, in, *out).run();
    device_table(device).counts->programs.fetch_add(1, std::memory_order_relaxed);
    return out;
}
/// The same where their number varies: each writes its part.
inline Ref<Block> index_parts(Gpu& gpu, const Primitive& p, const void* op, const Ref<Block>* in,
                              std::size_t n, const Site& at)
{
    Ref<Block> out;
    for (std::size_t k = 0; k < n; ++k) {
        const Shape* const shapes[] = {&in[k]->shape};
        Index part(shapes, 1);
        p.part(op, k, part);
        part.check(p.name, at);
        if (!IndexKernel::can(gpu, part, &in[k], p.dtype)) return {};
        if (!out)
            out = make_elsewhere(current_thread(), in[0]->device(), p.dtype, part.result,
                                 element_count(part.result));
        IndexKernel(gpu, part, &in[k], *out).run();
    }
    if (out) device_table(out->device()).counts->programs.fetch_add(1, std::memory_order_relaxed);
    return out;
}

}  // namespace wengert::detail::gpu
