// The executor behind run_index.hpp. Plain moves are a few boxes with strides; all else runs line by line, in the order that
// index.hpp states.
#pragma once

#include <limits>

#include "../../../array/layout.hpp"
#include "../../../base/scalar_math.hpp"
#include "../given_lines.hpp"
#include "index_checks.ipp"
#include "../run_index.hpp"

namespace wengert {

namespace detail {

[[noreturn]] inline void refuse_given(const GivenUse& use, std::string_view name, const Shape& of,
                                      std::size_t k, std::int64_t value, const Site& at)
{
    Shape place = Shape::filled(of.size());
    for (std::size_t d = of.size(); d-- > 0; k /= static_cast<std::size_t>(of[d]))
        place[d] = static_cast<std::int64_t>(k % static_cast<std::size_t>(of[d]));
    fail<IndexError>(name,
                     "index " + std::to_string(value) + " at " + to_string(place) + " of operand " +
                         std::to_string(use.operand) + " is out of range for axis " +
                         std::to_string(use.axis) + " of shape " + to_string(*use.of),
                     at);
}

/// Elements are moved and combined as what they are in the result. Throws DTypeError.
[[noreturn]] __attribute__((cold, noinline)) WENGERT_INLINE void refuse_type(std::string_view name,
                                                                             const std::string& what,
                                                                             DType of, DType result,
                                                                             const Site& at)
{
    fail<DTypeError>(name,
                     what + ": elements of " + std::string(name_of(of)) + " in a result of " +
                         std::string(name_of(result)),
                     at);
}
inline void check_types(const Index& p, std::string_view name, const Ref<Block>* in, DType out,
                        const Site& at)
{
    const bool places = p.scanned == Scan::first_maximum;
    if (places && out != DType::int64)
        refuse_type(name, "the place of a maximum is of int64", DType::int64, out, at);
    for (std::size_t r = 0; r < p.read_count; ++r) {
        const std::uint8_t k = p.reads[r].operand;
        if (k != Index::no_operand && in[k]->dtype != out && !places) [[unlikely]]
            refuse_type(name, "read " + std::to_string(r), in[k]->dtype, out, at);
        if (out == DType::boolean && (p.scanned != Scan::none || p.reads[r].how != Combine::assign))
            [[unlikely]]
            fail<DTypeError>(
                name, "read " + std::to_string(r) + ": truth values are moved, not added or compared", at);
    }
    if (p.has_factor && in[p.factor.operand]->dtype != out) [[unlikely]]
        refuse_type(name, "the coefficient", in[p.factor.operand]->dtype, out, at);
    if (p.start == Index::Start::operand && in[p.base]->dtype != out) [[unlikely]]
        refuse_type(name, "operand " + std::to_string(p.base) + ", which the result is first",
                    in[p.base]->dtype, out, at);
}

/// y ← x over a box, where nothing but rules stands in the way: cut along each axis that has one.
class Boxes {
public:
    Boxes(const Index& p, const Access& x, const Access& y, const std::byte* fill, std::size_t size)
        : p_(p), x_(x), fill_(fill), size_(size), y_data_(y.data()), y_offset_(y.offset()),
          x_offset_(x.offset())
    {
        extents_ = p.extents;
        x_strides_ = x.strides();
        y_strides_ = y.strides();
    }
    /// Each rule stands for one axis, and no axis has two.
    static bool can(const Access& x, const Access& y, std::size_t axes)
    {
        if (!y.affine() || x.given() || axes > kernels::copy_max_rank) return false;
        std::uint64_t seen = 0;
        for (const Access::Ruled& r : x.rules()) {
            if (r.at->terms > 1) return false;
            const std::uint64_t bit = r.at->terms ? std::uint64_t{1} << r.at->axis[0] : 0;
            if (seen & bit) return false;
            seen |= bit;
        }
        return true;
    }
    void run() { cut(0, x_offset_, y_offset_, false); }

private:
    void cut(std::size_t rule, std::int64_t x, std::int64_t y, bool masked)
    {
        if (rule == x_.rules().size()) return box(x, y, masked);
        const Access::Ruled& r = x_.rules()[rule];
        if (r.at->terms == 0) {
            const PositionPiece s = position_piece(r.at->rule, r.at->offset, 0, r.extent, 1);
            return cut(rule + 1, x + s.position * r.stride, y, masked || s.masked);
        }
        const std::size_t a = r.at->axis[0];
        const std::int64_t n = p_.extents[a], c = r.at->step[0], x_stride = x_strides_[a],
                           y_stride = y_strides_[a];
        for (std::int64_t j = 0; j < n;) {
            const PositionPiece s = position_piece(r.at->rule, r.at->offset + j * c, c, r.extent, n - j);
            extents_[a] = s.length;
            x_strides_[a] = x_stride + s.slope * r.stride;
            cut(rule + 1, x + j * x_stride + s.position * r.stride, y + j * y_stride, masked || s.masked);
            j += s.length;
        }
        extents_[a] = n;
        x_strides_[a] = x_stride;
    }
    void box(std::int64_t x, std::int64_t y, bool masked)
    {
        const auto bytes = static_cast<std::int64_t>(size_);
        SmallVector<std::int64_t, 8> none;
        if (masked)
            for (std::size_t a = 0; a < extents_.size(); ++a) none.push_back(0);
        kernels::copy_strided(extents_.size(), extents_.data(), (masked ? none : x_strides_).data(),
                              masked ? fill_ : x_.data() + x * bytes, y_strides_.data(), y_data_ + y * bytes,
                              size_);
    }

    const Index& p_;
    const Access& x_;
    const std::byte* fill_;
    std::size_t size_;
    std::byte* y_data_;
    std::int64_t y_offset_, x_offset_;
    SmallVector<std::int64_t, 8> extents_, x_strides_, y_strides_;
};

/// Runs the axes but some, in order, the last one fastest; the others stand at 0.
class Odometer {
public:
    explicit Odometer(const Index& p) : p_(p)
    {
        at_.resize(p.extents.size());
        for (std::int64_t& a : at_) a = 0;
    }
    void leave(std::size_t axis) { left_ |= std::uint64_t{1} << axis; }
    std::int64_t* at() noexcept { return at_.data(); }
    bool next() noexcept
    {
        for (std::size_t a = at_.size(); a-- > 0;) {
            if (left_ >> a & 1) continue;
            if (++at_.data()[a] < p_.extents.data()[a]) return true;
            at_.data()[a] = 0;
        }
        return false;
    }

private:
    const Index& p_;
    SmallVector<std::int64_t, 8> at_;
    std::uint64_t left_ = 0;
};

class IndexRun {
public:
    IndexRun(const Index& p, const Ref<Block>* in, Block& out) : p_(p), in_(in), out_(out) {}

    void run()
    {
        begin();
        for (auto e : p_.extents)
            if (e == 0) return;
        for (std::size_t r = 0; r < p_.read_count; ++r) {
            const Index::Read& read = p_.reads[r];
            Ref<Block> number;
            if (read.operand == Index::no_operand) number = make_borrowed(out_.dtype, Shape(), fill_);
            const Block& of = number ? *number : *in_[read.operand];
            const Access x(p_, read.at, of, of.shape, in_),
                y(p_, p_.writes[read.write], out_, p_.result, in_);
            element_from(of.dtype, read.fill, fill_);
            if (p_.scanned != Scan::none)
                scan(read, x, y);
            else if (read.how == Combine::assign && !read.minus && Boxes::can(x, y, p_.extents.size()))
                Boxes(p_, x, y, fill_, size_of(out_.dtype)).run();
            else if (GivenLines::can(read, x, y))
                GivenLines(p_, x, y).run(out_.dtype, read.how);
            else
                lines(read, x, y);
        }
    }

private:
    /// What the result is before anything is read.
    void begin()
    {
        if (p_.start == Index::Start::operand) {
            const Block& from = *in_[p_.base];
            if (from.data != out_.data || from.strided) copy_elements(from, out_);
        } else if (p_.start == Index::Start::fill) {
            with_dtype(out_.dtype, [&]<class T>() {
                T v;
                element_from(out_.dtype, p_.fill, &v);
                std::fill_n(out_.as<T>(), out_.count, v);
            });
        }
    }
    /// The last axis of more than one element.
    std::size_t innermost() const
    {
        std::size_t a = p_.extents.size();
        while (a > 1 && p_.extents.data()[a - 1] == 1) --a;
        return a ? a - 1 : 0;
    }
    void lines(const Index::Read& read, const Access& x, const Access& y)
    {
        const PieceKernel kernel = piece_kernel(out_.dtype, read.how, read.minus);
        Line from, to;
        if (p_.extents.empty()) return single(x, y, kernel);
        const std::size_t inner = innermost();
        Odometer over(p_);
        over.leave(inner);
        do {
            x.line(inner, over.at(), from);
            y.line(inner, over.at(), to);
            run_line(from, to, p_.extents.data()[inner], fill_, kernel);
        } while (over.next());
    }
    static constexpr std::size_t no_axis = ~std::size_t{0};
    /// A program without axes moves one element.
    void single(const Access& x, const Access& y, PieceKernel kernel)
    {
        Line from, to;
        x.line(no_axis, nullptr, from);
        y.line(no_axis, nullptr, to);
        run_line(from, to, 1, fill_, kernel);
    }
    void scan(const Index::Read& read, const Access& x, const Access& y)
    {
        const std::size_t along = p_.scan_axis;
        const Block& factors = p_.has_factor ? *in_[p_.factor.operand] : *in_[read.operand];
        const Access c(p_, p_.has_factor ? p_.factor.at : read.at, factors, factors.shape, in_);
        ScanLine s{{}, {}, {}, p_.extents.data()[along], p_.reverse, fill_, factor_fill_};
        if (p_.has_factor) element_from(factors.dtype, p_.factor.fill, factor_fill_);
        const DType d = in_[read.operand]->dtype;
        const ScanKernel kernel = scan_kernel(d, p_.scanned);
        const bool stored = p_.scanned == Scan::first_maximum || (read.how == Combine::assign && !read.minus);
        const PieceKernel put = stored ? nullptr : piece_kernel(d, read.how, read.minus);
        const std::size_t across = rows_axis(x, y, c);
        Odometer over(p_);
        over.leave(along);
        if (across != along) over.leave(across);
        do {
            if (across != along) {
                rows(x, y, c, across, over.at());
                continue;
            }
            x.line(along, over.at(), s.x);
            y.line(along, over.at(), s.y);
            if (p_.has_factor) c.line(along, over.at(), s.c);
            if (p_.reverse) s.turn_round(p_.has_factor);
            kernel(s, p_.has_factor, put);
        } while (over.next());
    }
    /// Where lines of the scan are far apart and elements beside each other are not, many lines are scanned at once.
    std::size_t rows_axis(const Access& x, const Access& y, const Access& c) const
    {
        const std::size_t along = p_.scan_axis, last = p_.extents.size() - 1;
        if (last == along || p_.reads[0].minus || p_.extents.data()[last] < 8 ||
            p_.start != Index::Start::nothing || p_.scanned == Scan::first_maximum)
            return along;
        return x.given() || y.given() || c.given() || x.special(last) || c.special(last) ? along : last;
    }
    void rows(const Access& x, const Access& y, const Access& c, std::size_t across, std::int64_t* at)
    {
        const std::int64_t n = p_.extents.data()[p_.scan_axis], width = p_.extents.data()[across];
        const RowKernel kernel = row_kernel(out_.dtype, p_.scanned);
        Line from, to, by, before;
        for (std::int64_t k = 0; k < n; ++k) {
            std::int64_t& here = at[p_.scan_axis];
            here = p_.reverse ? n - 1 - k : k;
            x.line(across, at, from);
            y.line(across, at, to);
            if (p_.has_factor) c.line(across, at, by);
            kernel({from, to, by, k ? &before : nullptr, width, fill_, factor_fill_});
            before = to;
        }
        at[p_.scan_axis] = 0;
    }

    const Index& p_;
    const Ref<Block>* in_;
    Block& out_;
    alignas(8) std::byte fill_[8] = {}, factor_fill_[8] = {};
};

}  // namespace detail

WENGERT_INLINE void describe_index(Index& program, std::string_view name, DescribeIndex describe,
                                   const void* op, const Site& at)
{
    try {
        describe(op, program);
    } catch (const ShapeError& e) {
        fail<ShapeError>(name, std::string("its description: ") + e.what(), at);
    }
    program.check(name, at);
}

WENGERT_INLINE void check_given(const GivenUse& use, std::string_view name, const Ref<Block>& elements,
                                const Site& at)
{
    const Ref<Block> flat = contiguous(elements);
    const std::int64_t* const v = flat->as<std::int64_t>();
    const std::uint64_t below = use.below(), end = use.extent() + below;
    bool good = true;
    for (std::size_t k = 0; k < flat->count; ++k) good &= static_cast<std::uint64_t>(v[k]) + below < end;
    if (good) return;
    for (std::size_t k = 0; k < flat->count; ++k)
        if (static_cast<std::uint64_t>(v[k]) + below >= end)
            detail::refuse_given(use, name, elements->shape, k, v[k], at);
}

WENGERT_INLINE void check_index_types(const Index& program, std::string_view name, const Ref<Block>* in,
                                      DType dtype, const Site& at)
{
    detail::check_types(program, name, in, dtype, at);
    for (std::size_t g = 0; g < program.given_count; ++g)
        if (in[program.givens[g].operand]->dtype != DType::int64)
            fail<DTypeError>(name, "positions are elements of int64", at);
}

WENGERT_INLINE void run_index(const Index& program, std::string_view name, const Ref<Block>* in, Block& out,
                              const Site& at)
{
    check_index_types(program, name, in, out.dtype, at);
    each_given(program, [&](const GivenUse& use) { check_given(use, name, in[use.operand], at); });
    detail::IndexRun(program, in, out).run();
}

WENGERT_INLINE Ref<Block> compute_index(std::string_view name, DescribeIndex describe, DType dtype,
                                        const void* op, const Ref<Block>* in, std::size_t n, const Site& at)
{
    Index program(n, [&](std::size_t k) -> const Shape& { return in[k]->shape; });
    describe_index(program, name, describe, op, at);
    auto out = make_block(current_thread(), dtype, program.shown(), element_count(program.result));
    run_index(program, name, in, *out, at);
    return out;
}

}  // namespace wengert
