// pack that takes no array of any dtype would be called for no value, in silence.
// error: pack of SavedTensorHooks takes a Tensor<T> of some dtype T
#include <wengert/wengert.hpp>

int main()
{
#ifdef OK
    using Saved = wengert::Tensor<double>;
#else
    using Saved = wengert::AnyTensor;
#endif
    const wengert::SavedTensorHooks hooks([](const Saved& t) { return t; }, [](const Saved& t) { return t; });
    return 0;
}
