// Plots of the examples: a gnuplot script that carries its own data, and a PNG where gnuplot is installed.
#pragma once

#include <filesystem>
#include <fstream>
#include <iostream>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <vector>

extern char** environ;

/// Write gnuplot commands into `script`, then call show(). Data come first, each as a named block: `plot $name with …`.
class Plot {
public:
    /// Makes FOLDER/NAME.gnuplot now and FOLDER/NAME.png in show(), of the given size in pixels.
    Plot(const std::filesystem::path& folder, const std::string& name, int width, int height)
        : script_path_(absolute(folder) / (name + ".gnuplot")), png_path_(absolute(folder) / (name + ".png"))
    {
        std::filesystem::create_directories(folder);
        script.open(script_path_);
        script << "set terminal pngcairo size " << width << ',' << height << " font 'sans,11'\nset output '"
               << png_path_.string() << "'\n";
    }

    /// A tensor of rank 2 as the block $name, a line for each row.
    template <class Matrix> void data(const std::string& name, const Matrix& matrix)
    {
        const auto a = matrix.array();
        script << '$' << name << " << EOD\n";
        for (std::size_t i = 0; i < a.shape(0); ++i) {
            for (std::size_t j = 0; j < a.shape(1); ++j) script << a(i, j) << ' ';
            script << '\n';
        }
        script << "EOD\n";
    }

    /// Runs gnuplot and says where the plot is. No gnuplot is no error: the script waits for one.
    void show()
    {
        script.close();
        const std::string path = script_path_.string();
        std::vector<char*> arguments = {const_cast<char*>("gnuplot"), const_cast<char*>(path.c_str()),
                                        nullptr};
        pid_t child = 0;
        int status = 1;
        if (posix_spawnp(&child, "gnuplot", nullptr, nullptr, arguments.data(), environ) != 0) {
            std::cout << "no plot, because gnuplot is not installed; later: gnuplot " << path << '\n';
            return;
        }
        waitpid(child, &status, 0);
        if (status == 0)
            std::cout << "plot: " << png_path_.string() << '\n';
        else
            std::cout << "gnuplot failed on " << path << '\n';
    }

    std::ofstream script;

private:
    std::filesystem::path script_path_, png_path_;
};
