// The cache of compiled code: private, whole or not there, safe against two processes; and what happens without a compiler.
#include "catch.hpp"
#include "environment.hpp"

#include <csignal>
#include <fstream>

#include <dirent.h>
#include <sys/resource.h>

#include <wengert/graph/native/native.hpp>
#include <wengert/base/compiler/shared_object.hpp>
#include <wengert/graph/ir/interpret.hpp>
#include <wengert/ops/elementwise/pairs.hpp>

using namespace wengert;
namespace nat = wengert::detail;

namespace {

/// A cache of its own, and a text that returns a number.
struct Cache {
    nat::TemporaryFolder folder;
    Environment xdg{"XDG_CACHE_HOME", folder.path().c_str()};
    std::string place = folder.path() + "/wengert";

    ~Cache()
    {
        for (const std::string& f : files()) ::unlink((place + "/" + f).c_str());
        ::rmdir(place.c_str());
    }
    std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        if (DIR* d = ::opendir(place.c_str())) {
            while (const dirent* e = ::readdir(d))
                if (e->d_name[0] != '.') names.emplace_back(e->d_name);
            ::closedir(d);
        }
        return names;
    }
    nat::Compiled compile(int number) const
    {
        return nat::compile_text("extern \"C\" int answer() { return " + std::to_string(number) + "; }",
                                 {"-O0", "-shared", "-fPIC"});
    }
};

int answer(const nat::Compiled& c)
{
    REQUIRE(c.message == "");
    REQUIRE(c.object);
    return reinterpret_cast<int (*)()>(c.object->symbol("answer"))();
}

bool have_compiler() { return !nat::compiler_now().command.empty(); }

Graph sum_graph()
{
    Graph g;
    const ValueId x = g.input(DType::float64, {5});
    g.output(g.operation(elementwise_primitive<Add, xsimd::default_arch, double, double, double>, {}, {x, x},
                         {5}));
    return g;
}

}  // namespace

TEST_CASE("code is compiled once and found again", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const auto first = cache.compile(41);
    CHECK(answer(first) == 41);
    CHECK_FALSE(first.from_cache);
    const auto second = cache.compile(41);
    CHECK(answer(second) == 41);
    CHECK(second.from_cache);
    CHECK(answer(cache.compile(42)) == 42);
    CHECK(cache.files().size() == 2);  // nothing else is left behind
    struct stat s;
    REQUIRE(::stat(cache.place.c_str(), &s) == 0);
    CHECK((s.st_mode & 0777) == 0700);
}

TEST_CASE("an object that was damaged or put there by somebody is not loaded", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    static_cast<void>(cache.compile(1));
    const std::string file = cache.place + "/" + cache.files().at(0);
    const auto again = [&] {
        const auto c = cache.compile(1);
        CHECK(answer(c) == 1);
        CHECK_FALSE(c.from_cache);
        CHECK(cache.compile(1).from_cache);
    };
    {
        std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
        f.seekp(200);
        f.put('x');
    }
    again();
    REQUIRE(::truncate(file.c_str(), 100) == 0);
    again();
    REQUIRE(::chmod(file.c_str(), 0666) == 0);  // others may write to it
    again();
    REQUIRE(::rename(file.c_str(), (file + ".moved").c_str()) == 0);
    REQUIRE(::symlink((file + ".moved").c_str(), file.c_str()) == 0);
    again();
}

TEST_CASE("an object made from another text is not loaded", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    static_cast<void>(cache.compile(1));
    const std::string one = cache.place + "/" + cache.files().at(0);
    static_cast<void>(cache.compile(2));
    for (const std::string& f : cache.files())
        if (cache.place + "/" + f != one)
            REQUIRE(::rename((cache.place + "/" + f).c_str(), one.c_str()) == 0);
    const auto c = cache.compile(1);
    CHECK(answer(c) == 1);
    CHECK_FALSE(c.from_cache);
}

TEST_CASE("a folder that others may write to is not used, and neither is a link", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    REQUIRE(::mkdir(cache.place.c_str(), 0700) == 0);
    REQUIRE(::chmod(cache.place.c_str(), 0777) == 0);
    CHECK(answer(cache.compile(5)) == 5);
    CHECK_FALSE(cache.compile(5).from_cache);
    CHECK(cache.files().empty());
    REQUIRE(::rmdir(cache.place.c_str()) == 0);
    REQUIRE(::symlink("/tmp", cache.place.c_str()) == 0);
    CHECK(nat::cache_folder() == "");
    CHECK(answer(cache.compile(6)) == 6);
    REQUIRE(::unlink(cache.place.c_str()) == 0);
}

TEST_CASE("two processes may compile the same text at once", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    std::vector<pid_t> children;
    for (int k = 0; k < 4; ++k) {
        const pid_t child = ::fork();
        if (child == 0) {
            const auto c = cache.compile(7);
            const bool good = c.object && reinterpret_cast<int (*)()>(c.object->symbol("answer"))() == 7;
            ::_exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = -1;
        REQUIRE(::waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    CHECK(cache.compile(7).from_cache);
    CHECK(cache.files().size() == 1);
}

TEST_CASE("a program that ignores its children's ends can compile", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    struct Ignoring {
        void (*before)(int) = std::signal(SIGCHLD, SIG_IGN);
        ~Ignoring() { std::signal(SIGCHLD, before); }
    } ignoring;
    CHECK(answer(cache.compile(19)) == 19);
}

TEST_CASE("without a compiler the graph runs as tiles, and says so", "[native]")
{
    const Cache cache;
    const Graph g = sum_graph();
    auto x = make_block(DType::float64, {5});
    for (int i = 0; i < 5; ++i) x->as<double>()[i] = i;
    std::vector<Ref<Block>> in{x}, out;
    const auto run = [&](const char* why) {
        const auto e = compile_native(g, {});
        CHECK_THAT(e->note, contains(why) && contains("as tiles"));
        e->run(in, out);
        CHECK(out[0]->as<double>()[4] == 8);
    };
    {
        const Environment path("PATH", ""), cxx("CXX", nullptr);
        run("no C++ compiler");
    }
    if (!have_compiler()) return;
    const std::string script = cache.folder.path() + "/broken";
    {
        std::ofstream f(script);
        f << "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho it is broken\nexit 1\n";
    }
    REQUIRE(::chmod(script.c_str(), 0700) == 0);
    {
        const Environment cxx("CXX", script.c_str());
        run("it is broken");
    }
    ::unlink(script.c_str());
    const auto e = compile_native(g, {});
    CHECK(e->note == "");
}

TEST_CASE("names and hashes", "[native]")
{
    using nat::Hash128;
    CHECK(Hash128().add("a").text().size() == 32);
    CHECK(Hash128().add("a").text() != Hash128().add("b").text());
    CHECK(Hash128().add("ab").add("c").text() != Hash128().add("a").add("bc").text());
    CHECK(nat::words_of(" ccache  g++ ") == std::vector<std::string>{"ccache", "g++"});
    CHECK(nat::find_program("no such program") == "");
}

TEST_CASE("a full disk leaves nothing behind", "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    struct rlimit before;
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {64, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    std::vector<std::string> messages;
    for (int i = 0; i < 3; ++i) messages.push_back(cache.compile(i).message);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, signal_before);
    for (const std::string& m : messages) CHECK(m.find("cannot write to") != std::string::npos);
    CHECK(cache.files().empty());
    CHECK(answer(cache.compile(3)) == 3);
}

TEST_CASE("a compiler that hangs is stopped with what it has started, and the graph runs as tiles",
          "[native]")
{
    if (!have_compiler()) {
        SUCCEED("not on this driver, or not in this build");
        return;
    }
    const Cache cache;
    const std::string script = cache.folder.path() + "/hangs";
    std::ofstream(script) << "#!/bin/sh\n[ \"$1\" = --version ] && echo 1 && exit 0\nsleep 1000 &\nwait\n";
    ::chmod(script.c_str(), 0700);
    {
        const Environment cxx("CXX", script.c_str()), limit("WENGERT_COMPILER_SECONDS", "1");
        const auto compiled = cache.compile(1);
        CHECK_FALSE(compiled.object);
        CHECK(compiled.message.find("was stopped after 1 s: the graph runs as tiles") != std::string::npos);
        CHECK(cache.files().empty());
        PlanOptions options;
        const auto e = native.compile(sum_graph(), options);
        REQUIRE(e);
        CHECK(e->note.find("was stopped") != std::string::npos);
    }
    ::unlink(script.c_str());
}
