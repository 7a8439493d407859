// The text of a loop with very many operations, as functions of bounded length, so that the time to compile it grows with its length
// and not faster.
//
// The loop goes over its elements in strips of a few vectors. Each vector of a strip has a frame: places of one vector each, for the
// operands, the results, and what one function leaves to the next. A function does some hundred operations on all vectors of a strip,
// and then the next one does. Frames stay in the second-level cache. Vectors are always whole: what a strip lacks at the end is its
// last element again. So one text serves all lengths.
#pragma once

#include <deque>
#include <functional>
#include <unordered_set>

#include "strip_part.hpp"

namespace wengert::detail {

/// What the text of strips begins with.
inline constexpr const char strip_text[] = R"wg(
#line 1 "wengert"
/* where operand or result p[index] has its place in a frame; step is 0 for one number */
struct wg_place { i32 index, at, bytes, step; };
struct wg_part { void (*run)(char* s, i64 frame, i32 vectors, f64 zero, const u32* q); const u32* q; };
/* arrays: addresses of those that results of a loop of one element lie in; they are in the frame for the parts */
struct wg_strips { i32 lanes, most; i64 frame; const wg_place *in, *in_end, *out, *out_end, *array, *array_end; const wg_part *part, *part_end; };
static void wg_fill(char* to, const char* from, i64 have, i64 lanes, i64 bytes)
{
    memcpy(to, from, have * bytes);
    for (i64 l = have; l < lanes; ++l) memcpy(to + l * bytes, to + (have - 1) * bytes, bytes);
}
static void wg_move(char* frames, char* p, const wg_strips* t, const wg_place* q, i64 count, bool out)
{
    const i64 lanes = t->lanes, bytes = lanes * q->bytes;
    frames += q->at;
    for (; count >= lanes; count -= lanes, frames += t->frame, p += bytes)
        if (bytes == register_bytes) memcpy(out ? p : frames, out ? frames : p, register_bytes);
        else memcpy(out ? p : frames, out ? frames : p, bytes);
    if (count > 0 && out) memcpy(p, frames, count * q->bytes);
    else if (count > 0) wg_fill(frames, p, count, lanes, q->bytes);
}
static void wg_run_one(const wg_strips* t, void* const* p, char* frame, f64 zero)
{
    for (const wg_place* q = t->in; q < t->in_end; ++q)
        if (q->bytes == 8 && t->lanes == 2) {
            V<u64, 2> both = {};
            memcpy(&both, p[q->index], 8);
            both[1] = both[0];
            memcpy(frame + q->at, &both, 16);
        }
        else wg_fill(frame + q->at, (char*)p[q->index], 1, t->lanes, q->bytes);
    for (const wg_place* q = t->array; q < t->array_end; ++q) memcpy(frame + q->at, &p[q->index], sizeof(char*));
    for (const wg_part* f = t->part; f < t->part_end; ++f) f->run(frame, t->frame, 1, zero, f->q);
    for (const wg_place* q = t->out; q < t->out_end; ++q)
        if (q->bytes == 8) memcpy(p[q->index], frame + q->at, 8);
        else memcpy(p[q->index], frame + q->at, q->bytes);
}
static void wg_run_strips(const wg_strips* t, void* const* p, char* frames, i64 n, f64 zero)
{
    const i64 strip = (i64)t->most * t->lanes;
    frames += (64 - (u64)frames % 64) % 64;
    if (n == 1) return wg_run_one(t, p, frames, zero);
    for (const wg_place* q = t->in; q < t->in_end; ++q)
        for (i64 k = 0; q->step == 0 && k < t->most; ++k) wg_fill(frames + k * t->frame + q->at, (char*)p[q->index], 1, t->lanes, q->bytes);
    for (i64 i = 0; i < n; i += strip) {
        const i64 count = n - i < strip ? n - i : strip;
        for (const wg_place* q = t->in; q < t->in_end; ++q)
            if (q->step) wg_move(frames, (char*)p[q->index] + i * q->bytes, t, q, count, false);
        for (const wg_part* f = t->part; f < t->part_end; ++f) f->run(frames, t->frame, (count + t->lanes - 1) / t->lanes, zero, f->q);
        for (const wg_place* q = t->out; q < t->out_end; ++q) wg_move(frames, (char*)p[q->index] + i * q->bytes, t, q, count, true);
    }
}
)wg";

/// A long loop as text: what calls its parts, with the elements' number as an argument, is text().
class StripText : public FusedText {
public:
    /// Statements of a function: more of them take the compiler longer for each.
    static constexpr std::size_t most_statements = 160;
    /// Bytes that the frames of a strip may take together.
    static constexpr std::size_t strip_bytes = std::size_t{1} << 19;
    /// Adds a function to the text and returns its name, given a letter, what stands before the name, and the rest.
    using Once = std::function<std::string(char, const std::string&, const std::string&)>;

    StripText(const Graph& g, const tiling::Layouts& layouts, const tiling::Group& group)
        : FusedText(g, layouts, group), places_(g, layouts, group)
    {
        vectors_for(count() > 2 ? 64 : 1);
        types_ = std::exchange(out_, {});
        cut();
        place_operands();
        for (std::size_t c = 0; c + 1 < begins_.size(); ++c) part(c);
        for (const StripPart& p : parts_)
            if (known_.insert(p.text()).second) count_ += p.statements();
    }
    std::int64_t count() const
    {
        return static_cast<std::int64_t>(element_count(g_.node(group_.nodes[0]).shape));
    }
    /// Bytes that it works in, at most.
    std::size_t workspace() const { return places_.bytes(vectors()); }
    /// Of functions that differ, how many statements there are.
    std::size_t statements() const noexcept { return count_; }
    void write(const Once& once)
    {
        const bool tables = 2 * known_.size() <= parts_.size();  // functions are alike but for their places
        std::string list;
        out_ = "(void* const* p, char* arena, i64 n, f64 zero)\n{\n" + types_;
        for (std::size_t k = 0; k < parts_.size(); ++k) {
            const std::string f =
                once('p', "#line 1 \"wengert\"\nstatic void ",
                     "(char* s, i64 frame, i32 vectors, f64 zero, const u32* q)\n{\n" + types(parts_[k]) +
                         "    for (; vectors > 0; --vectors, s += frame) {\n" +
                         parts_[k].placed(places_, tables) + "    }\n}\n");
            if (tables) add("    static const u32 q$[] = {$};", k, parts_[k].table(places_));
            list += filled(tables ? "{$, q$}, " : "{$, 0}, ", f, k);
        }
        add("    static const wg_place in[] = {$}, out[] = {$}, array[] = {$};", operands_, results(),
            arrays());
        add("    static const wg_part part[] = {$};", list);
        add("    static const wg_strips strips = {N, $, (W * $ + 127) / 128 * 128 + 64,", vectors(),
            places_.slots.vectors());
        for (const char* const t : {"in", "out", "array"})
            add("        $, $ + sizeof $ / sizeof *$ - 1,", t, t, t, t);
        out_ += "        part, part + sizeof part / sizeof *part};\n"
                "    wg_run_strips(&strips, p, arena, n, zero);\n}\n";
    }

private:
    using Pack = NumberPacks::Pack;

    std::size_t vectors() const
    {
        return count() > 2 ? std::clamp<std::size_t>(strip_bytes / places_.frame_bytes(), 1, 16) : 1;
    }
    /// Of a function. Places have the width of single numbers' vectors.
    std::string types(const StripPart& p) const
    {
        if (!p.of_packs()) return types_;
        std::string out = filled("    enum { N = $, W = 16 };\n", NumberPacks::lanes);
        for (const char* const t : {"f32", "f64", "i32", "i64", "u8"})
            out += filled("    typedef V<$, N> $v;\n", t, t);
        return out;
    }

    /// Where parts begin, and the last part that reads each value.
    void cut()
    {
        StripSlots& slots = places_.slots;
        std::size_t statements = most_statements;
        for (std::size_t k = 0; k < places_.statements.size(); ++k) {
            const Pack& x = places_.statements[k];
            programs_.push_back(program_of(g_, layouts_, x[0]));
            const std::size_t more = programs_.back().steps().size() - g_.node(x[0]).inputs.size();
            const bool turns =
                k > 0 && PackOrder::is_alone(x) != PackOrder::is_alone(places_.statements[k - 1]);
            if (statements + more > most_statements || turns) {
                begins_.push_back(k);
                statements = 0;
            }
            statements += more;
            PackOrder::each_operand(g_, x,
                                    [&](ValueId i) { slots.read(places_.owner(i), begins_.size() - 1); });
        }
        slots.set_functions(begins_.size());
        begins_.push_back(places_.statements.size());
        for (ValueId v : group_.results)
            if (!places_.roots.in_array(v)) slots.keep(places_.owner(v));
    }
    void place_operands()
    {
        const Shape& shape = g_.node(group_.nodes[0]).shape;
        for (std::size_t k = 0; k < group_.operands.size(); ++k) {
            const ValueId v = group_.operands[k];
            if (is_literal(v)) continue;
            const LoopSpace space(shape, {broadcast_strides(g_.node(v).shape, layouts_[v].strides, shape)},
                                  0);
            const bool runs = space.strides[0].back() != 0;
            if (!runs) places_.slots.keep(v);  // fetched once
            operands_ +=
                filled("{$, $ * W, $, $}, ", k, places_.slots.take(v), size_of(g_.node(v).dtype), int(runs));
        }
        operands_ += "{}";
    }
    /// Results that are not put into arrays.
    std::string results() const
    {
        std::string list;
        for (ValueId v : group_.results)
            if (!places_.roots.in_array(v))
                list += filled("{$, $, $, 1}, ", group_.operands.size() + places_.roots.argument(v),
                               places_.at(places_.place(v)), size_of(g_.node(v).dtype));
        return list + "{}";
    }
    std::string arrays() const
    {
        std::string list;
        for (const std::size_t k : places_.arrays)
            list += filled("{$, $, 0, 0}, ", group_.operands.size() + k,
                           places_.at(StripPlaces::address_of_argument(k)));
        return list + "{}";
    }
    void part(std::size_t c)
    {
        const auto& statements = places_.statements;
        StripPart& p =
            parts_.emplace_back(g_, layouts_, group_, !PackOrder::is_alone(statements[begins_[c]]));
        for (std::size_t k = begins_[c]; k < begins_[c + 1]; ++k)
            p.add_statement(statements[k], programs_[k], places_,
                            places_.slots.is_read_behind(statements[k][0], c));
        places_.slots.end(c);
    }

    StripPlaces places_;
    std::string types_, operands_;
    std::vector<TypedProgram> programs_;  ///< of the statements
    std::vector<std::size_t> begins_;     ///< of parts, and the end, among the statements
    std::deque<StripPart> parts_;
    std::unordered_set<std::string_view> known_;
    std::size_t count_ = 0;
};

}  // namespace wengert::detail
