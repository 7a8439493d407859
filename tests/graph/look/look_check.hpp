/// Texts given to the programs that are meant to read them.
#pragma once

#include <wengert/base/file.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

namespace look {

/// Runs a command on a text that is saved in a file; true when it succeeds or the program is not installed.
inline bool accepted(const std::string& text, const std::string& program, const std::string& arguments)
{
    if (std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) != 0) return true;
    const std::string path = "look_text." + std::to_string(::getpid());
    {
        wengert::file::Writer out(path);
        out.write(text);
        out.commit();
    }
    const int status = std::system((program + " " + arguments + " " + path + " >/dev/null").c_str());
    std::remove(path.c_str());
    return status == 0;
}
inline bool is_xml(const std::string& text)
{
    return accepted(text, "python3", "-c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])'");
}

}  // namespace look
