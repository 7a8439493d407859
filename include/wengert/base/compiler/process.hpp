// Other programs: found by PATH, run without a shell, stopped where they hang. The compiler is one (shared_object.hpp).
#pragma once

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char** environ;

namespace wengert::detail {

/// The words of a command: "ccache g++" is two.
inline std::vector<std::string> words_of(std::string_view s)
{
    std::vector<std::string> words;
    for (std::size_t i = 0; i < s.size();) {
        const std::size_t end = std::min(s.find(' ', i), s.size());
        if (end > i) words.emplace_back(s.substr(i, end - i));
        i = end + 1;
    }
    return words;
}

/// The file that a command's name stands for, by PATH, or "".
inline std::string find_program(const std::string& name)
{
    const auto runs = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
    if (name.find('/') != std::string::npos) return runs(name) ? name : std::string();
    const char* path = std::getenv("PATH");
    const std::string_view all = path ? path : "";
    for (std::size_t i = 0; i < all.size();) {
        const std::size_t end = std::min(all.find(':', i), all.size());
        const std::string file = std::string(all.substr(i, end - i)) + "/" + name;
        if (end > i && runs(file)) return file;
        i = end + 1;
    }
    return {};
}

/// Seconds that a compiler may take: $WENGERT_COMPILER_SECONDS, else 300.
inline long compiler_seconds()
{
    const char* const set = std::getenv("WENGERT_COMPILER_SECONDS");
    const long seconds = set ? std::strtol(set, nullptr, 10) : 0;
    return seconds > 0 ? seconds : 300;
}

inline constexpr int stopped = -2;

/// The exit status of a child that leads a process group, or −1. After so many seconds the group is killed: `stopped`.
inline int await(pid_t child, long seconds)
{
    const auto now = [] {
        struct timespec t;
        ::clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec;
    };
    const auto end = now() + seconds;
    bool killed = false;
    int status = 0;
    for (;;) {
        const pid_t done = ::waitpid(child, &status, killed ? 0 : WNOHANG);
        if (done == child) break;
        if (done < 0 && errno == ECHILD)
            return killed ? stopped : 0;  // the program ignores SIGCHLD: what the child has written must tell
        if (done < 0 && errno != EINTR) return -1;
        if (!killed && now() >= end) {
            ::kill(-child, SIGKILL);
            killed = true;
        }
        constexpr struct timespec pause = {0, 1'000'000};
        if (!killed) ::nanosleep(&pause, nullptr);
    }
    if (killed) return stopped;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Runs a program without a shell, its output going to `output`. Its exit status, −1, or `stopped`.
inline int run_program(const std::vector<std::string>& command, const std::string& output,
                       long seconds = compiler_seconds())
{
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    if (::posix_spawn_file_actions_init(&files) != 0) return -1;
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_t group;  // of its own, so that what it has started ends with it
    ::posix_spawnattr_init(&group);
    ::posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, argv[0], &files, &group, argv.data(), environ);
    ::posix_spawnattr_destroy(&group);
    ::posix_spawn_file_actions_destroy(&files);
    return failed ? -1 : await(child, seconds);
}

}  // namespace wengert::detail
