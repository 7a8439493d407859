// Plugins opened with RTLD_LOCAL share the program's tape or refuse what it recorded; values travel either way.
//   opened PLUGIN...
#include "plugin.hpp"

#include <dlfcn.h>

#include <vector>

#include "../check.hpp"

using wengert::Tensor;

struct Plugin {
    Triple* triple;
    OwnGradient* own_gradient;
};

static Plugin open_plugin(const char* path)
{
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) std::printf("%s\n", dlerror());
    if (!CHECK(handle != nullptr)) return {};
    return {reinterpret_cast<Triple*>(dlsym(handle, "plugin_triple")),
            reinterpret_cast<OwnGradient*>(dlsym(handle, "plugin_own_gradient"))};
}

static void meet(const Plugin& plugin)
{
    CHECK(near(plugin.own_gradient(), 4.0, 0.0));

    // a value travels
    const Tensor<double> constant = {1.0, 2.0};
    Tensor<double> tripled;
    CHECK(plugin.triple(&constant, &tripled) == Outcome::done);
    CHECK(near(tripled.detach()(1).item(), 6.0, 0.0));

    // a leaf and a recorded tensor are shared or refused, nothing else
    Tensor<double> x = {1.0, 2.0};
    x.requires_grad(true);
    const Tensor<double> recorded = x * x;
    Tensor<double> y, z;
    const Outcome of_leaf = plugin.triple(&x, &y), of_recorded = plugin.triple(&recorded, &z);
    std::printf("opened with RTLD_LOCAL: %s\n", of_recorded == Outcome::done ? "shares the tape" : "refuses");
    CHECK(of_leaf == of_recorded && of_leaf != Outcome::other_error);
    if (of_recorded == Outcome::done) {
        wengert::backward(sum(z));
        CHECK(near(x.grad()(1).item(), 12.0, 0.0));
        x.zero_grad();
    }

    // whatever the plugin said, this side's tape is unharmed
    wengert::backward(sum(x * x * x));
    CHECK(near(x.grad()(1).item(), 12.0, 0.0));
}

int main(int count, char** arguments)
{
    std::vector<Plugin> plugins;
    for (int i = 1; i < count; ++i) {
        plugins.push_back(open_plugin(arguments[i]));
        if (!CHECK(plugins.back().triple && plugins.back().own_gradient)) return report("two_libs.opened");
        meet(plugins.back());
    }
    for (const Plugin& plugin : plugins) meet(plugin);  // again, with all of them open
    return report("two_libs.opened");
}
