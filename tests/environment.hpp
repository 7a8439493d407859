// An environment variable with another value for a while; without one where `value` is null.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

class Environment {
public:
    Environment(const char* name, const char* value) : name_(name)
    {
        if (const char* v = std::getenv(name)) before_ = v;
        value ? ::setenv(name, value, 1) : ::unsetenv(name);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

private:
    const char* name_;
    std::optional<std::string> before_;
};
