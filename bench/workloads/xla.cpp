// XLA's rows: xla.py in a process of its own, which is asked for its samples in turn with the other systems.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "../external.hpp"
#include "../models/instances.hpp"
#include "problems.hpp"

extern char** environ;

namespace bench {
namespace {

/// The server. It ends when its input is closed.
class Xla {
public:
    /// Null where Python or JAX is missing.
    static std::shared_ptr<Xla> start()
    {
        auto server = std::shared_ptr<Xla>(new Xla);
        return server->pid_ > 0 && server->read_line() == "ready" ? server : nullptr;
    }
    Xla(const Xla&) = delete;
    Xla& operator=(const Xla&) = delete;
    ~Xla()
    {
        if (to_) std::fclose(to_);
        if (from_) std::fclose(from_);
        if (pid_ > 0) waitpid(pid_, nullptr, 0);
        std::filesystem::remove_all(folder_);
    }

    /// The answer to a line. Throws for none and for one that begins with "failed".
    std::string ask(const std::string& line)
    {
        std::fputs((line + '\n').c_str(), to_);
        std::fflush(to_);
        const std::string answer = read_line();
        if (answer.empty() || answer.rfind("failed", 0) == 0)
            throw std::runtime_error("xla.py, " + line + ": " + (answer.empty() ? "it has ended" : answer));
        return answer;
    }
    const std::string& folder() const { return folder_; }

private:
    Xla()
    {
        std::string pattern = std::filesystem::temp_directory_path() / "wengert_xla_XXXXXX";
        if (!mkdtemp(pattern.data())) return;
        folder_ = pattern;
        int in[2], out[2];
        if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, in[0], 0);
        posix_spawn_file_actions_adddup2(&files, out[1], 1);
        const char* named = std::getenv("WENGERT_BENCH_PYTHON");
        std::string python = named ? named : "python3", script = WENGERT_BENCH_DIR "/xla.py";
        char* argv[] = {python.data(), script.data(), nullptr};
        if (posix_spawnp(&pid_, python.c_str(), &files, nullptr, argv, environ) != 0) pid_ = -1;
        posix_spawn_file_actions_destroy(&files);
        close(in[0]), close(out[1]);
        to_ = fdopen(in[1], "w"), from_ = fdopen(out[0], "r");
        signal(SIGPIPE, SIG_IGN);  // a server that has ended is an error of its workload
    }
    std::string read_line()
    {
        char* text = nullptr;
        std::size_t size = 0;
        const ssize_t n = getline(&text, &size, from_);
        std::string line(text ? text : "", n > 0 ? static_cast<std::size_t>(n) - 1 : 0);
        std::free(text);
        return line;
    }

    pid_t pid_ = -1;
    std::FILE *to_ = nullptr, *from_ = nullptr;
    std::string folder_;
};

/// The arrays of a workload, as xla.py's read_inputs reads them.
class Inputs {
public:
    template <class T>
    Inputs& add(const std::string& name, const std::vector<T>& v, std::vector<std::size_t> shape)
    {
        std::string line = name + (std::is_same_v<T, float>    ? " float32"
                                   : std::is_same_v<T, double> ? " float64"
                                                               : " int64");
        for (std::size_t e : shape) line += ' ' + std::to_string(e);
        const auto* bytes = reinterpret_cast<const char*>(v.data());
        arrays_.push_back(line + '\n' + std::string(bytes, v.size() * sizeof(T)));
        return *this;
    }
    template <class Source> Inputs& network(const Source& s, const std::string& prefix = {})
    {
        const std::size_t i = Mlp::in, h = Mlp::hidden, o = Mlp::out;
        return add(prefix + "w1", s.w1, {i, h})
            .add(prefix + "b1", s.b1, {h})
            .add(prefix + "w2", s.w2, {h, h})
            .add(prefix + "b2", s.b2, {h})
            .add(prefix + "w3", s.w3, {h, o})
            .add(prefix + "b3", s.b3, {o});
    }
    void write(const std::string& path) const
    {
        std::ofstream out(path, std::ios::binary);
        out << arrays_.size() << '\n';
        for (const std::string& a : arrays_) out << a;
        if (!out.flush()) throw std::runtime_error(path + ": cannot be written");
    }

private:
    std::vector<std::string> arrays_;
};

Inputs small_op(std::size_t n)
{
    const SmallOp p(n);
    return Inputs().add("h", p.h, {n}).add("a", p.a, {n}).add("b", p.b, {n});
}

template <class T> Inputs elementwise(std::size_t n)
{
    const Elementwise<T> p(n);
    return Inputs().add("x", p.x, {n}).add("w", p.w, {n}).add("b", p.b, {n});
}

Inputs mlp(std::size_t batch)
{
    const Mlp p(batch);
    return Inputs()
        .add("x", p.x, {batch, Mlp::in})
        .add("labels", p.labels, {batch})
        .network(p)
        .network(MlpTangent(), "tangent_");
}

Inputs rk4(std::size_t batch)
{
    const Rk4 p(batch);
    const std::size_t d = Rk4::dim, h = Rk4::hidden;
    return Inputs()
        .add("y", p.y, {batch, d})
        .add("w1", p.w1, {d, h})
        .add("b1", p.b1, {h})
        .add("w2", p.w2, {h, h})
        .add("b2", p.b2, {h})
        .add("w3", p.w3, {h, d})
        .add("b3", p.b3, {d});
}

Inputs attention()
{
    constexpr std::size_t L = Attention::length, W = Attention::width;
    const Attention p;
    return Inputs()
        .add("x", p.x, {L, W})
        .add("gain", p.gain, {W})
        .add("bias", p.bias, {W})
        .add("wq", p.wq, {W, W})
        .add("wk", p.wk, {W, W})
        .add("wv", p.wv, {W, W})
        .add("wo", p.wo, {W, W});
}

Inputs gmm()
{
    const GmmInstance g = read_gmm(instance("gmm_d10_K25.txt"));
    return Inputs()
        .add("alpha", g.alpha, {g.K})
        .add("mu", g.mu, {g.K, g.d})
        .add("icf", g.icf, {g.K, g.icf_width()})
        .add("x", g.x, {g.n, g.d})
        .add("numbers", std::vector<double>{g.gamma, g.m, gmm_constant(g)}, {3});
}

Inputs lstm()
{
    const LstmInstance l = read_lstm(instance("lstm_l2_c1024.txt"));
    return Inputs()
        .add("main", l.main, {l.layers, 8, l.bits})
        .add("extra", l.extra, {3, l.bits})
        .add("state", l.state, {l.layers, 2, l.bits})
        .add("sequence", l.sequence, {l.chars, l.bits});
}

Inputs cheap(std::size_t n)
{
    const Cheap p(n);
    return Inputs().add("a", p.a, {n}).add("b", p.b, {n}).add("c", p.c, {n}).add("d", p.d, {n});
}

Inputs scan()
{
    const Scan p;
    return Inputs().add("state", p.state, {4}).add("parameters", p.parameters, {4});
}

Results read_results(const std::string& path, const std::string& counts)
{
    std::ifstream in(path, std::ios::binary);
    Results out;
    std::istringstream numbers(counts);
    for (std::size_t n; numbers >> n;) {
        out.emplace_back(n);
        in.read(reinterpret_cast<char*>(out.back().data()), static_cast<std::streamsize>(n * sizeof(double)));
    }
    if (!in) throw std::runtime_error(path + ": too short");
    return out;
}

/// Rows for the variants of a workload; the numbers are of the floor's inputs.
class Rows {
public:
    Rows(Registry& r, std::shared_ptr<Xla> server) : registry_(r), server_(std::move(server)) {}

    template <class MakeInputs>
    void put(const std::string& workload, const std::string& variant, MakeInputs inputs, double tolerance,
             const std::string& per = "iteration", double parts = 1)
    {
        const auto make = [workload, variant, inputs, server = server_] {
            Inputs(inputs()).write(server->folder() + "/inputs");
            server->ask("load " + workload + ' ' + variant + ' ' + server->folder());
            Case one;
            one.sample = [server](std::size_t times) {
                return std::stod(server->ask("run " + std::to_string(times)));
            };
            one.results = [server] {
                return read_results(server->folder() + "/results", server->ask("results"));
            };
            return one;
        };
        registry_.push_back({workload, variant, "xla", make, tolerance, per, parts});
    }

private:
    Registry& registry_;
    std::shared_ptr<Xla> server_;
};

}  // namespace

void add_xla(Registry& registry)
{
    const std::shared_ptr<Xla> server = Xla::start();
    if (!server) return;
    Rows rows(registry, server);
    const auto name = [](const char* before, std::size_t n) { return before + std::to_string(n); };
    for (std::size_t n : {1, 8, 64})
        rows.put(
            "small_op", name("n=", n), [n] { return small_op(n); }, 1e-9, "operation", SmallOp::operations);
    for (std::size_t n = 1000; n <= 10000000; n *= 10) {
        rows.put(
            "elementwise", name("f32/", n), [n] { return elementwise<float>(n); }, 1e-5);
        rows.put(
            "elementwise", name("f64/", n), [n] { return elementwise<double>(n); }, 1e-9);
    }
    for (std::size_t b : {64, 1})
        rows.put(
            "mlp", name("batch=", b), [b] { return mlp(b); }, 1e-4, "step");
    for (std::size_t b : {1, 32})
        rows.put(
            "rk4", name("batch=", b), [b] { return rk4(b); }, 1e-3);
    const auto grid = [] { return Inputs().add("u", Heat().u, {Heat::n, Heat::n}); };
    rows.put("heat", "256x256", grid, 1e-4);
    rows.put("attention", "128x64", attention, 1e-3);
    rows.put("gmm", "d10_K25", gmm, 1e-9);
    rows.put("lstm", "l2_c1024", lstm, 1e-9);
    for (const char* variant : {"hvp", "gradient"})
        rows.put(
            "hvp", variant, [] { return mlp(64); }, 1e-3);
    for (const char* variant : {"jvp", "primal"})
        rows.put(
            "jvp", variant, [] { return mlp(64); }, 1e-3);
    for (std::size_t n : {1000, 8000, 100000, 1000000, 10000000})
        rows.put(
            "cheap", name("f32/", n), [n] { return cheap(n); }, 1e-6);
    for (std::size_t n : {10000, 1000000}) rows.put("scan", name("steps=", n), scan, 1e-6);
}

}  // namespace bench
