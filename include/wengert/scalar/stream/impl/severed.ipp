// Numbers that are severed: they depend on what backward has used up, so a sweep of theirs is refused. A Real holds no reference; their
// spans, and all that these were made of, would stay until the tape ends. With WENGERT_COMPILED only wengert::compiled compiles it.
#pragma once

#include <algorithm>
#include <new>

#include "../../../base/separate.hpp"
#include "../stream.hpp"

namespace wengert::detail {

/// Looks for severed numbers and nodes, in the order of time. What it cannot tell is taken for one that can be swept.
class Severed {
public:
    Severed(ScalarStream& s, ScalarPosition first) : stream_(s), first_(first) {}

    /// At level 0, where other levels have ended. `span`: the node's, or null.
    void look_at(Node& n, ScalarSpan* span)
    {
        if ((n.mask & 1) == 0 || is_cut(&n)) return;
        if (span)
            look_at(*span);
        else if (std::any_of(n.inputs, n.inputs + n.input_count, [](const Node* in) { return is_cut(in); }))
            n.flags |= Node::severed;
    }
    /// Spans of which nobody has a number that can be swept.
    std::vector<Ref<Node>>& useless() noexcept { return useless_; }

private:
    static bool is_cut(const Node* n) noexcept { return n && (n->flags & (Node::consumed | Node::severed)); }
    void look_at(ScalarSpan& s)
    {
        stream_.find_older(s);
        const auto is_suspect = [&](const Ref<Node>& n) {
            return is_cut(n.get()) || std::count(partly_.begin(), partly_.end(), n.get());
        };
        const auto is_of_cut = [](const ScalarSpan::Entered& e) { return is_cut(e.tensor.node.get()); };
        if (std::none_of(s.older.begin(), s.older.end(), is_suspect) &&
            std::none_of(s.entered.begin(), s.entered.end(), is_of_cut))
            return;
        if (numbers_.empty()) numbers_.resize(stream_.end() - first_);
        std::size_t variables = 0;
        for (const ScalarSpan::Entered& e : s.entered)
            if (is_of_cut(e))
                std::fill_n(at(e.begin), e.count, true);
            else if (is_variable(e.tensor.node.get()))
                ++variables;
        std::size_t others = 0, users = 0;  // that can be swept; those of them that a user may have
        for (ScalarPosition p = s.begin; p < stream_.end_of(s); ++p) {
            if (reads_severed(s, p)) *at(p) = true;
            others += !*at(p);
            users += !*at(p) && stream_.mask_of(p) == 1;
        }
        if (others == 0)
            s.node->flags |= Node::severed;
        else
            partly_.push_back(s.node);
        if (users == variables)  // whose numbers are the stream's alone
            useless_.push_back(Ref<Node>(s.node));
    }
    std::vector<bool>::iterator at(ScalarPosition p)
    {
        return numbers_.begin() + static_cast<std::ptrdiff_t>(p - first_);
    }
    bool reads_severed(const ScalarSpan& s, ScalarPosition p)
    {
        const ScalarEntry& e = stream_.entry(p);
        if (e.op() == ScalarOp::link) return is_severed(s, e.far);
        return (e.a() && is_severed(s, s.chunk + e.a())) ||
               (e.form() == ScalarForm::both && e.b && is_severed(s, s.chunk + e.b));
    }
    /// An operand of a number of s.
    bool is_severed(const ScalarSpan& s, ScalarPosition p)
    {
        if (p >= s.begin) return *at(p);
        const ScalarSpan* const from = stream_.find(p);
        return from && (is_cut(from->node) || (p >= first_ && *at(p)));
    }
    bool is_variable(const Node* n)
    {
        if (!n || !n->leaf()) return false;
        if (variables_.empty()) {
            for (const ScalarVariable& v : stream_.variables) variables_.push_back(v.leaf.node.get());
            std::sort(variables_.begin(), variables_.end());
        }
        return std::binary_search(variables_.begin(), variables_.end(), n);
    }

    ScalarStream& stream_;
    ScalarPosition first_;
    std::vector<bool> numbers_;           ///< which are severed, from that position on
    std::vector<const Node*> partly_;     ///< spans of which some numbers are
    std::vector<const Node*> variables_;  ///< of backward
    std::vector<Ref<Node>> useless_;
};

/// Lets go of spans whose numbers are severed by what backward has used up just now, nodes from this sequence number on.
WENGERT_INLINE void drop_severed(ScalarStream& s, std::uint64_t since) noexcept
try {
    Tape& tape = s.tape();
    if (s.spans().empty() || s.spans().back()->node->sequence <= since) return;
    if (tape.depth() != 1 || tape.walks > 0) return;
    auto span =
        std::upper_bound(s.spans().begin(), s.spans().end(), since,
                         [](std::uint64_t q, const ScalarSpan* later) { return q < later->node->sequence; });
    Severed severed(s, (*span)->begin);
    Node* n = (*span)->node;
    while (n->previous && n->previous->sequence > since) n = n->previous;
    for (; n; n = n->next) {
        const bool is_span = span != s.spans().end() && (*span)->node == n;
        severed.look_at(*n, is_span ? *span++ : nullptr);
    }
    for (const Ref<Node>& useless : severed.useless()) s.release(*s.span_of(*useless));
} catch (const std::bad_alloc&) {  // they go another time
}

}  // namespace wengert::detail
