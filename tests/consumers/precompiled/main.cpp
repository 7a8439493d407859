// Includes nothing: wengert::precompiled has read the library for this target.
int main()
{
    const wengert::Tensor<double> x = {1.0, 2.0, 3.0};
    return sum(x * x).item() == 14.0 ? 0 : 1;
}
