// Compiling kernels ahead: a program of this one function writes the file that the target wengert::cuda_kernels puts into an object.
//
//     write_ahead FILE sm_80 sm_90     machine code for each, and PTX for the first one
//
// NVRTC is needed, and no device. The texts are those of all primitives of the library's that have one and of what is launched for
// others, made as at run time.
#pragma once

#include <atomic>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

#include "../ops/every_primitive.hpp"
#include "eager/draws.hpp"
#include "eager/elementwise_text.hpp"
#include "eager/folds.hpp"
#include "eager/index.hpp"
#include "eager/products.hpp"

namespace wengert::detail::gpu {

/// Takes the kernels of each_primitive's lists: elementwise ones, their derivatives, folds.
struct PrimitiveTexts {
    std::set<std::string>& all;

    template <class P, class Out, class... In> void add_elementwise()
    {
        add_rules(elementwise_of<P, xsimd::default_arch, Out, In...>(), {dtype_of<In>()...});
    }
    template <class To, class From> void add_cast()
    {
        add_rules(cast_primitive<xsimd::default_arch, To, From>, {dtype_of<From>()});
    }
    template <class Op, class Out, class... In> void add_structural()
    {
        if constexpr (Folded<Op>) {
            constexpr DType in[] = {dtype_of<In>()...};
            const Primitive& p = structural_of<Op, Out, In...>();
            const FoldProgram& program = formulas_of(*p.fold);
            all.insert(fold_text(program, FoldTypes(program, in[0], p.dtype), p.arity));
        }
    }
    template <class Op, class T> void add_variadic() {}

private:
    void add_rules(const Primitive& p, const std::vector<DType>& operands)
    {
        add_rule(p, operands);
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (const Primitive* pull = p.pull[i].primitive) add_rule(*pull, dtypes_of_pull(p, operands, i));
    }
    void add_rule(const Primitive& p, const std::vector<DType>& operands)
    {
        if (p.describe) all.insert(elementwise_text(p, operands.data()));
    }
};

/// The texts of all kernels that eager code launches.
inline std::vector<std::string> texts_ahead()
{
    std::set<std::string> all = {moves_text(), draws_text(), sorting_text(), std::string(product_text)};
    for (const DTypeRow& row : dtype_rows) {
        const auto d = static_cast<DType>(&row - dtype_rows);
        all.insert({index_text(d), scan_text_of(d)});
    }
    PrimitiveTexts primitives{all};
    each_primitive(primitives);
    all.erase("");
    std::vector<std::string> texts;
    for (const std::string& text : all) texts.push_back(std::string(kernel_prelude) + text);
    return texts;
}

/// All code of one text.
inline std::string compiled_ahead(const std::string& text, const std::vector<int>& architectures)
{
    const std::string hash = Hash128().add(text).text();
    std::string out;
    const auto add = [&](bool ptx, int architecture) {
        const Compilation it(text, (ptx ? "compute_" : "sm_") + std::to_string(architecture));
        AheadImage{ptx, architecture, ptx ? it.ptx() : it.code()}.write(hash, out);
    };
    for (const int a : architectures) add(false, a);
    add(true, architectures[0]);
    return out;
}

/// On as many threads as there are; what failed is thrown.
inline std::vector<std::string> all_compiled_ahead(const std::vector<std::string>& texts,
                                                   const std::vector<int>& architectures)
{
    std::vector<std::string> code(texts.size());
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        try {
            for (std::size_t k; (k = next++) < texts.size();)
                code[k] = compiled_ahead(texts[k], architectures);
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            next = texts.size();
        }
    };
    std::vector<std::thread> threads;
    for (unsigned k = 1; k < std::thread::hardware_concurrency(); ++k) threads.emplace_back(work);
    work();
    for (std::thread& t : threads) t.join();
    if (failure) std::rethrow_exception(failure);
    return code;
}

inline int write_ahead(int count, char** words)
{
    std::vector<int> architectures;
    for (int k = 2; k < count; ++k) {
        int a = 0;
        if (std::sscanf(words[k], "sm_%d", &a) == 1) architectures.push_back(a);
    }
    if (count < 3 || architectures.size() + 2 != static_cast<std::size_t>(count))
        return std::fprintf(stderr, "write_ahead FILE sm_80 sm_90\n"), 2;
    if (!Kernels::available()) return std::fprintf(stderr, "%s\n", Compiler::get().reason.c_str()), 1;
    try {
        std::ofstream file(words[1], std::ios::binary);
        for (const std::string& code : all_compiled_ahead(texts_ahead(), architectures)) file << code;
        file.close();
        return file ? 0 : 1;
    } catch (const Error& e) {
        return std::fprintf(stderr, "%s\n", e.what()), 1;
    }
}

}  // namespace wengert::detail::gpu
