/// Reading text line by line, word by word.
#pragma once

#include <wengert/base/error.hpp>

#include <charconv>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace reading {

using namespace wengert;

/// A graph's text that cannot be read: what is wrong, and in which line.
struct GraphTextError : Error {
    GraphTextError(std::size_t at, const std::string& what)
        : Error("[graph] line " + std::to_string(at) + ": " + what), line(at)
    {}
    std::size_t line;
};

inline constexpr std::string_view blanks = " \t\r\v\f";

inline std::string_view trimmed(std::string_view s)
{
    const std::size_t first = s.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(blanks) - first + 1);
}

/// What an error shows of the text: one line of printable ASCII.
inline std::string quoted(std::string_view s, std::size_t most = 40)
{
    std::string out = "'";
    for (char c : s.substr(0, most)) out += c >= 32 && c < 127 ? c : '?';
    return out + (s.size() > most ? "...'" : "'");
}

/// Is all of the word a number of T?
template <class T, class... Base> bool parsed(std::string_view w, T& v, Base... base)
{
    const auto r = std::from_chars(w.data(), w.data() + w.size(), v, base...);
    return r.ec == std::errc() && r.ptr == w.data() + w.size();
}

/// The rest of a line.
class Cursor {
public:
    Cursor(std::string_view text, std::size_t line) : rest_(trimmed(text)), line_(line) {}

    [[noreturn]] void fail(const std::string& what) const { throw GraphTextError(line_, what); }
    bool done() const { return rest_.empty(); }
    std::string_view rest() const { return rest_; }
    std::size_t line() const { return line_; }
    void expect_end() const
    {
        if (!done()) fail("unexpected " + quoted(rest_));
    }
    bool accept(char c)
    {
        if (rest_.empty() || rest_[0] != c) return false;
        skip(1);
        return true;
    }
    void expect(char c)
    {
        if (!accept(c)) fail(std::string("'") + c + "' is missing before " + quoted(rest_));
    }
    /// "(a, b)": read() for each.
    template <class F> void list(const F& read)
    {
        expect('(');
        while (!accept(')')) {
            read();
            if (!accept(',')) return expect(')');
        }
    }
    /// Everything up to a blank or one of (){},=:
    std::string_view word()
    {
        const std::string_view w = rest_.substr(0, rest_.find_first_of(" \t\r\v\f(){}[],=:\""));
        skip(w.size());
        return w;
    }
    bool accept_word(std::string_view wanted)
    {
        Cursor copy = *this;
        if (copy.word() != wanted) return false;
        *this = copy;
        return true;
    }
    /// A word, or in quotes what is none.
    std::string name()
    {
        if (!accept('"')) return std::string(word());
        std::string out;
        for (std::size_t i = 0; i < rest_.size(); ++i) {
            if (rest_[i] == '"') {
                skip(i + 1);
                return out;
            }
            if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
            out += rest_[i];
        }
        fail("a quote without its end");
    }
    template <class N> N number(const char* what)
    {
        const std::string_view w = word();
        N v{};
        if (!parsed(w, v)) fail(std::string(what) + ", not " + quoted(w.empty() ? rest_ : w));
        return v;
    }

private:
    void skip(std::size_t n) { rest_ = trimmed(rest_.substr(n)); }
    std::string_view rest_;
    std::size_t line_;
};

/// Lines that say something, without their comments.
class TextLines {
public:
    explicit TextLines(std::string_view text) : rest_(text) {}

    bool next()
    {
        while (!rest_.empty()) {
            const std::size_t end = rest_.find('\n');
            std::string_view whole = rest_.substr(0, end);
            rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
            ++line_;
            const std::size_t hash = comment_at(whole);
            comment_ = hash < whole.size() ? trimmed(whole.substr(hash + 1)) : std::string_view();
            text_ = trimmed(whole.substr(0, hash));
            if (!text_.empty()) return true;
        }
        return false;
    }
    Cursor cursor() const { return {text_, line_}; }
    std::string_view comment() const { return comment_; }
    std::size_t line() const { return line_; }

private:
    /// Where the first # outside of quotes is.
    static std::size_t comment_at(std::string_view s)
    {
        bool inside = false;
        for (std::size_t i = 0; i < s.size(); ++i) {
            if (s[i] == '"') inside = !inside;
            if (inside && s[i] == '\\') ++i;
            if (!inside && s[i] == '#') return i;
        }
        return s.size();
    }
    std::string_view rest_, text_, comment_;
    std::size_t line_ = 0;
};

/// Sites point to the names of files, which live as long as the program. What is no source but noise does not fill the
/// memory: from some size on names are left out.
inline const char* file_name(std::string_view name)
{
    static constexpr std::size_t most = std::size_t{1} << 26;
    static std::mutex mutex;
    static std::set<std::string, std::less<>> names;
    static std::size_t bytes = 0;
    const std::lock_guard lock(mutex);
    if (const auto at = names.find(name); at != names.end()) return at->c_str();
    const std::size_t more = name.size() + sizeof(std::string);
    if (bytes + more > most) return "";
    const char* const kept = names.emplace(name).first->c_str();
    bytes += more;
    return kept;
}

/// "heat.cpp:34" at a comment's beginning, if it is there.
inline Site read_site(std::string_view comment)
{
    const std::string_view w = comment.substr(0, comment.find_first_of(" |\t"));
    const std::size_t colon = w.rfind(':');
    if (colon == std::string_view::npos || colon == 0) return {};
    int line = 0;
    if (!parsed(w.substr(colon + 1), line) || line <= 0) return {};
    return {file_name(w.substr(0, colon)), line};
}

}  // namespace reading
