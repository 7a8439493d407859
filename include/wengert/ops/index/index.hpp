// Index programs: which elements of a result come from which elements of the operands, said once.
//
//     struct Roll {
//         static constexpr std::string_view name = "roll";
//         static constexpr bool linear = true;
//         Extents shifts;
//         Axes axes;
//         void describe(Index& p) const
//         {
//             Positions i = p.axes_of(0);  // one axis for each of operand 0's
//             p.write(i);                  // the result's element i …
//             for (std::size_t k = 0; k < axes.size(); ++k) i[axes[k]] = wrap(i[axes[k]] - shifts[k]);
//             p.read(0, i);                // … is operand 0's at these positions
//         }
//     };
//
// From it follow the shape and its errors, execution on every executor, the text in emitted C++ and native code, and for what is
// linear the derivatives (described.hpp). `describe` is no template and allocates nothing for ranks up to 6.
//
// The order in which a program runs is stated: read by read; the axes in the order in which they were made, the last one
// innermost and ascending, but the axis of a scan is innermost, and descending where it is reversed. Where several elements meet
// in one place of the result (folds, scatters, scans) they are combined one after another in that order, whatever the strides
// and on whatever executor.
#pragma once

#include <cstdint>
#include <string_view>

#include "../../base/dtype.hpp"
#include "../../base/shape.hpp"
#include "small_vector.hpp"

namespace wengert {

/// A position along an axis of an array: offset + Σ step · axis, and what is done where that lies outside; or an element of an
/// integer operand.
struct Position {
    enum class Rule : std::uint8_t {
        inside,    ///< it never lies outside: checked when the program is made
        wrapped,   ///< modulo the extent
        clamped,   ///< the first or the last one
        mirrored,  ///< reflected at the first and the last one, which are not repeated
        masked,    ///< a number stands there; as a place to write to it is none
        invalid    ///< described in a way that means nothing
    };
    static constexpr std::size_t max_terms = 3;

    std::int64_t offset = 0;
    std::int64_t step[max_terms];
    std::uint8_t axis[max_terms];
    std::uint8_t terms = 0;
    Rule rule = Rule::inside;
    std::uint8_t given = 0;  ///< 1 + number of the integer operand's element, or 0

    Position(std::int64_t constant = 0) noexcept : offset(constant) {}  // NOLINT: numbers are positions
    /// Step along one axis, or 0.
    std::int64_t step_along(std::size_t a) const noexcept
    {
        for (std::size_t t = 0; t < terms; ++t)
            if (axis[t] == a) return step[t];
        return 0;
    }
    /// An axis as it is.
    bool is_axis() const noexcept { return terms == 1 && step[0] == 1 && offset == 0 && plain(); }
    bool plain() const noexcept { return rule == Rule::inside && given == 0; }
};

Position operator+(const Position& a, const Position& b) noexcept;
Position operator*(const Position& a, std::int64_t by) noexcept;
inline Position operator*(std::int64_t by, const Position& a) noexcept { return a * by; }
inline Position operator-(const Position& a, const Position& b) noexcept { return a + b * -1; }

namespace detail {
inline Position with_rule(Position p, Position::Rule rule) noexcept
{
    p.rule = p.plain() ? rule : Position::Rule::invalid;
    return p;
}
}  // namespace detail

inline Position wrap(const Position& p) noexcept { return detail::with_rule(p, Position::Rule::wrapped); }
inline Position clamp(const Position& p) noexcept { return detail::with_rule(p, Position::Rule::clamped); }
inline Position mirror(const Position& p) noexcept { return detail::with_rule(p, Position::Rule::mirrored); }
inline Position masked(const Position& p) noexcept { return detail::with_rule(p, Position::Rule::masked); }

/// One for each axis of an array.
using Positions = detail::SmallVector<Position, 6>;

/// How an element x meets y, what is in its place already: the larger one is maximum(x, y), so a NaN stays, and of +0 and −0 y.
enum class Combine : std::uint8_t { assign, add, multiply, maximum, minimum };

/// What is carried along the axis of a scan.
enum class Scan : std::uint8_t {
    none,
    add,
    multiply,
    maximum,        ///< NaN from the first one on
    first_maximum,  ///< the place of the first one, or of the first NaN; the result is of int64
    recurrence      ///< y ← x + c y, where c is another read: see coefficient()
};

class Index {
public:
    static constexpr std::size_t most_reads = 3, most_operands = 4, most_given = 2;
    static constexpr std::uint8_t no_operand = 0xff;  ///< of a read that is a number: its fill

    struct Read {
        Positions at;
        double fill = 0;  ///< where a position is masked
        std::uint8_t operand = 0, write = 0;
        Combine how = Combine::assign;
        bool minus = false;
    };
    struct Given {
        Positions at;
        std::uint8_t operand = 0;
        bool from_end = false;  ///< negative ones count from the end
    };
    enum class Start : std::uint8_t { nothing, fill, operand };

    Index(const Shape* const* operands, std::size_t n) noexcept : operand_count(n)
    {
        for (std::size_t k = 0; k < n && k < most_operands; ++k) operands_[k] = operands[k];
    }
    /// The shape of operand k is shape_of(k), which lives as long as the program.
    template <class F> Index(std::size_t n, const F& shape_of) noexcept : operand_count(n)
    {
        for (std::size_t k = 0; k < n && k < most_operands; ++k) operands_[k] = &shape_of(k);
    }

    // The functions that a description calls.

    const Shape& shape(std::size_t operand) const
    {
        if (operand >= operand_count) detail::refuse_position(operand, operand_count);
        return *operands_[operand];
    }
    /// A new axis.
    Position axis(std::int64_t extent);
    Positions axes(const Shape& extents);
    Positions axes_of(std::size_t operand) { return axes(shape(operand)); }
    /// The element of an integer operand as a position. It is required to lie in [0, n), n the extent of the axis where it is
    /// used: an IndexError names the first that does not, before anything is written.
    Position element(std::size_t operand, const Positions& at, bool from_end = false);

    /// Where the elements of the next reads go: each to a place of its own, and none is left out. The shape follows.
    void write(const Positions& at);
    /// The same in a result of another shape, which is full of a number first.
    void write(const Positions& at, const Shape& shape, double with = 0);
    /// The result is a copy of an operand first.
    void write_into(const Positions& at, std::size_t operand);
    /// One operand of a list (ops/describe/variadic.hpp) writes its part of the result, the others write the rest.
    void write_part(const Positions& at, const Shape& shape);
    /// What has been written has another shape: as many elements, in row-major order.
    void arrange(const Shape& to);
    /// The result has memory of its own, also where it could be a view.
    void own() noexcept { owned = true; }
    /// Places i of a larger array in an operand that is broadcast to it.
    Positions broadcast(const Positions& i, std::size_t operand) const;
    /// Axes that the write does not mention are folded: elements are combined, from the monoid's neutral element on. The shape
    /// follows, so a fold is a write of its own, and no place is an element of an operand.
    void fold(const Positions& write, Combine how);
    /// The axis is scanned.
    void scan(const Position& axis, Scan what, bool reverse = false);

    /// Reads; the second and further ones are added to the first.
    void read(std::size_t operand, const Positions& at, double outside = 0)
    {
        read_as(operand, at, outside, false);
    }
    void read_minus(std::size_t operand, const Positions& at, double outside = 0)
    {
        read_as(operand, at, outside, true);
    }
    /// A number in the place of what is read.
    void put(double number);
    /// The factor of a recurrence.
    void coefficient(std::size_t operand, const Positions& at, double outside = 0);
    /// How the elements of the next reads meet what is there: a number or an operand that was written first, and each other.
    void combining(Combine how);
    void adding() { combining(Combine::add); }

    // What is derived from a description.

    /// This is what adds the cotangent of operand k, of that shape, to zeros: reads become writes. `inner` describes the
    /// operation itself; its integer operands follow the cotangent.
    void transpose_of(const Index& inner, std::size_t k, const std::uint8_t* numbers);
    /// This is the part of `inner` that is linear in operand k, which is operand 0 here.
    void linear_part_of(const Index& inner, std::size_t k, const std::uint8_t* numbers);
    /// This adds the cotangent, operand 1, of `inner`, which has one operand, to operand 0.
    void added_transpose_of(const Index& inner);
    /// Throws ShapeError, which names the read that is none.
    void check(std::string_view name, const Site& at) const;
    /// Throws ShapeError where the result is not linear in what is read; where that is `affine`, numbers may be added to it.
    void demand_linear(bool affine) const;
    /// Have no two elements one place?
    bool own_places(const Positions& at) const;

    /// The result's shape.
    const Shape& shown() const noexcept { return arranged ? arrangement : result; }
    bool may_fail() const noexcept { return given_count > 0; }
    /// Every read of `operand` is of the very place that is written next, and of no integers.
    bool reads_own_place(std::size_t operand) const noexcept;

    std::size_t operand_count;
    detail::SmallVector<std::int64_t, 8> extents;  ///< of the axes
    Read reads[most_reads];
    Positions writes[most_reads];
    Given givens[most_given];
    Read factor;        ///< of a recurrence
    Shape result;       ///< as it is written
    Shape arrangement;  ///< its shape where it is `arranged`
    std::size_t read_count = 0, write_count = 0, given_count = 0;
    double fill = 0;
    Start start = Start::nothing;
    bool neutral = false;   ///< elements are folded, and the fill is what changes none
    std::uint8_t base = 0;  ///< the operand that the result is first
    Scan scanned = Scan::none;
    std::uint8_t scan_axis = 0;
    bool reverse = false, has_factor = false;
    bool arranged = false, owned = false, partial = false;

private:
    void read_as(std::size_t operand, const Positions& at, double outside, bool minus);
    /// One more write, into a result that begins so.
    void write_as(const Positions& at, const Shape& shape, Start start, double with, std::size_t operand);
    /// The extents that hold all of these places.
    void extents_of(const Positions& at, Shape& of) const;
    void check_meeting(std::string_view name, const Site& at) const;
    void take_givens(const Index& inner, const std::uint8_t* numbers);
    /// What an error is about: "read 1 of operand 0".
    struct Part {
        const char* what;
        std::size_t number;
    };
    static std::string text_of(const Part& part);
    void check_read(std::string_view name, const Read& r, const Part& part, const Site& at) const;
    void check_positions(std::string_view name, const Positions& p, const Shape& shape, const Part& part,
                         const Site& at) const;
    void check_own_places(std::string_view name, const Positions& p, const Site& at) const;

    const Shape* operands_[most_operands];
    Combine how_ = Combine::assign;
};

}  // namespace wengert
